package exec

import (
	"math"
	"slices"

	"github.com/fletchdb/fletch/engine/planted"
	"github.com/fletchdb/fletch/engine/vector"
	"github.com/fletchdb/fletch/engine/vector/kernel"
)

// codedGroups is a grouper that looks at dictionary codes first: where all keys are coded, and all combinations of codes few,
// an array has the number of each combination, and a value is looked at once per combination and dictionary.
type codedGroups struct {
	grouper
	acct    *account
	entries []*codeEntry // the latest first
	combos  []uint32
	narrow  []uint8
	one     [1]int32
}

// maxCombos is how many combinations an array may have.
const maxCombos = 64 << 10

// maxEntries is how many arrays are kept: as many as dictionaries are in use side by side.
const maxEntries = 4

// A codeEntry is the array of one tuple of dictionaries. A key's code is one past its dictionary's last where it is NULL.
type codeEntry struct {
	ids    []uint64 // of the dictionaries, 0 for truth values
	cards  []int    // codes per key, NULL's too
	groups []uint32 // number by combination
}

// unknown stands for a combination that has not been seen.
const unknown = math.MaxUint32

func (t *codedGroups) successor() grouper {
	s := &codedGroups{grouper: t.grouper.successor(), acct: t.acct, entries: t.entries, combos: t.combos, narrow: t.narrow}
	for _, e := range s.entries {
		e.forget()
	}
	t.entries, t.combos, t.narrow = nil, nil, nil
	return s
}

func (t *codedGroups) assign(keys []*vector.Vector, sel []int32, n int, groups []uint32) error {
	total := 1
	for _, v := range keys {
		switch {
		case v.Form == vector.Dict:
			total *= v.Dict.Len + 1
		case v.Form == vector.Flat && v.Phys == vector.PhysBool:
			total *= 3
		default:
			total = maxCombos + 1
		}
		if total > maxCombos {
			return t.grouper.assign(keys, sel, n, groups)
		}
	}
	if total > 4*n+64 {
		return t.grouper.assign(keys, sel, n, groups) // the array costs more than it saves
	}
	e, err := t.entry(keys, total)
	if err != nil {
		return err
	}
	if total <= 256 && 2*n >= len(groups) && narrowCodes(keys) {
		return t.assignNarrow(e, keys, sel, n, groups)
	}
	if cap(t.combos) < n {
		t.combos = make([]uint32, n)
	}
	combos := t.combos[:n]
	for k, v := range keys {
		addCodes(combos, v, e.cards[k], k == 0, sel)
	}
	for i, c := range combos {
		row := i
		if sel != nil {
			row = int(sel[i])
		}
		g := e.groups[c]
		if g == unknown {
			t.one[0] = int32(row)
			if err := t.grouper.assign(keys, t.one[:], 1, groups); err != nil {
				return err
			}
			g = groups[row]
			e.groups[c] = g
		}
		groups[row] = g
	}
	return nil
}

// narrowCodes tells whether every key is a dictionary's of one byte, without NULL.
func narrowCodes(keys []*vector.Vector) bool {
	for _, v := range keys {
		if v.Form != vector.Dict || v.CodeWidth() != 1 || v.Valid != nil {
			return false
		}
	}
	return true
}

// assignNarrow is assign for combinations of one byte and batches that are mostly alive: rows that are not get the number of
// whatever stands there, which saves looking at the selection.
func (t *codedGroups) assignNarrow(e *codeEntry, keys []*vector.Vector, sel []int32, n int, groups []uint32) error {
	combos := keys[0].Codes8()
	if len(keys) > 1 {
		if cap(t.narrow) < len(groups) {
			t.narrow = make([]uint8, len(groups))
		}
		dst, first, second, m := t.narrow[:len(groups)], keys[0].Codes8()[:len(groups)], keys[1].Codes8()[:len(groups)], uint8(e.cards[1])
		for i := range dst {
			dst[i] = first[i]*m + second[i]
		}
		for k := 2; k < len(keys); k++ {
			codes, m := keys[k].Codes8()[:len(groups)], uint8(e.cards[k])
			for i := range dst {
				dst[i] = dst[i]*m + codes[i]
			}
		}
		combos = dst
	}
	for {
		kernel.GatherCodes8(groups, e.groups, combos)
		if kernel.MaxCode32(groups) != unknown {
			return nil
		}
		missing := -1
		for i := range n {
			row := i
			if sel != nil {
				row = int(sel[i])
			}
			if groups[row] != unknown {
				continue
			}
			if c := combos[row]; e.groups[c] == unknown {
				t.one[0], missing = int32(row), row
				if err := t.grouper.assign(keys, t.one[:], 1, groups); err != nil {
					return err
				}
				e.groups[c] = groups[row]
			}
		}
		if missing < 0 {
			return nil // only rows that are not alive have a new combination
		}
	}
}

