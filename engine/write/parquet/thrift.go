package parquet

import "encoding/binary"

// compact appends Thrift's compact protocol: a field is its distance from the field before, a type and a value; integers
// are zigzag varints. Only what a Parquet footer and its page headers need.
type compact struct {
	b     []byte
	last  int   // id of the field before, in the open struct
	outer []int // last of the structs around it
}

// Type codes of the compact protocol.
const (
	thriftTrue   = 1
	thriftFalse  = 2
	thriftByte   = 3
	thriftI16    = 4
	thriftI32    = 5
	thriftI64    = 6
	thriftBinary = 8
	thriftList   = 9
	thriftStruct = 12
)

// field starts a field; ids of one struct must rise by 1 to 15.
func (t *compact) field(id, kind int) {
	t.b = append(t.b, byte((id-t.last)<<4|kind))
	t.last = id
}

func (t *compact) varint(v int64) { t.b = binary.AppendVarint(t.b, v) }

func (t *compact) i32(id int, v int32) {
	t.field(id, thriftI32)
	t.varint(int64(v))
}

func (t *compact) i64(id int, v int64) {
	t.field(id, thriftI64)
	t.varint(v)
}

func (t *compact) i16(id int, v int16) {
	t.field(id, thriftI16)
	t.varint(int64(v))
}

func (t *compact) i8(id int, v int8) {
	t.field(id, thriftByte)
	t.b = append(t.b, byte(v))
}

func (t *compact) bool(id int, v bool) {
	if v {
		t.field(id, thriftTrue)
	} else {
		t.field(id, thriftFalse)
	}
}

func (t *compact) binary(id int, v []byte) {
	t.field(id, thriftBinary)
	t.bytes(v)
}

func (t *compact) string(id int, v string) {
	t.field(id, thriftBinary)
	t.b = append(binary.AppendUvarint(t.b, uint64(len(v))), v...)
}

// bytes is an element of a list of binaries.
func (t *compact) bytes(v []byte) {
	t.b = append(binary.AppendUvarint(t.b, uint64(len(v))), v...)
}

// list starts a list of n elements, which follow as bare values or as open … close.
func (t *compact) list(id, kind, n int) {
	t.field(id, thriftList)
	if n < 15 {
		t.b = append(t.b, byte(n<<4|kind))
		return
	}
	t.b = binary.AppendUvarint(append(t.b, byte(0xF0|kind)), uint64(n))
}

// open starts a struct that is an element of a list, or the outermost one.
func (t *compact) open() {
	t.outer = append(t.outer, t.last)
	t.last = 0
}

// openField starts a struct that is a field.
func (t *compact) openField(id int) {
	t.field(id, thriftStruct)
	t.open()
}

func (t *compact) close() {
	t.b = append(t.b, 0)
	t.last = t.outer[len(t.outer)-1]
	t.outer = t.outer[:len(t.outer)-1]
}

// empty is a field that is a struct without fields, as unions use for their plain members.
func (t *compact) empty(id int) {
	t.openField(id)
	t.close()
}
