package arrowio

import (
	"encoding/binary"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/fletchdb/fletch/engine/nested"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
	"github.com/fletchdb/fletch/engine/vector/kernel"
)

// readList makes each list of d one value of package nested.
func (c *readColumn) readList(name string, d arrow.ArrayData, valid []uint64) error {
	n, off := d.Len(), d.Offset()
	raw := buffer(d, 1)
	if n == 0 {
		return c.setNested(nil, valid)
	}
	if len(raw)/4 < off+n+1 {
		return corrupt(name, "%d bytes of offsets for %d lists", len(raw), off+n)
	}
	if len(d.Children()) != 1 || isNil(d.Children()[0]) {
		return corrupt(name, "lists without elements")
	}
	elems, err := c.part(name, 0, *c.typ.Elem, d.Children()[0])
	if err != nil {
		return err
	}
	at := func(i int) int { return int(int32(binary.LittleEndian.Uint32(raw[4*(off+i):]))) }
	ends := make([]int, n)
	c.bytes = c.bytes[:0]
	for i := range ends {
		from, to := at(i), at(i+1)
		if from < 0 || to < from || to > elems.Len {
			return corrupt(name, "a list from %d to %d of %d elements", from, to, elems.Len)
		}
		if valid == nil || kernel.Test(valid, i) {
			for j := from; j < to; j++ {
				c.bytes = nested.AppendRow(c.bytes, elems, j)
			}
			c.bytes = nested.EndList(c.bytes)
		}
		ends[i] = len(c.bytes)
	}
	return c.setNested(ends, valid)
}

// readStruct makes each struct of d one value of package nested.
func (c *readColumn) readStruct(name string, d arrow.ArrayData, valid []uint64) error {
	n, off := d.Len(), d.Offset()
	if len(d.Children()) != len(c.typ.Fields) {
		return corrupt(name, "structs of %d fields", len(d.Children()))
	}
	fields := make([]*vector.Vector, len(c.typ.Fields))
	for k, f := range c.typ.Fields {
		child := d.Children()[k]
		if isNil(child) {
			return corrupt(name, "structs without field %q", f.Name)
		}
		v, err := c.part(name, k, f.Type, child)
		if err != nil {
			return err
		}
		if v.Len < off+n {
			return corrupt(name, "%d values of field %q for %d structs", v.Len, f.Name, off+n)
		}
		fields[k] = v
	}
	ends := make([]int, n)
	c.bytes = c.bytes[:0]
	for i := range ends {
		if valid == nil || kernel.Test(valid, i) {
			for _, v := range fields {
				c.bytes = nested.AppendRow(c.bytes, v, off+i)
			}
		}
		ends[i] = len(c.bytes)
	}
	return c.setNested(ends, valid)
}

// part reads child k, which is of type t.
func (c *readColumn) part(name string, k int, t sqltype.Type, d arrow.ArrayData) (*vector.Vector, error) {
	for len(c.parts) <= k {
		c.parts = append(c.parts, &readColumn{})
	}
	got, ok := SQLType(d.DataType())
	if !ok || !got.Equal(t) {
		return nil, corrupt(name, "parts of type %v where %v was expected", d.DataType(), t)
	}
	c.parts[k].typ = t
	err := c.parts[k].read(name, d)
	return &c.parts[k].vec, err
}

// setNested makes c's vector the values that end at ends of c.bytes.
func (c *readColumn) setNested(ends []int, valid []uint64) error {
	if cap(c.strs) < len(ends) {
		c.strs = make([]string, max(len(ends), 8))
	}
	strs, from := c.strs[:len(ends)], 0
	for i, to := range ends {
		strs[i] = ""
		if to > from {
			strs[i] = unsafe.String(&c.bytes[from], to-from)
		}
		from = to
	}
	vector.SetFlat(&c.vec, c.typ, strs, valid)
	return nil
}

// finishNested makes an array of the values that c, which is of a nested type, has collected.
func (c *column) finishNested(rows int, validity *memory.Buffer, nulls int) arrow.Array {
	var parts []*nested.Column
	for i := range partCount(c.typ) {
		parts = append(parts, nested.NewColumn(nested.PartType(c.typ, i)))
	}
	text := unsafe.String(unsafe.SliceData(c.data), len(c.data))
	offsets := make([]int32, 1, rows+1)
	for i := range rows {
		isNull := c.valid != nil && c.valid[i>>6]>>(uint(i)&63)&1 == 0
		switch {
		case c.typ.Kind == sqltype.List:
			if !isNull {
				for item := range nested.Items(c.typ, text[c.offsets[i]:c.offsets[i+1]]) {
					parts[0].AddItem(item)
				}
			}
			offsets = append(offsets, int32(parts[0].Len()))
		case isNull:
			for _, p := range parts {
				p.Add(nested.Scalar{Null: true})
			}
		default:
			for k, item := range nested.Parts(c.typ, text[c.offsets[i]:c.offsets[i+1]]) {
				parts[k].AddItem(item)
			}
		}
	}
	children := make([]arrow.ArrayData, len(parts))
	for k, p := range parts {
		child := column{typ: nested.PartType(c.typ, k), out: partOf(c.out, k)}
		// The strings of parts are within c.data, which is shorter than 2 GiB, and checkNested has seen intervals.
		_ = child.append(p.Vector(), nil, p.Len(), 0)
		a := child.finish(p.Len())
		children[k] = a.Data()
		defer a.Release()
	}
	buffers := []*memory.Buffer{validity}
	if c.typ.Kind == sqltype.List {
		buffers = append(buffers, memory.NewBufferBytes(bytesOf(offsets)))
	}
	data := array.NewData(c.out, rows, buffers, children, nulls, 0)
	defer data.Release()
	*c = column{typ: c.typ, out: c.out}
	return array.MakeFromData(data)
}

// checkNested looks for intervals within values of type t that Arrow cannot hold.
func checkNested(t sqltype.Type, v *vector.Vector, sel []int32, n int) error {
	if !hasInterval(t) {
		return nil
	}
	for i := range n {
		r := i
		if sel != nil {
			r = int(sel[i])
		}
		if s := nested.At(v, r); !s.Null && !nanosFit(t, s) {
			return intervalTooLong()
		}
	}
	return nil
}

func hasInterval(t sqltype.Type) bool {
	for k := range partCount(t) {
		if p := nested.PartType(t, k); p.Kind == sqltype.Interval || hasInterval(p) {
			return true
		}
	}
	return false
}

func nanosFit(t sqltype.Type, s nested.Scalar) bool {
	if !t.IsNested() {
		return t.Kind != sqltype.Interval || fitsNanos(s.Interval.Micros)
	}
	for k, item := range nested.Parts(t, s.Str) {
		p := nested.PartType(t, k)
		if part := nested.Get(p, item); !part.Null && !nanosFit(p, part) {
			return false
		}
	}
	return true
}

// partCount is how many columns the parts of a nested type make; 0 of others.
func partCount(t sqltype.Type) int {
	if t.Kind == sqltype.List {
		return 1
	}
	return len(t.Fields)
}

func partOf(t arrow.DataType, k int) arrow.DataType {
	if l, ok := t.(*arrow.ListType); ok {
		return l.Elem()
	}
	return t.(*arrow.StructType).Field(k).Type
}
