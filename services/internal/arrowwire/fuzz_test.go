package arrowwire

import (
	"encoding/binary"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/fletchdb/fletch/engine/arrowio"
	"github.com/fletchdb/fletch/engine/physical"
)

// join and split put a stream's messages into one string of bytes and back: each behind its length.
func join(messages [][]byte) (out []byte) {
	for _, m := range messages {
		out = append(binary.LittleEndian.AppendUint16(out, uint16(len(m))), m...)
	}
	return out
}

func split(b []byte) (out [][]byte) {
	for len(b) >= 2 && len(out) < 64 {
		n := min(int(binary.LittleEndian.Uint16(b)), len(b)-2)
		out, b = append(out, b[2:2+n]), b[2+n:]
	}
	return out
}

// FuzzReader gives a reader whatever can come over a connection, and what it makes of that to the engine: nothing panics, and
// nothing takes memory that did not come.
func FuzzReader(f *testing.F) {
	all := everything(f, memory.DefaultAllocator)
	f.Add(join(stream(f, all, all)))
	f.Add(join(stream(f, all.NewSlice(1, 3))))
	f.Add(join(stream(f, numbers(memory.DefaultAllocator, 0, 100), numbers(memory.DefaultAllocator, 100, 3))))
	f.Add(join(stream(f, all)[:2]))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		messages := split(b)
		took := allocated(func() {
			_ = drain(messages)
			_ = vectors(messages)
		})
		if limit := uint64(2<<20 + 64*len(b)); took > limit {
			t.Errorf("%d bytes in took %d bytes of memory", len(b), took)
		}
	})
}

// vectors reads a stream as a worker does, into the engine's own batches.
func vectors(messages [][]byte) error {
	r, err := NewReader(replay(messages))
	if err != nil {
		return err
	}
	defer r.Close()
	fields, ok := fieldsOf(r.Schema())
	if !ok {
		return nil
	}
	in, err := arrowio.NewReader(fields, r.Schema())
	if err != nil {
		return err
	}
	out, err := arrowio.NewBuilder(fields, arrowio.Narrow)
	if err != nil {
		return err
	}
	for {
		rec, err := r.Next()
		if err != nil {
			return err
		}
		if rec.NumRows() > 1<<16 {
			return nil // without columns a batch may claim any number of rows
		}
		b, err := in.Batch(rec)
		if err != nil {
			return err
		}
		if err := out.Append(b); err != nil { // looks at every value
			return err
		}
		out.Finish().Release()
	}
}

func fieldsOf(schema *arrow.Schema) (fields []physical.Field, ok bool) {
	for _, f := range schema.Fields() {
		t, ok := arrowio.SQLType(f.Type)
		if !ok {
			return nil, false
		}
		fields = append(fields, physical.Field{Name: f.Name, Type: t, Nullable: f.Nullable})
	}
	return fields, true
}
