package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

func genSearch() { pairIndex(avx2) }

// pairIndex looks at 64 positions a turn and stops at the first turn with a match.
func pairIndex(v isa) {
	function("pairIndex"+v.name, "data *byte, distance int, blocks int, first uint8, second uint8) (at int",
		"gives the first of 64*blocks positions p with data[p] == first and data[p+distance] == second, or 64*blocks.")
	data, distance, blocks := param("data"), param("distance"), param("blocks")
	a, b := v.broadcast(loadInt("first", uint8s), 1), v.broadcast(loadInt("second", uint8s), 1)
	p, found := GP64(), GP64()
	XORQ(p, p)
	loop("loop", blocks, func() {
		for i := range 2 {
			x, y := v.reg(), v.reg()
			VPCMPEQB(at(data, 32*i), a, x)
			VPCMPEQB(Mem{Base: data, Index: distance, Scale: 1, Disp: 32 * i}, b, y)
			VPAND(x, y, x)
			if i == 0 {
				VPMOVMSKB(x, found.As32())
				continue
			}
			r := GP64()
			VPMOVMSKB(x, r.As32())
			SHLQ(Imm(32), r)
			ORQ(r, found)
		}
		TESTQ(found, found)
		JNZ(LabelRef("found"))
		advance(data, 64)
		advance(p, 64)
	})
	Store(p, ReturnIndex(0))
	ret()
	Label("found")
	TZCNTQ(found, found)
	ADDQ(found, p)
	Store(p, ReturnIndex(0))
	ret()
}
