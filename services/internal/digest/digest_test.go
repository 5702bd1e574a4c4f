package digest_test

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/fletchdb/fletch/services/internal/arrowwire"
	"github.com/fletchdb/fletch/services/internal/digest"
)

var schema = arrow.NewSchema([]arrow.Field{
	{Name: "i", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	{Name: "f", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
	{Name: "l", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true},
}, nil)

func batch(t *testing.T, rows ...string) arrow.RecordBatch {
	t.Helper()
	rec, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader("["+strings.Join(rows, ",")+"]"))
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

func of(recs ...arrow.RecordBatch) digest.Digest {
	var m digest.Maker
	for _, r := range recs {
		m.Add(r)
	}
	return m.Digest()
}

const (
	a = `{"i": 1, "f": 0.1, "l": ["x", null]}`
	b = `{"i": null, "f": null, "l": []}`
	c = `{"i": 1, "f": 1e300, "l": null}`
)

// Order and batches make no difference; a row more or less, which a set would not see, does.
func TestMultiset(t *testing.T) {
	want := of(batch(t, a, b, c))
	for _, same := range []digest.Digest{of(batch(t, c, a, b)), of(batch(t, a), batch(t, c), batch(t, b)), of(batch(t, a, b, c).NewSlice(0, 3))} {
		if same.Exact != want.Exact || same.Rows != want.Rows {
			t.Errorf("%+v, want %+v", same, want)
		}
	}
	seen := map[string]string{want.Exact: "a b c"}
	for name, d := range map[string]digest.Digest{
		"a a b c": of(batch(t, a, a, b, c)), "a b b c": of(batch(t, a, b, b, c)), "a b": of(batch(t, a, b)), "nothing": of(),
		"moved": of(batch(t, `{"i": 1, "l": ["xn"]}`, b, c)), "null list": of(batch(t, a, `{"i": null, "f": null, "l": null}`, c)),
	} {
		if other, ok := seen[d.Exact]; ok {
			t.Errorf("%s and %s have one digest", name, other)
		}
		seen[d.Exact] = name
	}
}

func TestFloats(t *testing.T) {
	d := of(batch(t, `{"f": 1e16}`, `{"f": 1}`, `{"f": -1e16}`, `{"f": null}`))
	f := d.Floats[0]
	if len(d.Floats) != 1 || f.Column != 1 || f.Values != 3 || f.Nulls != 1 || f.NaNs != 0 || f.Min != -1e16 || f.Max != 1e16 || f.Sum != 1 {
		t.Errorf("%+v", f)
	}
	build := array.NewFloat64Builder(memory.DefaultAllocator)
	build.AppendValues([]float64{math.NaN(), math.Inf(1), 2}, nil)
	col := build.NewFloat64Array()
	d = of(array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "f", Type: arrow.PrimitiveTypes.Float64}}, nil), []arrow.Array{col}, 3))
	if f := d.Floats[0]; d.Exact != "" || f.NaNs != 1 || !math.IsInf(f.Max, 1) || f.Min != 2 || f.Sum != 2 {
		t.Errorf("%+v", d)
	}
}

// The rule is on disk for ever: a digest of today must be the one of every later build.
func TestRuleIsFrozen(t *testing.T) {
	if d := of(batch(t, a, b, c)); digest.Rule != 1 || d.Exact != "c0b95073aa76ef6fa2f9a56188871efe" {
		t.Errorf("rule %d gives %s", digest.Rule, d.Exact)
	}
}

// A stream's messages give what its batches do.
func TestStream(t *testing.T) {
	encoder := arrowwire.NewEncoder(schema)
	first, err := encoder.Schema()
	if err != nil {
		t.Fatal(err)
	}
	messages := []*arrowwire.Message{first}
	for _, rec := range []arrow.RecordBatch{batch(t, a), batch(t, b, c)} {
		more, err := encoder.Batch(rec)
		if err != nil {
			t.Fatal(err)
		}
		messages = append(messages, more...)
	}
	var s digest.Stream
	defer s.Close()
	for _, m := range messages {
		b, err := m.Encapsulated()
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Message(b); err != nil {
			t.Fatal(err)
		}
		for cut := range len(b) { // never a panic
			var s digest.Stream
			_ = s.Message(bytes.Clone(b[:cut]))
			s.Close()
		}
	}
	if err := s.Message(arrowwire.EndOfStream); err != nil {
		t.Fatal(err)
	}
	if got, want := s.Digest(), of(batch(t, a, b, c)); got.Exact != want.Exact || got.Rows != 3 {
		t.Errorf("%+v, want %+v", got, want)
	}
}
