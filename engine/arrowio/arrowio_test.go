package arrowio_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/fletchdb/fletch/engine/arrowio"
	"github.com/fletchdb/fletch/engine/batchtest"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
	"github.com/fletchdb/fletch/engine/vector/int128"
)

const every = "b bool, i8 int8, i16 int16, i32 int32, i64 int64, u8 uint8, u16 uint16, u32 uint32, u64 uint64, f32 float32, f64 float64, " +
	"d9 decimal(9,2), d18 decimal(18,0), d38 decimal(38,3), s utf8, bin binary, date date, time time, ts timestamp, tz timestamptz, iv interval, uuid uuid, n null"

func random(rng *rand.Rand, n int) batchtest.Table {
	t := batchtest.Rows(every)
	for range n {
		row := make([]expr.Value, len(t.Fields))
		for c, f := range t.Fields {
			v := expr.Value{Type: f.Type, Null: rng.IntN(5) == 0 || f.Type.Kind == sqltype.Null}
			i := int64(rng.Uint64())
			switch f.Type.Kind {
			case sqltype.Bool:
				v.Int = i & 1
			case sqltype.Int8:
				v.Int = int64(int8(i))
			case sqltype.Int16:
				v.Int = int64(int16(i))
			case sqltype.Int32, sqltype.Date:
				v.Int = int64(int32(i))
			case sqltype.Uint8:
				v.Int = int64(uint8(i))
			case sqltype.Uint16:
				v.Int = int64(uint16(i))
			case sqltype.Uint32:
				v.Int = int64(uint32(i))
			case sqltype.Float32, sqltype.Float64:
				v.Float = float64(rng.IntN(99)) / 4
			case sqltype.Decimal:
				v.Wide = int128.FromInt64(i % 1e9)
			case sqltype.Utf8:
				v.Str = strings.Repeat("é", rng.IntN(4)) + fmt.Sprint(rng.IntN(9))
			case sqltype.Binary:
				v.Str = string([]byte{byte(i), 0xff})[:rng.IntN(3)]
			case sqltype.Time:
				v.Int = i & (1<<36 - 1)
			case sqltype.Interval:
				v.Months, v.Days, v.Int = int32(i), int32(i>>32), i>>16
			case sqltype.UUID:
				v.Wide = int128.Int128{Lo: uint64(i), Hi: i * 3}
			default:
				v.Int = i
			}
			row[c] = v
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// read gives the rows of b.
func read(fields []physical.Field, b *vector.Batch) batchtest.Table {
	t := batchtest.Table{Fields: fields}
	for i := range b.Len {
		row := make([]expr.Value, len(b.Cols))
		for c, v := range b.Cols {
			row[c] = batchtest.ValueAt(v, i)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func TestRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	in := random(rng, 300)
	for _, form := range []arrowio.Form{arrowio.Wide, arrowio.Narrow} {
		for seed := range uint64(6) {
			build, err := arrowio.NewBuilder(in.Fields, form)
			if err != nil {
				t.Fatal(err)
			}
			src := batchtest.NewSource(in, batchtest.Shape{Rows: 64, Select: seed > 0, Forms: seed > 1, Seed: seed})
			r, _ := src.NewReader()
			got := batchtest.Table{Fields: in.Fields}
			back, err := arrowio.NewReader(in.Fields, build.Schema())
			if err != nil {
				t.Fatal(err)
			}
			take := func() {
				rec := build.Finish()
				defer rec.Release()
				from := rng.Int64N(rec.NumRows() + 1) // also what begins inside of memory
				for _, part := range []arrow.RecordBatch{rec.NewSlice(0, from), rec.NewSlice(from, rec.NumRows())} {
					b, err := back.Batch(part)
					if err != nil {
						t.Fatal(err)
					}
					got.Rows = append(got.Rows, read(in.Fields, b).Rows...)
					part.Release()
				}
			}
			for {
				b, err := r.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if b == nil {
					break
				}
				if err := build.Append(b); err != nil {
					t.Fatal(err)
				}
				if rng.IntN(3) == 0 {
					take()
				}
			}
			take()
			r.Close()
			batchtest.Same(t, fmt.Sprint("form ", form, " seed ", seed), got, in, true)
		}
	}
}

func TestTypesAtTheEdge(t *testing.T) {
	want := map[string]string{
		"d9": "decimal(9, 2)", "d38": "decimal(38, 3)", "s": "utf8", "date": "date32", "time": "time64[us]", "ts": "timestamp[us]",
		"tz": "timestamp[us, tz=UTC]", "iv": "month_day_nano_interval", "uuid": "fixed_size_binary[16]", "n": "null",
	}
	schema, err := arrowio.SchemaOf(batchtest.Rows(every).Fields, arrowio.Wide)
	if err != nil {
		t.Fatal(err)
	}
	for name, typ := range want {
		f, _ := schema.FieldsByName(name)
		if got := f[0].Type.String(); got != typ {
			t.Errorf("%s is %s, want %s", name, got, typ)
		}
	}
	if _, err := arrowio.TypeOf(sqltype.ListOf(sqltype.Of(sqltype.Invalid)), arrowio.Wide); sqlerr.CodeOf(err) != sqlerr.Unsupported {
		t.Errorf("a list of nothing gives %v", err)
	}
}

func TestIntervalOutOfRange(t *testing.T) {
	in := batchtest.Rows("iv interval", vector.Interval{Micros: math.MaxInt64})
	b, _ := arrowio.NewBuilder(in.Fields, arrowio.Wide)
	r, _ := batchtest.NewSource(in, batchtest.Shape{Rows: 1}).NewReader()
	batch, _ := r.Next(t.Context())
	if err := b.Append(batch); sqlerr.CodeOf(err) != sqlerr.OutOfRange {
		t.Errorf("got %v", err)
	}
}

// column makes an array of raw buffers, unchecked by arrow-go, and a record batch of it.
func column(t arrow.DataType, n, offset int, buffers ...[]byte) arrow.RecordBatch {
	bufs := make([]*memory.Buffer, len(buffers))
	for i, b := range buffers {
		if b != nil {
			bufs[i] = memory.NewBufferBytes(b)
		}
	}
	return raw{t, array.NewData(t, n, bufs, nil, 0, offset)}
}

// raw is a record batch of one column that arrow-go has not looked at.
type raw struct {
	typ  arrow.DataType
	data *array.Data
}

func (r raw) Release()                     {}
func (r raw) Retain()                      {}
func (r raw) MarshalJSON() ([]byte, error) { return nil, nil }
func (r raw) Schema() *arrow.Schema {
	return arrow.NewSchema([]arrow.Field{{Name: "c", Type: r.typ}}, nil)
}
func (r raw) NumRows() int64         { return int64(r.data.Len()) }
func (r raw) NumCols() int64         { return 1 }
func (r raw) Columns() []arrow.Array { return []arrow.Array{rawArray{data: r.data}} }

func (r raw) Column(int) arrow.Array                                { return rawArray{data: r.data} }
func (r raw) ColumnName(int) string                                 { return "c" }
func (r raw) SetColumn(int, arrow.Array) (arrow.RecordBatch, error) { return nil, nil }
func (r raw) NewSlice(i, j int64) arrow.RecordBatch                 { return nil }

type rawArray struct {
	arrow.Array
	data *array.Data
}

func (a rawArray) Data() arrow.ArrayData { return a.data }

func TestHostileBatches(t *testing.T) {
	i32 := func(v ...int32) []byte {
		var b []byte
		for _, x := range v {
			b = append(b, byte(x), byte(x>>8), byte(x>>16), byte(x>>24))
		}
		return b
	}
	bytes8 := array.NewData(arrow.PrimitiveTypes.Int8, 8, []*memory.Buffer{nil, memory.NewBufferBytes(make([]byte, 8))}, nil, 0, 0)
	bytesList, pair := sqltype.ListOf(sqltype.Of(sqltype.Int8)), sqltype.StructOf(sqltype.Field{Name: "a", Type: sqltype.Of(sqltype.Int8)})
	lists := func(n int, offsets []byte, elems ...arrow.ArrayData) arrow.RecordBatch {
		typ := arrow.ListOf(arrow.PrimitiveTypes.Int8)
		return raw{typ, array.NewData(typ, n, []*memory.Buffer{nil, memory.NewBufferBytes(offsets)}, elems, 0, 0)}
	}
	structs := func(n int, fields ...arrow.ArrayData) arrow.RecordBatch {
		typ := arrow.StructOf(arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int8, Nullable: true})
		return raw{typ, array.NewData(typ, n, []*memory.Buffer{nil}, fields, 0, 0)}
	}
	utf8, dec := arrow.BinaryTypes.String, &arrow.Decimal128Type{Precision: 3, Scale: 0}
	dict := func(index arrow.DataType, codes []byte, n int) arrow.RecordBatch {
		values := array.NewData(utf8, 2, []*memory.Buffer{nil, memory.NewBufferBytes(i32(0, 1, 2)), memory.NewBufferBytes([]byte("ab"))}, nil, 0, 0)
		typ := &arrow.DictionaryType{IndexType: index, ValueType: utf8}
		return raw{typ, array.NewDataWithDictionary(typ, n, []*memory.Buffer{nil, memory.NewBufferBytes(codes)}, 0, 0, values)}
	}
	for _, tc := range []struct {
		name string
		typ  sqltype.Type
		rec  arrow.RecordBatch
		code sqlerr.Code
	}{
		{"short values", sqltype.Of(sqltype.Int64), column(arrow.PrimitiveTypes.Int64, 3, 0, nil, make([]byte, 23)), sqlerr.FileCorrupt},
		{"no values", sqltype.Of(sqltype.Int32), column(arrow.PrimitiveTypes.Int32, 1, 0, nil, nil), sqlerr.FileCorrupt},
		{"offset behind the end", sqltype.Of(sqltype.Int8), column(arrow.PrimitiveTypes.Int8, 2, 7, nil, make([]byte, 8)), sqlerr.FileCorrupt},
		{"short validity", sqltype.Of(sqltype.Int8), column(arrow.PrimitiveTypes.Int8, 9, 0, []byte{0xff}, make([]byte, 9)), sqlerr.FileCorrupt},
		{"short truth values", sqltype.Of(sqltype.Bool), column(arrow.FixedWidthTypes.Boolean, 9, 0, nil, []byte{1}), sqlerr.FileCorrupt},
		{"string before its start", sqltype.Of(sqltype.Utf8), column(utf8, 2, 0, nil, i32(2, 1, 3), []byte("abc")), sqlerr.FileCorrupt},
		{"string behind its data", sqltype.Of(sqltype.Utf8), column(utf8, 1, 0, nil, i32(0, 9), []byte("abc")), sqlerr.FileCorrupt},
		{"string behind the last", sqltype.Of(sqltype.Utf8), column(utf8, 2, 0, nil, i32(0, 9, 3), []byte("abc")), sqlerr.FileCorrupt},
		{"negative start", sqltype.Of(sqltype.Utf8), column(utf8, 1, 0, nil, i32(-1, 2), []byte("abc")), sqlerr.FileCorrupt},
		{"too few offsets", sqltype.Of(sqltype.Utf8), column(utf8, 3, 0, nil, i32(0, 1, 2), []byte("abc")), sqlerr.FileCorrupt},
		{"not UTF-8", sqltype.Of(sqltype.Utf8), column(utf8, 1, 0, nil, i32(0, 2), []byte{'a', 0xff}), sqlerr.InvalidUTF8},
		{"UTF-8 cut in two", sqltype.Of(sqltype.Utf8), column(utf8, 2, 0, nil, i32(0, 1, 2), []byte("é")), sqlerr.InvalidUTF8},
		{"too many digits", sqltype.DecimalOf(3, 0), column(dec, 1, 0, nil, append([]byte{0xe8, 3}, make([]byte, 14)...)), sqlerr.FileCorrupt},
		{"no time of day", sqltype.Of(sqltype.Time), column(arrow.FixedWidthTypes.Time64us, 1, 0, nil, bytes.Repeat([]byte{0x7f}, 8)), sqlerr.FileCorrupt},
		{"code behind its dictionary", sqltype.Of(sqltype.Utf8), dict(arrow.PrimitiveTypes.Uint8, []byte{0, 2}, 2), sqlerr.FileCorrupt},
		{"negative code", sqltype.Of(sqltype.Utf8), dict(arrow.PrimitiveTypes.Int32, i32(-1), 1), sqlerr.FileCorrupt},
		{"short codes", sqltype.Of(sqltype.Utf8), dict(arrow.PrimitiveTypes.Int16, []byte{0}, 1), sqlerr.FileCorrupt},
		{"list before its start", bytesList, lists(1, i32(2, 1), bytes8), sqlerr.FileCorrupt},
		{"list behind its elements", bytesList, lists(1, i32(0, 9), bytes8), sqlerr.FileCorrupt},
		{"too few offsets of lists", bytesList, lists(2, i32(0, 1), bytes8), sqlerr.FileCorrupt},
		{"list without elements", bytesList, lists(1, i32(0, 1)), sqlerr.FileCorrupt},
		{"struct without fields", pair, structs(1), sqlerr.FileCorrupt},
		{"struct of short fields", pair, structs(9, bytes8), sqlerr.FileCorrupt},
		{"another type", sqltype.Of(sqltype.Utf8), column(arrow.PrimitiveTypes.Int8, 1, 0, nil, []byte{1}), sqlerr.FileCorrupt},
	} {
		t.Run(tc.name, func(t *testing.T) {
			fields := []physical.Field{{Name: "c", Type: tc.typ}}
			typ, _ := arrowio.TypeOf(tc.typ, arrowio.Wide)
			r, err := arrowio.NewReader(fields, arrow.NewSchema([]arrow.Field{{Name: "c", Type: typ}}, nil))
			if err != nil {
				t.Fatal(err)
			}
			if b, err := r.Batch(tc.rec); sqlerr.CodeOf(err) != tc.code || err == nil {
				t.Errorf("got %v, %v; want %s", b, err, tc.code)
			}
		})
	}
}

func TestDictionariesStayCoded(t *testing.T) {
	mem := memory.DefaultAllocator
	typ := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int16, ValueType: arrow.BinaryTypes.String}
	b := array.NewDictionaryBuilder(mem, typ).(*array.BinaryDictionaryBuilder)
	defer b.Release()
	for _, s := range []string{"x", "y", "x"} {
		if err := b.AppendString(s); err != nil {
			t.Fatal(err)
		}
	}
	b.AppendNull()
	arr := b.NewArray()
	defer arr.Release()
	schema := arrow.NewSchema([]arrow.Field{{Name: "s", Type: typ, Nullable: true}}, nil)
	rec := array.NewRecordBatch(schema, []arrow.Array{arr}, 4)
	defer rec.Release()
	fields := batchtest.Rows("s utf8").Fields
	r, err := arrowio.NewReader(fields, schema)
	if err != nil {
		t.Fatal(err)
	}
	batch, err := r.Batch(rec)
	if err != nil {
		t.Fatal(err)
	}
	batchtest.Same(t, "values", read(fields, batch), batchtest.Rows("s utf8", "x", "y", "x", nil), true)
	v := batch.Cols[0]
	id := v.DictID
	if v.Form != vector.Dict || v.CodeWidth() != 2 {
		t.Errorf("form %d, width %d", v.Form, v.CodeWidth())
	}
	if batch, err = r.Batch(rec); err != nil || batch.Cols[0].DictID != id {
		t.Errorf("the same dictionary has another id, or %v", err)
	}
}

func TestReaderWantsItsColumns(t *testing.T) {
	fields := batchtest.Rows("a int64, b utf8").Fields
	for _, other := range []string{"a int64", "a int32, b utf8", "a int64, b binary"} {
		schema, _ := arrowio.SchemaOf(batchtest.Rows(other).Fields, arrowio.Wide)
		if _, err := arrowio.NewReader(fields, schema); sqlerr.CodeOf(err) != sqlerr.DatatypeMismatch {
			t.Errorf("%s: %v", other, err)
		}
	}
}

// FuzzReader reads columns of any type made of any bytes, of lengths that do not fit them.
func FuzzReader(f *testing.F) {
	types := batchtest.Rows(every).Fields
	f.Add(uint8(0), uint8(3), uint8(0), []byte{7}, []byte("\x05"), []byte{})
	f.Add(uint8(14), uint8(2), uint8(0), []byte{3}, []byte("\x00\x00\x00\x00\x01\x00\x00\x00\x03\x00\x00\x00"), []byte("a\xc3\xa9"))
	f.Add(uint8(114), uint8(2), uint8(1), []byte{3}, []byte{0, 1, 0}, []byte("ab"))
	f.Fuzz(func(t *testing.T, kind, n, offset uint8, validity, second, third []byte) {
		field := types[int(kind&0x3f)%len(types)]
		typ, err := arrowio.TypeOf(field.Type, arrowio.Form(kind>>6&1))
		if err != nil {
			t.Fatal(err)
		}
		rec := column(typ, int(n), int(offset), validity, second, third).(raw)
		if kind&0x80 != 0 { // the codes of a dictionary
			d := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint16, ValueType: typ}
			bufs := []*memory.Buffer{memory.NewBufferBytes(validity), memory.NewBufferBytes(third)}
			rec = raw{d, array.NewDataWithDictionary(d, int(n), bufs, 0, int(offset), rec.data)}
		}
		r, err := arrowio.NewReader([]physical.Field{field}, rec.Schema())
		if err != nil {
			t.Fatal(err)
		}
		b, err := r.Batch(rec)
		if err != nil {
			return
		}
		out, err := arrowio.NewBuilder([]physical.Field{field}, arrowio.Wide)
		if err != nil {
			t.Fatal(err)
		}
		_ = out.Append(b) // it reads every value
		out.Finish().Release()
	})
}
