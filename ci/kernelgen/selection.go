package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

func genSelection() {
	const doc = "stores the numbers of the rows set in words words and gives how many they are. dst has room for 64 a word."
	selection(avx512, doc, 16, func() func(bits, base GPVirtual) VecVirtual {
		v := avx512
		iota := v.load(dwordTable(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15))
		return func(bits, base GPVirtual) VecVirtual {
			k, x := K(), v.broadcast(base, 4)
			KMOVW(bits.As32(), k)
			VPADDD(iota, x, x)
			VPCOMPRESSD_Z(x, k, x) // to a register: to memory it is microcode on some CPUs
			return x
		}
	})
	selection(avx2, doc, 8, func() func(bits, base GPVirtual) VecVirtual {
		v := avx2
		var positions []byte
		for b := range 256 {
			var row [8]byte
			n := 0
			for i := range 8 {
				if b>>i&1 != 0 {
					row[n] = byte(i)
					n++
				}
			}
			positions = append(positions, row[:]...)
		}
		p := GP64()
		LEAQ(table("toSelectionAVX2_positions", positions), p)
		return func(bits, base GPVirtual) VecVirtual {
			x, b := v.reg(), v.broadcast(base, 4)
			VPMOVZXBD(Mem{Base: p, Index: bits, Scale: 8}, x)
			VPADDD(b, x, x)
			return x
		}
	})
}

// selection writes whole vectors and moves on by the rows that were set, so that the next overwrites the rest.
func selection(v isa, doc string, rows int, setup func() func(bits, base GPVirtual) VecVirtual) {
	function("toSelection"+v.name, "dst *int32, bm *uint64, words int) (n int", doc)
	start, bm, words := param("dst"), param("bm"), param("words")
	compress := setup()
	dst, base := GP64(), GP64()
	MOVQ(start, dst)
	XORQ(base, base)
	loop("loop", words, func() {
		w := GP64()
		MOVQ(at(bm, 0), w)
		TESTQ(w, w)
		JZ(LabelRef("next"))
		b := GP64()
		MOVQ(base, b)
		for i := range 64 / rows {
			bits := GP64()
			if rows == 16 {
				MOVWQZX(w.As16(), bits)
			} else {
				MOVBQZX(w.As8(), bits)
			}
			v.move(compress(bits, b), at(dst, 0))
			POPCNTQ(bits, bits)
			LEAQ(Mem{Base: dst, Index: bits, Scale: 4}, dst)
			if i+1 < 64/rows {
				SHRQ(Imm(uint64(rows)), w)
				ADDQ(Imm(uint64(rows)), b)
			}
		}
		Label("next")
		ADDQ(Imm(64), base)
		advance(bm, 8)
	})
	SUBQ(start, dst)
	SHRQ(Imm(2), dst)
	Store(dst, ReturnIndex(0))
	ret()
}