func (t *codedGroups) entry(keys []*vector.Vector, total int) (*codeEntry, error) {
	for i, e := range t.entries {
		if e.matches(keys) {
			if i > 0 {
				copy(t.entries[1:i+1], t.entries[:i])
				t.entries[0] = e
			}
			return e, nil
		}
	}
	e := &codeEntry{}
	if len(t.entries) == maxEntries {
		e = t.entries[maxEntries-1]
		t.entries = t.entries[:maxEntries-1]
	}
	if cap(e.groups) < total {
		if err := t.acct.reserve(int64(total-cap(e.groups)) * 4); err != nil {
			return nil, err
		}
		e.groups = make([]uint32, total)
	}
	e.groups = e.groups[:total]
	e.forget()
	e.ids, e.cards = e.ids[:0], e.cards[:0]
	for _, v := range keys {
		e.ids = append(e.ids, v.DictID)
		e.cards = append(e.cards, cardOf(v))
	}
	t.entries = slices.Insert(t.entries, 0, e)
	return e, nil
}

func (e *codeEntry) forget() {
	for i := range e.groups {
		e.groups[i] = unknown
	}
}

func cardOf(v *vector.Vector) int {
	if v.Form == vector.Dict {
		return v.Dict.Len + 1
	}
	return 3
}

func (e *codeEntry) matches(keys []*vector.Vector) bool {
	for i, v := range keys {
		if e.ids[i] != v.DictID && !(planted.DictionaryCodes && e.cards[i] == cardOf(v)) {
			return false
		}
	}
	return true
}

// addCodes makes combos, which so far count the keys before v, count v's codes too.
func addCodes(combos []uint32, v *vector.Vector, card int, first bool, sel []int32) {
	if v.Form != vector.Dict {
		b := vector.Bits(v)
		for i := range combos {
			row := i
			if sel != nil {
				row = int(sel[i])
			}
			c := uint32(b[row>>6] >> (uint(row) & 63) & 1)
			if v.Valid != nil && v.IsNull(row) {
				c = 2
			}
			combos[i] = next(combos[i], c, card, first)
		}
		return
	}
	switch v.CodeWidth() {
	case 1:
		addWidth(combos, v.Codes8(), v, card, first, sel)
	case 2:
		addWidth(combos, v.Codes16(), v, card, first, sel)
	default:
		addWidth(combos, v.Codes32(), v, card, first, sel)
	}
}

func next(combo, code uint32, card int, first bool) uint32 {
	if first {
		return code
	}
	return combo*uint32(card) + code
}

func addWidth[C uint8 | uint16 | uint32](combos []uint32, codes []C, v *vector.Vector, card int, first bool, sel []int32) {
	switch {
	case v.Valid != nil:
		for i := range combos {
			row := i
			if sel != nil {
				row = int(sel[i])
			}
			c := uint32(codes[row])
			if v.IsNull(row) {
				c = uint32(card - 1)
			}
			combos[i] = next(combos[i], c, card, first)
		}
	case sel != nil:
		for i, row := range sel[:len(combos)] {
			combos[i] = next(combos[i], uint32(codes[row]), card, first)
		}
	case first:
		codes = codes[:len(combos)]
		for i, c := range codes {
			combos[i] = uint32(c)
		}
	default:
		codes = codes[:len(combos)]
		m := uint32(card)
		for i, c := range codes {
			combos[i] = combos[i]*m + uint32(c)
		}
	}
}
