package parquet

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/apache/arrow-go/v18/arrow/float16"
	"github.com/apache/arrow-go/v18/arrow/memory"
	pq "github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// nulls says of a row whether it is NULL.
type nulls func(row int) bool

var nullPatterns = []struct {
	name string
	null nulls
}{
	{"required", nil},
	{"none", func(int) bool { return false }},
	{"all", func(int) bool { return true }},
	{"mixed", func(row int) bool { return row*7919%13 < 5 }},
	{"few", func(row int) bool { return row%97 == 5 }},
	{"runs", func(row int) bool { return row/150%2 == 1 }},
}

// sample is n rows of every type that Parquet has and some that only arrow-go can read.
func sample(n int, null nulls) arrow.RecordBatch {
	rnd := rand.New(rand.NewPCG(1, 2))
	var fields []arrow.Field
	var cols []arrow.Array
	add := func(name string, t arrow.DataType, put func(b array.Builder, i int)) {
		b := array.NewBuilder(memory.DefaultAllocator, t)
		for i := range n {
			if null != nil && null(i) {
				b.AppendNull()
			} else {
				put(b, i)
			}
		}
		fields = append(fields, arrow.Field{Name: name, Type: t, Nullable: null != nil})
		cols = append(cols, b.NewArray())
	}
	word := func(i int) string {
		return strings.Repeat(string(rune('a'+i%26)), i%5) + []string{"", "é", "日本", "x"}[i%4]
	}
	add("bool", arrow.FixedWidthTypes.Boolean, func(b array.Builder, i int) { b.(*array.BooleanBuilder).Append(i*i%7 < 3) })
	add("bool_runs", arrow.FixedWidthTypes.Boolean, func(b array.Builder, i int) { b.(*array.BooleanBuilder).Append(i/100%2 == 0) })
	add("i8", arrow.PrimitiveTypes.Int8, func(b array.Builder, i int) { b.(*array.Int8Builder).Append(int8(i)) })
	add("i16", arrow.PrimitiveTypes.Int16, func(b array.Builder, i int) { b.(*array.Int16Builder).Append(int16(i * 321)) })
	add("i32", arrow.PrimitiveTypes.Int32, func(b array.Builder, i int) { b.(*array.Int32Builder).Append(int32(i - n/2)) })
	add("i32_few", arrow.PrimitiveTypes.Int32, func(b array.Builder, i int) { b.(*array.Int32Builder).Append(int32(i%5) * 1000) })
	add("i64", arrow.PrimitiveTypes.Int64, func(b array.Builder, i int) { b.(*array.Int64Builder).Append(int64(rnd.Uint64())) })
	add("i64_one", arrow.PrimitiveTypes.Int64, func(b array.Builder, _ int) { b.(*array.Int64Builder).Append(42) })
	add("i64_300", arrow.PrimitiveTypes.Int64, func(b array.Builder, i int) { b.(*array.Int64Builder).Append(int64(i*i%300) - 150) })
	add("u8", arrow.PrimitiveTypes.Uint8, func(b array.Builder, i int) { b.(*array.Uint8Builder).Append(uint8(i)) })
	add("u16", arrow.PrimitiveTypes.Uint16, func(b array.Builder, i int) { b.(*array.Uint16Builder).Append(uint16(i * 77)) })
	add("u32", arrow.PrimitiveTypes.Uint32, func(b array.Builder, i int) { b.(*array.Uint32Builder).Append(math.MaxUint32 - uint32(i)) })
	add("u64", arrow.PrimitiveTypes.Uint64, func(b array.Builder, i int) { b.(*array.Uint64Builder).Append(math.MaxUint64 - uint64(i)) })
	add("f16", arrow.FixedWidthTypes.Float16, func(b array.Builder, i int) { b.(*array.Float16Builder).Append(float16.New(float32(i) - 700.5)) })
	add("f32", arrow.PrimitiveTypes.Float32, func(b array.Builder, i int) { b.(*array.Float32Builder).Append(float32(i) / 3) })
	add("f64", arrow.PrimitiveTypes.Float64, func(b array.Builder, i int) { b.(*array.Float64Builder).Append(rnd.NormFloat64()) })
	for _, p := range []int32{7, 15, 18, 25, 38} {
		t := &arrow.Decimal128Type{Precision: p, Scale: p / 3}
		add(fmt.Sprintf("d%d", p), t, func(b array.Builder, i int) {
			v := decimal128.FromI64(int64(i*i%999983) - 500000)
			if p > 20 {
				v = v.Mul(decimal128.FromI64(1_000_000_007 * 1_000_003))
			}
			b.(*array.Decimal128Builder).Append(v)
		})
	}
	add("text", arrow.BinaryTypes.String, func(b array.Builder, i int) { b.(*array.StringBuilder).Append(fmt.Sprint(word(i), i)) })
	add("text_few", arrow.BinaryTypes.String, func(b array.Builder, i int) { b.(*array.StringBuilder).Append(word(i % 3)) })
	add("ascii", arrow.BinaryTypes.String, func(b array.Builder, i int) { b.(*array.StringBuilder).Append(fmt.Sprint("row number ", i)) })
	add("bytes", arrow.BinaryTypes.Binary, func(b array.Builder, i int) {
		b.(*array.BinaryBuilder).Append([]byte{0xff, byte(i), byte(i >> 8)}[:i%4&3%4%3])
	})
	add("fixed", &arrow.FixedSizeBinaryType{ByteWidth: 5}, func(b array.Builder, i int) {
		b.(*array.FixedSizeBinaryBuilder).Append([]byte{1, byte(i), 0, byte(i >> 8), 255})
	})
	add("date", arrow.FixedWidthTypes.Date32, func(b array.Builder, i int) { b.(*array.Date32Builder).Append(arrow.Date32(i - 100)) })
	add("time_ms", arrow.FixedWidthTypes.Time32ms, func(b array.Builder, i int) { b.(*array.Time32Builder).Append(arrow.Time32(i * 1001)) })
	add("time_us", arrow.FixedWidthTypes.Time64us, func(b array.Builder, i int) { b.(*array.Time64Builder).Append(arrow.Time64(i * 1001)) })
	add("time_ns", arrow.FixedWidthTypes.Time64ns, func(b array.Builder, i int) { b.(*array.Time64Builder).Append(arrow.Time64(i * 100001)) })
	for _, u := range []arrow.TimeUnit{arrow.Millisecond, arrow.Microsecond, arrow.Nanosecond} {
		for _, zone := range []string{"", "UTC"} {
			add("ts"+u.String()+zone, &arrow.TimestampType{Unit: u, TimeZone: zone}, func(b array.Builder, i int) {
				b.(*array.TimestampBuilder).Append(arrow.Timestamp(int64(i-n/2) * 1234567891))
			})
		}
	}
	add("uuid", extensions.NewUUIDType(), func(b array.Builder, i int) {
		var u [16]byte
		u[0], u[7], u[8], u[15] = byte(i), 3, byte(i>>3), 9
		b.(*extensions.UUIDBuilder).AppendBytes(u)
	})
	add("list", arrow.ListOf(arrow.PrimitiveTypes.Int32), func(b array.Builder, i int) {
		l := b.(*array.ListBuilder)
		l.Append(true)
		for k := range i % 3 {
			l.ValueBuilder().(*array.Int32Builder).Append(int32(k))
		}
	})
	add("struct", arrow.StructOf(arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int32}), func(b array.Builder, i int) {
		s := b.(*array.StructBuilder)
		s.Append(true)
		s.FieldBuilder(0).(*array.Int32Builder).Append(int32(i))
	})
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), cols, int64(n))
}

