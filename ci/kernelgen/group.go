package main

import (
	. "github.com/mmcloughlin/avo/build"
)

// genGroup sums few groups in registers: per group one accumulator, to which a row is added under the mask of its group.
func genGroup() {
	sumByGroup(4)
	sumByGroup(8)
}

func sumByGroup(groups int) {
	v := avx512
	function(label("sumBy", groups, "GroupsAVX512"), label("groups *uint8, vals *int64, words int, lanes *[", groups, "][8]int64"),
		label("stores per group and lane the sum of words words of rows; rows of groups from ", groups, " are left out."))
	group, vals, words, lanes := param("groups"), param("vals"), param("words"), param("lanes")
	masks := AllocLocal(groups * 8)
	accs := v.regs(groups)
	for _, acc := range accs {
		v.xor(acc, acc, acc)
	}
	numbers := v.regs(groups)
	for i := range numbers {
		numbers[i] = v.constant(uint64(i), 1)
	}
	loop("loop", words, func() {
		g := v.load(at(group, 0))
		for i, n := range numbers {
			k := K()
			VPCMPEQB(n, g, k)
			KMOVQ(k, masks.Offset(8*i))
		}
		for r := range 8 {
			x := v.load(at(vals, 64*r))
			for i, acc := range accs {
				k := K()
				KMOVB(masks.Offset(8*i+r), k)
				VPADDQ(x, acc, k, acc)
			}
		}
		advance(group, 64)
		advance(vals, 512)
	})
	for i, acc := range accs {
		v.move(acc, at(lanes, 64*i))
	}
	ret()
}
