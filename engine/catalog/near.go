package catalog

import (
	"cmp"
	"slices"
	"strings"
)

// Near is the one of names that x most likely was meant to be, "" where none is close: at most a third of its letters differ.
// Case is no difference.
func Near(x string, names []string) string {
	type candidate struct {
		name string
		d    int
	}
	var best []candidate
	limit := max(1, len(x)/3)
	for _, n := range names {
		if d := distance(strings.ToLower(x), strings.ToLower(n), limit); d <= limit && n != "" {
			best = append(best, candidate{n, d})
		}
	}
	if len(best) == 0 {
		return ""
	}
	return slices.MinFunc(best, func(a, b candidate) int { return cmp.Or(cmp.Compare(a.d, b.d), cmp.Compare(a.name, b.name)) }).name
}

// distance is the number of bytes to insert, drop, change or swap with their neighbour to make b of a; more than limit
// is only known to be more.
func distance(a, b string, limit int) int {
	if d := len(a) - len(b); d > limit || -d > limit {
		return limit + 1
	}
	const longest = 256 // names beyond any sensible length are not worth their square
	if len(a) > longest || len(b) > longest {
		return limit + 1
	}
	var rows [3][longest + 1]int
	prev2, prev, cur := &rows[0], &rows[1], &rows[2]
	for j := range len(b) + 1 {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			change := prev[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			cur[j] = min(change, prev[j]+1, cur[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return prev[len(b)]
}
