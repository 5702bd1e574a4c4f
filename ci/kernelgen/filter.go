package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

func genFilter() {
	prefetch("prefetch8", "", "asks for the cache lines of base[h>>shift], 8 bytes each, for n hashes.")
	prefetch("prefetchStride", ", stride uintptr", "is prefetch8 for entries of stride bytes.")
	bloomTest()
	bitmapTest(int32s)
	bitmapTest(int64s)
}

func prefetch(name, stride, doc string) {
	function(name, "base *byte, hashes *uint64, n int, shift uint"+stride, doc)
	base, hashes, n, shift := param("base"), param("hashes"), param("n"), param("shift")
	var size GPVirtual
	if stride != "" {
		size = param("stride")
	}
	loop("loop", n, func() {
		h := GP64()
		SHRXQ(shift, at(hashes, 0), h)
		if stride != "" {
			IMULQ(size, h)
			PREFETCHT0(Mem{Base: base, Index: h, Scale: 1})
		} else {
			PREFETCHT0(Mem{Base: base, Index: h, Scale: 8})
		}
		advance(hashes, 8)
	})
	RET()
}

// bloomTest sets a key's 4 bits by rotation, which looks at the low 6 bits of its count only.
func bloomTest() {
	v := avx512
	function("bloomTestAVX512", "dst *uint64, hashes *uint64, words int, blocks *uint64, shift uint",
		"stores words words of whether blocks[h>>shift] has all bits of h. shift is at most 63.")
	dst, hashes, words, blocks, shift := param("dst"), param("hashes"), param("words"), param("blocks"), param("shift")
	count := XMM()
	VMOVQ(shift, count)
	one := v.constant(1, 8)
	all := GP64()
	MOVQ(U32(0xff), all)
	loop("loop", words, func() {
		k := mergeMasks(8, 8, func(i int) OpmaskVirtual {
			h, index, block, k := v.load(at(hashes, i*v.bytes)), v.reg(), v.reg(), K()
			VPSRLQ(count, h, index)
			KMOVB(all.As32(), k)
			VPXORQ(block, block, block)
			VPGATHERQQ(Mem{Base: blocks, Index: index, Scale: 8}, k, block)
			bits := v.reg()
			VPROLVQ(h, one, bits)
			for range 3 {
				b := v.reg()
				VPSRLQ(Imm(6), h, h)
				VPROLVQ(h, one, b)
				VPORQ(b, bits, bits)
			}
			m := K()
			VPANDNQ(bits, block, block)
			VPTESTNMQ(block, block, m)
			return m
		})
		KMOVQ(k, at(dst, 0))
		advance(hashes, 512)
		advance(dst, 8)
	})
	ret()
}

func bitmapTest(e elem) {
	v := avx512
	function("bitmapTest"+e.title+"AVX512", "dst *uint64, keys *"+e.name+", words int, low int64, set *uint64, length int",
		"stores words words of whether key-low is a bit set in the length words of set.")
	dst, keys, words, set := param("dst"), param("keys"), param("words"), param("set")
	low, length := v.broadcast(param("low"), 8), v.broadcast(param("length"), 8)
	one := v.constant(1, 8)
	loop("loop", words, func() {
		k := mergeMasks(8, 8, func(i int) OpmaskVirtual {
			d, index, word := v.reg(), v.reg(), v.zero()
			if e.size == 4 {
				VPMOVSXDQ(at(keys, i*32), d)
			} else {
				v.move(at(keys, i*64), d)
			}
			VPSUBQ(low, d, d)
			VPSRLQ(Imm(6), d, index)
			const lt = 1
			in := K()
			VPCMPUQ(Imm(lt), length, index, in)
			VPGATHERQQ(Mem{Base: set, Index: index, Scale: 8}, in, word)
			VPROLVQ(d, one, d)
			m := K()
			VPTESTMQ(d, word, m)
			return m
		})
		KMOVQ(k, at(dst, 0))
		advance(keys, 64*e.size)
		advance(dst, 8)
	})
	ret()
}
