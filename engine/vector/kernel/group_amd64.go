package kernel

import "unsafe"

// fewGroups reports whether the groups are so few that one pass over each beats scattering rows, and all below n.
func fewGroups[G ~uint8 | ~uint16 | ~uint32](groups []G, n int) bool {
	if level == off || n > 8 || len(groups) < 64 {
		return false
	}
	p := unsafe.Pointer(unsafe.SliceData(groups))
	switch unsafe.Sizeof(G(0)) {
	case 1:
		return int(MaxCode8(unsafe.Slice((*uint8)(p), len(groups)))) < n
	case 2:
		return int(MaxCode16(unsafe.Slice((*uint16)(p), len(groups)))) < n
	}
	return int64(MaxCode32(unsafe.Slice((*uint32)(p), len(groups)))) < int64(n)
}

func sumByGroupSIMD[G ~uint8 | ~uint16 | ~uint32](acc []int64, groups []G, vals []int64) int {
	if level != avx512 || unsafe.Sizeof(G(0)) == 2 || !fewGroups(groups, len(acc)) {
		return 0
	}
	words := len(groups) / 64
	g, v := unsafe.Pointer(unsafe.SliceData(groups)), unsafe.SliceData(vals)
	var lanes [8][8]int64
	switch few, bytes := len(acc) <= 4, unsafe.Sizeof(G(0)) == 1; {
	case few && bytes:
		sumBy4GroupsUint8AVX512((*uint8)(g), v, words, (*[4][8]int64)(lanes[:4]))
	case few:
		sumBy4GroupsUint32AVX512((*uint32)(g), v, words, (*[4][8]int64)(lanes[:4]))
	case bytes:
		sumBy8GroupsUint8AVX512((*uint8)(g), v, words, &lanes)
	default:
		sumBy8GroupsUint32AVX512((*uint32)(g), v, words, &lanes)
	}
	for i := range acc {
		acc[i] += sumAll(lanes[i][:])
	}
	return words * 64
}

// countByGroupSIMD counts a bitmap per group.
func countByGroupSIMD[G ~uint8 | ~uint16 | ~uint32](acc []int64, groups []G) int {
	if !fewGroups(groups, len(acc)) {
		return 0
	}
	var bm [64]uint64
	for rest := groups; len(rest) > 0; {
		rows := rest[:min(len(rest), 64*len(bm))]
		rest = rest[len(rows):]
		for i := range acc {
			Compare(Eq, bm[:], rows, G(i))
			acc[i] += int64(Count(bm[:Words(len(rows))]))
		}
	}
	return len(groups)
}
