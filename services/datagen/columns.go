package datagen

import (
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// A column collects the values of a batch and shows them as an Arrow array of its own memory, good until the next reset.
type column interface {
	reset()
	len() int
	array() arrow.Array
	dataType() arrow.DataType
}

var (
	money = &arrow.Decimal64Type{Precision: 15, Scale: 2}
	coded = &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint8, ValueType: arrow.BinaryTypes.String}
)

type (
	bigints  struct{ v []int64 }
	integers struct{ v []int32 }
	dates    struct{ v []int32 } // days since 1970-01-01
	amounts  struct{ v []int64 } // hundredths
)

func (c *bigints) reset()                   { c.v = c.v[:0] }
func (c *bigints) len() int                 { return len(c.v) }
func (c *bigints) dataType() arrow.DataType { return arrow.PrimitiveTypes.Int64 }
func (c *bigints) array() arrow.Array       { return fixedArray(c.dataType(), c.v) }

func (c *integers) reset()                   { c.v = c.v[:0] }
func (c *integers) len() int                 { return len(c.v) }
func (c *integers) dataType() arrow.DataType { return arrow.PrimitiveTypes.Int32 }
func (c *integers) array() arrow.Array       { return fixedArray(c.dataType(), c.v) }

func (c *dates) reset()                   { c.v = c.v[:0] }
func (c *dates) len() int                 { return len(c.v) }
func (c *dates) dataType() arrow.DataType { return arrow.FixedWidthTypes.Date32 }
func (c *dates) array() arrow.Array       { return fixedArray(c.dataType(), c.v) }

func (c *amounts) add(hundredths int64)     { c.v = append(c.v, hundredths) }
func (c *amounts) reset()                   { c.v = c.v[:0] }
func (c *amounts) len() int                 { return len(c.v) }
func (c *amounts) dataType() arrow.DataType { return money }
func (c *amounts) array() arrow.Array       { return fixedArray(money, c.v) }

// codes are places in a list of up to 256 words.
type codes struct {
	v     []uint8
	words arrow.Array
}

func newCodes(list []string) codes {
	b := array.NewStringBuilder(memory.DefaultAllocator)
	b.AppendValues(list, nil)
	return codes{words: b.NewArray()}
}

func (c *codes) reset()                   { c.v = c.v[:0] }
func (c *codes) len() int                 { return len(c.v) }
func (c *codes) dataType() arrow.DataType { return coded }
func (c *codes) array() arrow.Array {
	return array.NewDictionaryArray(coded, fixedArray(arrow.PrimitiveTypes.Uint8, c.v), c.words)
}

// texts are strings end to end: append to data, then end.
type texts struct {
	data []byte
	ends []int32 // with a zero before the first
}

func (c *texts) end() { c.ends = append(c.ends, int32(len(c.data))) }

func (c *texts) reset()                   { c.data, c.ends = c.data[:0], append(c.ends[:0], 0) }
func (c *texts) len() int                 { return len(c.ends) - 1 }
func (c *texts) dataType() arrow.DataType { return arrow.BinaryTypes.String }
func (c *texts) array() arrow.Array {
	buffers := []*memory.Buffer{nil, memory.NewBufferBytes(rawBytes(c.ends)), memory.NewBufferBytes(c.data)}
	return array.NewStringData(array.NewData(c.dataType(), c.len(), buffers, nil, 0, 0))
}

func fixedArray[T any](t arrow.DataType, v []T) arrow.Array {
	data := array.NewData(t, len(v), []*memory.Buffer{nil, memory.NewBufferBytes(rawBytes(v))}, nil, 0, 0)
	return array.MakeFromData(data)
}

// rawBytes is v's memory; T holds no pointers.
func rawBytes[T any](v []T) []byte {
	var one T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(one)))
}