// write makes a Parquet file of rec.
func write(t testing.TB, rec arrow.RecordBatch, opts ...pq.WriterProperty) []byte {
	t.Helper()
	var buf bytes.Buffer
	opts = append([]pq.WriterProperty{pq.WithVersion(pq.V2_LATEST), pq.WithCreatedBy("test")}, opts...)
	w, err := pqarrow.NewFileWriter(rec.Schema(), &buf, pq.NewWriterProperties(opts...), pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(rec); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// rare is the encodings that writers use only when they are told to.
func rare(rec arrow.RecordBatch) (opts []pq.WriterProperty) {
	opts = append(opts, pq.WithDictionaryDefault(false))
	for i, f := range rec.Schema().Fields() {
		enc := pq.Encodings.Plain
		switch f.Type.ID() {
		case arrow.BOOL:
			enc = pq.Encodings.RLE
		case arrow.FLOAT32, arrow.FLOAT64, arrow.FLOAT16, arrow.FIXED_SIZE_BINARY, arrow.DECIMAL128:
			enc = pq.Encodings.ByteStreamSplit
		case arrow.STRING:
			enc = []pq.Encoding{pq.Encodings.DeltaLengthByteArray, pq.Encodings.DeltaByteArray}[i%2]
		case arrow.BINARY:
			enc = pq.Encodings.DeltaByteArray
		case arrow.LIST, arrow.STRUCT, arrow.EXTENSION:
		default:
			enc = pq.Encodings.DeltaBinaryPacked
		}
		opts = append(opts, pq.WithEncodingFor(f.Name, enc))
	}
	return opts
}

func TestEveryKindOfFile(t *testing.T) {
	const rows = 3000
	codecs := []compress.Compression{
		compress.Codecs.Uncompressed, compress.Codecs.Snappy, compress.Codecs.Gzip, compress.Codecs.Zstd, compress.Codecs.Brotli, compress.Codecs.Lz4Raw,
	}
	n := 0
	for _, pattern := range nullPatterns {
		rec := sample(rows, pattern.null)
		for _, enc := range []struct {
			name string
			opts []pq.WriterProperty
		}{
			{"dictionary", []pq.WriterProperty{pq.WithDictionaryDefault(true)}},
			{"fallback", []pq.WriterProperty{pq.WithDictionaryDefault(true), pq.WithDictionaryPageSizeLimit(400)}},
			{"plain", []pq.WriterProperty{pq.WithDictionaryDefault(false)}},
			{"integers", []pq.WriterProperty{pq.WithDictionaryDefault(false), pq.WithStoreDecimalAsInteger(true)}},
			{"rare", rare(rec)},
		} {
			for v, version := range []pq.DataPageVersion{pq.DataPageV1, pq.DataPageV2} {
				codec := codecs[n%len(codecs)]
				pageSize, groupRows := []int64{300, 1 << 20}[n%2], []int64{rows, 1000}[n/2%2]
				n++
				if enc.name == "rare" {
					pageSize = 1 << 20 // arrow-go's writer fails on small pages of deltas
				}
				t.Run(fmt.Sprintf("%s/%s/v%d/%v", pattern.name, enc.name, v+1, codec), func(t *testing.T) {
					opts := append([]pq.WriterProperty{
						pq.WithDataPageVersion(version), pq.WithCompression(codec), pq.WithDataPageSize(pageSize), pq.WithMaxRowGroupLength(groupRows), pq.WithBatchSize(64),
					}, enc.opts...)
					data := write(t, rec, opts...)
					compareAll(t, memFS{"f": data}, "f", oracle(t, data), 1, 7, 4096)
				})
			}
		}
	}
}
