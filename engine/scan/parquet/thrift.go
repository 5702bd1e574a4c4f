package parquet

import (
	"encoding/binary"
	"fmt"
)

// The types of Thrift's compact protocol.
const (
	thriftStop   = 0
	thriftTrue   = 1
	thriftFalse  = 2
	thriftByte   = 3
	thriftI64    = 6
	thriftDouble = 7
	thriftBinary = 8
	thriftList   = 9
	thriftSet    = 10
	thriftMap    = 11
	thriftStruct = 12
)

const maxThriftDepth = 24

// A thrift reads Thrift's compact protocol. The first thing it cannot read sets bad, after which every read gives zero
// and every struct and list is at its end: callers look at bad once, when they are done. It trusts no count: what it
// says of a list's length is never more than the bytes that are left.
type thrift struct {
	b     []byte
	pos   int
	depth int
	bad   string
}

func (d *thrift) fail(format string, args ...any) {
	if d.bad == "" {
		d.bad = fmt.Sprintf(format, args...)
	}
	d.pos = len(d.b)
}

func (d *thrift) byte() byte {
	if d.pos >= len(d.b) {
		d.fail("it ends too early")
		return 0
	}
	d.pos++
	return d.b[d.pos-1]
}

func (d *thrift) uvarint() uint64 {
	if d.pos < len(d.b) && d.b[d.pos] < 0x80 {
		d.pos++
		return uint64(d.b[d.pos-1])
	}
	v, n := binary.Uvarint(d.b[d.pos:])
	if n <= 0 {
		d.fail("it ends in the middle of a number")
		return 0
	}
	d.pos += n
	return v
}

func (d *thrift) varint() int64 {
	u := d.uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

// field begins the next field of a struct; last is the id of the one before it, 0 at first. A typ of thriftStop ends the struct.
func (d *thrift) field(last int) (id int, typ byte) {
	h := d.byte()
	typ = h & 15
	if typ == thriftStop || d.bad != "" {
		return 0, thriftStop
	}
	if delta := int(h >> 4); delta != 0 {
		return last + delta, typ
	}
	return int(int16(d.varint())), typ
}

// int reads a field of any integer type.
func (d *thrift) int(typ byte) int64 {
	switch {
	case typ == thriftByte:
		return int64(int8(d.byte()))
	case typ > thriftByte && typ <= thriftI64:
		return d.varint()
	}
	d.fail("a field has type %d where a number belongs", typ)
	return 0
}

func (d *thrift) int32(typ byte) int32 {
	v := d.int(typ)
	if v != int64(int32(v)) {
		d.fail("a number is over 32 bits")
	}
	return int32(v)
}

func (d *thrift) bool(typ byte) bool {
	if typ != thriftTrue && typ != thriftFalse {
		d.fail("a field has type %d where a truth value belongs", typ)
	}
	return typ == thriftTrue
}

// binary reads a string of bytes, which are d's own.
func (d *thrift) binary(typ byte) []byte {
	if typ != thriftBinary {
		d.fail("a field has type %d where bytes belong", typ)
		return nil
	}
	n := d.uvarint()
	if n > uint64(len(d.b)-d.pos) {
		d.fail("it ends in the middle of a string")
		return nil
	}
	d.pos += int(n)
	return d.b[d.pos-int(n) : d.pos : d.pos]
}

// list begins a list and gives its length and the type of its elements.
func (d *thrift) list(typ byte) (n int, elem byte) {
	if typ != thriftList && typ != thriftSet {
		d.fail("a field has type %d where a list belongs", typ)
		return 0, 0
	}
	h := d.byte()
	size := uint64(h >> 4)
	if size == 15 {
		size = d.uvarint()
	}
	if size > uint64(len(d.b)-d.pos) {
		d.fail("a list of %d elements has %d bytes", size, len(d.b)-d.pos)
		return 0, 0
	}
	return int(size), h & 15
}

// structs calls f for each element of a list of structs.
func (d *thrift) structs(typ byte, f func()) {
	n, elem := d.list(typ)
	if n > 0 && elem != thriftStruct {
		d.fail("a list has elements of type %d where structs belong", elem)
	}
	for range n {
		if d.bad != "" {
			return
		}
		f()
	}
}

// fields reads a struct: f reads the value of each field, or leaves it to skip by giving false.
func (d *thrift) fields(f func(id int, typ byte) bool) {
	if !d.enter() {
		return
	}
	id, typ := 0, byte(0)
	for {
		if id, typ = d.field(id); typ == thriftStop {
			break
		}
		if !f(id, typ) {
			d.skip(typ)
		}
	}
	d.depth--
}

// union reads a struct of which one field is set: f is called with it, once d stands at its value.
func (d *thrift) union(typ byte, f func(id int, typ byte) bool) {
	if typ != thriftStruct {
		d.fail("a field has type %d where a struct belongs", typ)
		return
	}
	d.fields(f)
}

func (d *thrift) enter() bool {
	if d.depth++; d.depth > maxThriftDepth {
		d.fail("it nests too deep")
		return false
	}
	return d.bad == ""
}

// skip passes over a value.
func (d *thrift) skip(typ byte) {
	switch typ {
	case thriftTrue, thriftFalse:
	case thriftByte:
		d.byte()
	case 4, 5, thriftI64:
		d.uvarint()
	case thriftDouble:
		for range 8 {
			d.byte()
		}
	case thriftBinary:
		d.binary(typ)
	case thriftList, thriftSet:
		n, elem := d.list(typ)
		d.skipAll(n, elem)
	case thriftMap:
		n := d.uvarint()
		if n == 0 {
			return
		}
		kinds := d.byte()
		if n > uint64(len(d.b)-d.pos) || !d.enter() {
			d.fail("a map of %d entries has %d bytes", n, len(d.b)-d.pos)
			return
		}
		for i := uint64(0); i < n && d.bad == ""; i++ {
			d.skipElem(kinds >> 4)
			d.skipElem(kinds & 15)
		}
		d.depth--
	case thriftStruct:
		if !d.enter() {
			return
		}
		id := 0
		for d.bad == "" {
			if id, typ = d.field(id); typ == thriftStop {
				break
			}
			d.skip(typ)
		}
		d.depth--
	default:
		d.fail("a field has the unknown type %d", typ)
	}
}

func (d *thrift) skipAll(n int, elem byte) {
	if !d.enter() {
		return
	}
	for i := 0; i < n && d.bad == ""; i++ {
		d.skipElem(elem)
	}
	d.depth--
}

// skipElem is skip inside a list or map, where a truth value takes a byte.
func (d *thrift) skipElem(typ byte) {
	if typ == thriftTrue || typ == thriftFalse {
		d.byte()
		return
	}
	d.skip(typ)
}
