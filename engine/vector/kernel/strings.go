package kernel

import (
	"bytes"
	"strings"
)

// IndexMany stores where pattern first occurs in each row: pos[i] is the smallest p, an index of data, with
// starts[i] <= p and p+len(pattern) <= ends[i], or -1. Rows are data[starts[i]:ends[i]], usually in ascending order; a row
// with starts[i] > ends[i] has no match. The parts of a LIKE follow each other: the next call starts where this one's
// matches end.
func IndexMany(pos []int32, data []byte, starts, ends []int32, pattern []byte) {
	ends, pos = ends[:len(starts)], pos[:len(starts)]
	last, dense := extent(starts, ends)
	if !dense || len(pattern) == 0 || !canSweep() {
		for i, s := range starts {
			pos[i] = -1
			if e := ends[i]; s <= e {
				if at := bytes.Index(data[s:e], pattern); at >= 0 {
					pos[i] = s + int32(at)
				}
			}
		}
		return
	}
	// One search over all of data and then a walk over rows beats a search per row. The next match at or after from is at
	// hit.
	data = data[:last]
	search := newSearch(pattern)
	from, hit := 0, -1
	for i, s := range starts {
		pos[i] = -1
		start, end := int(s), int(ends[i])
		if start > end {
			continue
		}
		if start < from || start > hit {
			from, hit = start, search.next(data, start)
		}
		if hit+len(pattern) <= end {
			pos[i] = int32(hit)
		}
	}
}

// extent gives the end of the last row in data, and whether rows fill most of the bytes up to there.
func extent(starts, ends []int32) (last int, dense bool) {
	total := 0
	for i, s := range starts {
		total += max(int(ends[i])-int(s), 0)
		last = max(last, int(ends[i]))
	}
	return last, len(starts) > 0 && last-int(starts[0]) <= 2*total+4*len(starts)
}

// A search looks for the two bytes of a pattern that text has least, at their distance, and compares the rest only where
// both are.
type search struct {
	pattern       []byte
	first, second int // offsets of the two bytes, in order; the same in a pattern of one byte
}

// common is the bytes of text, the most frequent first; what it lacks is rare.
const common = " etaoinsrhldcumfpgwybvkxjqz"

func newSearch(pattern []byte) search {
	best, next := -1, -1 // offsets of the rarest bytes
	rarity := func(i int) int {
		if r := strings.IndexByte(common, pattern[i]); r >= 0 {
			return r
		}
		return len(common)
	}
	for i := range pattern {
		switch {
		case best < 0 || rarity(i) > rarity(best):
			best, next = i, best
		case next < 0 || rarity(i) > rarity(next):
			next = i
		}
	}
	if next < 0 {
		next = best
	}
	return search{pattern, min(best, next), max(best, next)}
}

// next gives where pattern next is in data at or after at, or len(data).
func (s *search) next(data []byte, at int) int {
	for at+s.first < len(data) {
		n, found := pairIndexSIMD(data[at+s.first:], s.second-s.first, s.pattern[s.first], s.pattern[s.second])
		at += n
		if !found {
			break
		}
		if bytes.HasPrefix(data[at:], s.pattern) {
			return at
		}
		at++
	}
	if i := bytes.Index(data[min(at, len(data)):], s.pattern); i >= 0 {
		return at + i
	}
	return len(data)
}
