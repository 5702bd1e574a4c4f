package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// The gathers look codes up in registers. Dictionaries that do not fit are left to plain loads, which are as fast as
// gather instructions.
func genGather() {
	gatherCodes8By64()
	gatherCodes8By16()
	gatherCodes8By32()
}

// gatherCodes8By64 has 16 values of 64 bits in two registers.
func gatherCodes8By64() {
	v := avx512
	function("gatherCodes8By64AVX512", "dst *uint64, codes *uint8, blocks int, dict *[16]uint64",
		"stores dict[code] for blocks blocks of 32 codes below 16.")
	dst, codes, blocks, dict := param("dst"), param("codes"), param("blocks"), param("dict")
	lo, hi := v.load(at(dict, 0)), v.load(at(dict, 64))
	loop("loop", blocks, func() {
		for i := range 4 {
			x := v.reg()
			VPMOVZXBQ(at(codes, 8*i), x)
			VPERMI2Q(hi, lo, x)
			v.move(x, at(dst, 64*i))
		}
		advance(codes, 32)
		advance(dst, 256)
	})
	ret()
}

// gatherCodes8By16 has 64 values of 16 bits in two registers and widens what it finds.
func gatherCodes8By16() {
	v := avx512
	function("gatherCodes8By16AVX512", "dst *int64, codes *uint8, blocks int, dict *[64]int16",
		"stores dict[code], widened, for blocks blocks of 32 codes below 64.")
	dst, codes, blocks, dict := param("dst"), param("codes"), param("blocks"), param("dict")
	lo, hi := v.load(at(dict, 0)), v.load(at(dict, 64))
	loop("loop", blocks, func() {
		x := v.reg()
		VPMOVZXBW(at(codes, 0), x)
		VPERMI2W(hi, lo, x)
		for i := range 4 {
			part, y := XMM(), v.reg()
			if i == 0 {
				VPMOVSXWQ(x.AsX(), y)
			} else {
				VEXTRACTI32X4(Imm(uint64(i)), x, part)
				VPMOVSXWQ(part, y)
			}
			v.move(y, at(dst, 64*i))
		}
		advance(codes, 32)
		advance(dst, 256)
	})
	ret()
}

// gatherCodes8By32 has 64 values of 32 bits in two pairs of registers; bit 5 of the code chooses the pair.
func gatherCodes8By32() {
	v := avx512
	function("gatherCodes8By32AVX512", "dst *int64, codes *uint8, blocks int, dict *[64]int32",
		"stores dict[code], widened, for blocks blocks of 32 codes below 64.")
	dst, codes, blocks, dict := param("dst"), param("codes"), param("blocks"), param("dict")
	t := make([]VecVirtual, 4)
	for i := range t {
		t[i] = v.load(at(dict, 64*i))
	}
	bit5 := v.constant(32, 4)
	loop("loop", blocks, func() {
		for i := range 2 {
			x, y, k := v.reg(), v.reg(), K()
			VPMOVZXBD(at(codes, 16*i), x)
			VPTESTMD(bit5, x, k)
			VMOVDQA64(x, y)
			VPERMI2D(t[1], t[0], x)
			VPERMI2D(t[3], t[2], y)
			VPBLENDMD(y, x, k, x)
			half, wide := YMM(), v.reg()
			VPMOVSXDQ(x.AsY(), wide)
			v.move(wide, at(dst, 128*i))
			VEXTRACTI64X4(Imm(1), x, half)
			VPMOVSXDQ(half, wide)
			v.move(wide, at(dst, 128*i+64))
		}
		advance(codes, 32)
		advance(dst, 256)
	})
	ret()
}
