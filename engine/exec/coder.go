package exec

import (
	"github.com/fletchdb/fletch/engine/vector"
)

// A coder is the dictionary of a column whose strings came coded and stay so: a string that many rows have is kept once, and
// what is made of the column later – groups, comparisons – is made once per string too.
type coder struct {
	index map[string]uint16
	refs  []ref // the strings by code

	// remap is the column's codes of the codes of the dictionary of this id, −1: not met yet.
	remap []int32
	id    uint64

	dict   *vector.Vector // once the column is sealed
	dictID uint64
}

const (
	// maxCoded is how many strings a dictionary may bring.
	maxCoded = 4 << 10
	// maxCodes is how many a column keeps.
	maxCodes = 32 << 10
)

// staysCoded tells whether c holds codes, or can, when v has been appended.
func (c *column) staysCoded(v *vector.Vector) bool {
	if c.coder == nil {
		return c.n == 0 && v.Form == vector.Dict && v.Dict.Len <= maxCoded
	}
	switch v.Form {
	case vector.Dict:
		return v.Dict.Len <= maxCoded && len(c.coder.refs) <= maxCodes
	case vector.Const:
		return len(c.coder.refs) <= maxCodes
	}
	return false
}

// code is the code of s, which the column keeps if it is new.
func (c *column) code(s string) uint16 {
	k, ok := c.coder.index[s]
	if !ok {
		k = uint16(len(c.coder.refs))
		r := c.arena.add(s)
		c.coder.refs = append(c.coder.refs, r)
		c.coder.index[c.arena.get(r)] = k
	}
	return k
}

func (c *column) appendCodes(v *vector.Vector, sel []int32, n int) {
	if c.coder == nil {
		c.coder = &coder{index: map[string]uint16{}}
	}
	at := len(c.codes)
	c.codes = extend(c.codes, n)
	out := c.codes[at:]
	if v.Form == vector.Const {
		var k uint16
		if !v.IsNull(0) {
			k = c.code(vector.Values[string](v)[0])
		}
		for i := range out {
			out[i] = k
		}
		return
	}
	d := c.coder
	if d.id != v.DictID {
		d.id = v.DictID
		d.remap = sizeTo(d.remap[:0], v.Dict.Len)
		for i := range d.remap {
			d.remap[i] = -1
		}
	}
	switch v.CodeWidth() {
	case 1:
		recode(c, out, v.Codes8(), v, sel)
	case 2:
		recode(c, out, v.Codes16(), v, sel)
	default:
		recode(c, out, v.Codes32(), v, sel)
	}
}

func recode[C uint8 | uint16 | uint32](c *column, out []uint16, codes []C, v *vector.Vector, sel []int32) {
	remap, strs := c.coder.remap, vector.Values[string](v.Dict)
	for i := range out {
		r := i
		if sel != nil {
			r = int(sel[i])
		}
		if v.Valid != nil && v.IsNull(r) {
			out[i] = 0
			continue
		}
		k := codes[r]
		if remap[k] < 0 {
			remap[k] = int32(c.code(strs[k]))
		}
		out[i] = uint16(remap[k])
	}
}

// decode makes a coded column one of references.
func (c *column) decode() {
	if c.coder == nil {
		return
	}
	c.refs = make([]ref, len(c.codes))
	if len(c.coder.refs) > 0 { // else all rows are NULL
		for i, k := range c.codes {
			c.refs[i] = c.coder.refs[k]
		}
	}
	c.codes, c.coder = nil, nil
}

// encode makes a column of few strings a coded one: each of them will be given many times.
func (c *column) encode() {
	d, codes := &coder{index: make(map[string]uint16, c.n)}, make([]uint16, c.n)
	for i, r := range c.refs {
		if c.isNull(i) {
			continue
		}
		s := c.arena.get(r)
		k, ok := d.index[s]
		if !ok {
			k = uint16(len(d.refs))
			d.refs = append(d.refs, r)
			d.index[s] = k
		}
		codes[i] = k
	}
	c.coder, c.codes, c.refs = d, codes, nil
}

// adoptCodes gives c, which is empty, the codes of parts if all have some, else it decodes those that do.
func (c *column) adoptCodes(parts []*column) {
	total := 0
	for _, d := range parts {
		if d.coder == nil {
			total = maxCodes + 1
			break
		}
		total += len(d.coder.refs)
	}
	if total > maxCodes || len(parts) == 0 {
		for _, d := range parts {
			d.decode()
		}
		return
	}
	c.coder = &coder{index: map[string]uint16{}}
	for _, d := range parts {
		remap := make([]uint16, max(len(d.coder.refs), 1))
		for k, r := range d.coder.refs {
			remap[k] = c.code(d.arena.get(r))
		}
		at := len(c.codes)
		c.codes = extend(c.codes, len(d.codes))
		for i, k := range d.codes {
			c.codes[at+i] = remap[k]
		}
		d.arena = arena{} // copied
	}
}

// seal says that nothing is appended any more, and makes the dictionary that a coded column gives.
func (c *column) seal() {
	if c.phys == vector.PhysString && c.coder == nil && c.n > 0 && c.n <= maxCoded {
		c.encode()
	}
	d := c.coder
	if d == nil || d.dict != nil {
		return
	}
	strs := make([]string, max(len(d.refs), 1)) // a dictionary is never empty
	for k, r := range d.refs {
		strs[k] = c.arena.get(r)
	}
	d.dict, d.dictID = &vector.Vector{}, vector.NewDictID()
	vector.SetFlat(d.dict, c.typ, strs, nil)
	d.index, d.remap = nil, nil
}

// gatherCodes is gather for a coded column.
func (c *column) gatherCodes(l *lane, rows, at []int32, n int, valid []uint64) *vector.Vector {
	d := c.coder
	if d.dict == nil { // more may come
		dst := l.roomStrings(n)
		for i, r := range rows {
			if at != nil {
				i = int(at[i])
			}
			if dst[i] = ""; r >= 0 && int(c.codes[r]) < len(d.refs) {
				dst[i] = c.arena.get(d.refs[c.codes[r]])
			}
		}
		return l.flat(c.typ, c.phys, n, valid)
	}
	// Rows that at leaves out have whatever code stood there: one of this dictionary, as no other uses l.
	dst := room[uint16](l, n)
	for i, r := range rows {
		if at != nil {
			i = int(at[i])
		}
		if r < 0 {
			dst[i] = 0
			continue
		}
		dst[i] = c.codes[r]
	}
	vector.SetDict(&l.vec, d.dict, d.dictID, dst, valid)
	return &l.vec
}
