package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

func genSearch() {
	for _, v := range isas {
		pairIndex(v)
	}
}

// pairIndex looks at 64 positions a turn and stops at the first turn with a match.
func pairIndex(v isa) {
	function("pairIndex"+v.name, "data *byte, distance int, blocks int, first uint8, second uint8) (at int",
		"gives the first of 64*blocks positions p with data[p] == first and data[p+distance] == second, or 64*blocks.")
	data, distance, blocks := param("data"), param("distance"), param("blocks")
	a, b := v.broadcast(loadInt("first", uint8s), 1), v.broadcast(loadInt("second", uint8s), 1)
	at0 := GP64()
	XORQ(at0, at0)
	found := GP64()
	loop("loop", blocks, func() {
		if v.wide() {
			k := K()
			VPCMPEQB(at(data, 0), a, k)
			VPCMPEQB(Mem{Base: data, Index: distance, Scale: 1}, b, k, k)
			KMOVQ(k, found)
		} else {
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
		}
		TESTQ(found, found)
		JNZ(LabelRef("found"))
		advance(data, 64)
		advance(at0, 64)
	})
	Store(at0, ReturnIndex(0))
	ret()
	Label("found")
	TZCNTQ(found, found)
	ADDQ(found, at0)
	Store(at0, ReturnIndex(0))
	ret()
}
