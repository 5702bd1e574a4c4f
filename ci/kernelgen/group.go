package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// genGroup sums few groups in registers: per group one accumulator, to which a row is added under the mask of its group.
func genGroup() {
	for _, e := range []elem{uint8s, uint32s} {
		sumByGroup(e, 4)
		sumByGroup(e, 8)
	}
}

func sumByGroup(e elem, groups int) {
	v := avx512
	function(label("sumBy", groups, "Groups", e.title, v.name),
		label("groups *", e.name, ", vals *int64, words int, lanes *[", groups, "][8]int64"),
		label("stores per group and lane the sum of words words of rows; groups are below ", groups, "."))
	group, vals, words, lanes := param("groups"), param("vals"), param("words"), param("lanes")
	accs, numbers := v.regs(groups), v.regs(groups)
	for i := range groups {
		v.xor(accs[i], accs[i], accs[i])
		numbers[i] = v.constant(uint64(i), 1)
	}
	loop("loop", words, func() {
		g := loadBytes(v, e, group)
		// Four groups at a time, so that their masks stay in registers; each shift brings the masks of the next 8 rows.
		for first := 0; first < groups; first += 4 {
			ks := make([]OpmaskVirtual, 4)
			for i := range ks {
				ks[i] = K()
				VPCMPEQB(numbers[first+i], g, ks[i])
			}
			for r := range 8 {
				x := v.load(at(vals, 64*r))
				for i, k := range ks {
					VPADDQ(x, accs[first+i], k, accs[first+i])
					if r < 7 {
						KSHIFTRQ(Imm(8), k, k)
					}
				}
			}
		}
		advance(group, 64*e.size)
		advance(vals, 512)
	})
	for i, acc := range accs {
		v.move(acc, at(lanes, 64*i))
	}
	ret()
}

// loadBytes loads 64 elements as their low bytes.
func loadBytes(v isa, e elem, p GPVirtual) VecVirtual {
	if e.size == 1 {
		return v.load(at(p, 0))
	}
	quarters := make([]VecVirtual, 4)
	for i := range quarters {
		quarters[i] = v.load(at(p, 64*i))
		VPMOVDB(quarters[i], quarters[i].AsX())
	}
	for i := 0; i < 4; i += 2 {
		VINSERTI32X4(Imm(1), quarters[i+1].AsX(), quarters[i].AsY(), quarters[i].AsY())
	}
	VINSERTI64X4(Imm(1), quarters[2].AsY(), quarters[0], quarters[0])
	return quarters[0]
}
