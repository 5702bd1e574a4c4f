package kernel

import "bytes"

// IndexMany stores where pattern first occurs in each row: pos[i] is the smallest p, an index of data, with
// starts[i] <= p and p+len(pattern) <= ends[i], or -1. Rows are data[starts[i]:ends[i]], usually in ascending order; a row
// with starts[i] > ends[i] has no match. The parts of a LIKE follow each other: the next call starts where this one's
// matches end.
func IndexMany(pos []int32, data []byte, starts, ends []int32, pattern []byte) {
	ends, pos = ends[:len(starts)], pos[:len(starts)]
	last, dense := extent(starts, ends)
	if !dense {
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
	// One search over all of data and then a walk over rows is twice as fast as a search per row where matches are rare.
	// The next match at or after from is at hit.
	data = data[:last]
	from, hit := 0, -1
	for i, s := range starts {
		pos[i] = -1
		start, end := int(s), int(ends[i])
		if start > end {
			continue
		}
		if start < from || start > hit {
			from, hit = start, len(data)
			if at := bytes.Index(data[start:], pattern); at >= 0 {
				hit = start + at
			}
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
