package kernel

import "unsafe"

// fewGroups gives groups as bytes if they are that, in at most 8 groups and all within n; otherwise nil. With more
// groups the scalar loops win.
func fewGroups[G ~uint8 | ~uint16 | ~uint32](groups []G, n int) []uint8 {
	if level == off || unsafe.Sizeof(G(0)) != 1 || n > 8 || len(groups) < 64 {
		return nil
	}
	g := unsafe.Slice((*uint8)(unsafe.Pointer(unsafe.SliceData(groups))), len(groups))
	if int(MaxCode8(g)) >= n {
		return nil
	}
	return g
}

func sumByGroupSIMD[G ~uint8 | ~uint16 | ~uint32](acc []int64, groups []G, vals []int64) int {
	if level != avx512 {
		return 0
	}
	g := fewGroups(groups, len(acc))
	if g == nil {
		return 0
	}
	words := len(g) / 64
	var lanes [8][8]int64
	if len(acc) <= 4 {
		sumBy4GroupsAVX512(unsafe.SliceData(g), unsafe.SliceData(vals), words, (*[4][8]int64)(lanes[:4]))
	} else {
		sumBy8GroupsAVX512(unsafe.SliceData(g), unsafe.SliceData(vals), words, &lanes)
	}
	for i := range acc {
		acc[i] += sumAll(lanes[i][:])
	}
	return words * 64
}

// countByGroupSIMD counts a bitmap per group.
func countByGroupSIMD[G ~uint8 | ~uint16 | ~uint32](acc []int64, groups []G) int {
	g := fewGroups(groups, len(acc))
	var bm [64]uint64
	for rest := g; len(rest) > 0; {
		rows := rest[:min(len(rest), 64*len(bm))]
		rest = rest[len(rows):]
		for i := range acc {
			Compare(Eq, bm[:], rows, uint8(i))
			acc[i] += int64(Count(bm[:Words(len(rows))]))
		}
	}
	return len(g)
}
