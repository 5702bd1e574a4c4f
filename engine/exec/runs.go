package exec

import (
	"unsafe"

	"github.com/fletchdb/fletch/engine/vector"
	"github.com/fletchdb/fletch/engine/vector/int128"
)

// runs finds rows whose keys repeat those of the row before: data that lies in order often has them, and a join that gives several
// rows of one build row always. It looks no further than that, and gives up on data that has few.
type runs struct {
	same   []bool // by position in the selection: the row is like the one before
	n      int
	heads  []int32
	active bool // first cut something
	tried  int
	found  int
}

// first gives the rows of sel, or of the first n, that begin a run. Strings count as equal if they are the same memory.
func (t *runs) first(keys []*vector.Vector, sel []int32, n int) ([]int32, int) {
	t.active = false
	if n < 16 || t.tried > 8*vector.DefaultBatch && t.found < t.tried/16 {
		return sel, n
	}
	if cap(t.same) < n {
		t.same, t.heads = make([]bool, n), make([]int32, n)
	}
	t.n = n
	same := t.same[:n]
	for i := range same {
		same[i] = i > 0
	}
	for _, v := range keys {
		if !markSame(same, v, sel) {
			return sel, n
		}
	}
	heads := t.heads[:0]
	for i, s := range same {
		if !s {
			r := int32(i)
			if sel != nil {
				r = sel[i]
			}
			heads = append(heads, r)
		}
	}
	t.tried += n
	t.found += n - len(heads)
	t.active = true
	return heads, len(heads)
}

// repeat gives the rows of sel that first left out the group of the row before.
func (t *runs) repeat(sel []int32, groups []uint32) {
	if !t.active {
		return
	}
	var last uint32
	for i, s := range t.same[:t.n] {
		r := i
		if sel != nil {
			r = int(sel[i])
		}
		if s {
			groups[r] = last
		}
		last = groups[r]
	}
}

// markSame clears same for the rows whose value is not that of the row before. It tells whether it can compare v's.
func markSame(same []bool, v *vector.Vector, sel []int32) bool {
	if v.Form == vector.Const {
		return true
	}
	if v.Valid != nil || v.Phys == vector.PhysBool {
		return false
	}
	if v.Form == vector.Dict {
		switch v.CodeWidth() {
		case 1:
			compareRuns(same, v.Codes8(), sel)
		case 2:
			compareRuns(same, v.Codes16(), sel)
		default:
			compareRuns(same, v.Codes32(), sel)
		}
		return true
	}
	switch widthOf(v.Phys) {
	case 1:
		compareRuns(same, words[uint8](v), sel)
	case 2:
		compareRuns(same, words[uint16](v), sel)
	case 4:
		compareRuns(same, words[uint32](v), sel)
	case 8:
		compareRuns(same, words[uint64](v), sel)
	case 16:
		compareRuns(same, words[int128.Int128](v), sel)
	default:
		strs := vector.Values[string](v)
		row := func(i int) string {
			if sel != nil {
				i = int(sel[i])
			}
			return strs[i]
		}
		for i := range same {
			if same[i] {
				a, b := row(i), row(i-1)
				same[i] = len(a) == len(b) && unsafe.StringData(a) == unsafe.StringData(b)
			}
		}
	}
	return true
}

func compareRuns[T comparable](same []bool, v []T, sel []int32) {
	if sel == nil {
		for i := 1; i < len(same); i++ {
			same[i] = same[i] && v[i] == v[i-1]
		}
		return
	}
	for i := 1; i < len(same); i++ {
		same[i] = same[i] && v[sel[i]] == v[sel[i-1]]
	}
}
