package exec

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// A list's elements count, which are not among its own buffers.
func TestBytesOfLists(t *testing.T) {
	b := array.NewListBuilder(memory.DefaultAllocator, arrow.PrimitiveTypes.Int64)
	defer b.Release()
	const elements = 10_000
	b.Append(true)
	for i := range elements {
		b.ValueBuilder().(*array.Int64Builder).Append(int64(i))
	}
	col := b.NewArray()
	defer col.Release()
	rec := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "a", Type: col.DataType()}}, nil), []arrow.Array{col}, 1)
	defer rec.Release()
	if n := bytesOf(rec); n < elements*8 {
		t.Errorf("%d bytes for %d elements of 8 bytes", n, elements)
	}
}
