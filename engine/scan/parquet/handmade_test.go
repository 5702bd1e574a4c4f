package parquet

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"reflect"
	"strings"
	"testing"

	pq "github.com/apache/arrow-go/v18/parquet"
	"github.com/pierrec/lz4/v4"

	"github.com/fletchdb/fletch/engine/exec"
	"github.com/fletchdb/fletch/engine/vector"
)

// pageBytes is a page with its header, for what no writer at hand writes.
func pageBytes(kind int, enc, levels encoding, values int, crc *uint32, body ...byte) []byte {
	var b []byte
	last := 0
	field := func(id int, v int64) {
		b = append(b, byte(id-last)<<4|5)
		b = binary.AppendUvarint(b, uint64(v<<1)^uint64(v>>63))
		last = id
	}
	field(1, int64(kind))
	field(2, int64(len(body)))
	field(3, int64(len(body)))
	if crc != nil {
		field(4, int64(int32(*crc)))
	}
	id := map[int]int{pageData: 5, pageIndex: 6, pageDictionary: 7}[kind]
	b = append(b, byte(id-last)<<4|thriftStruct)
	last = 0
	if kind != pageIndex {
		field(1, int64(values))
		field(2, int64(enc))
	}
	if kind == pageData {
		field(3, int64(levels))
		field(4, int64(encRLE))
	}
	return append(append(b, 0, 0), body...)
}

func le32(v ...uint32) (b []byte) {
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, x)
	}
	return b
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

func TestHandmadePages(t *testing.T) {
	required := func(typ physType, length, converted int32) schemaElement {
		return schemaElement{typ: typ, length: length, converted: converted}
	}
	optional := schemaElement{typ: typeInt32, converted: convNone, repetition: 1}
	ints := pageBytes(pageDictionary, encPlain, 0, 3, nil, le32(10, 20, 30)...)
	sum := crc32.ChecksumIEEE(le32(7))
	wrong := sum + 1
	for _, tc := range []struct {
		name  string
		elem  schemaElement
		chunk []byte
		want  []any
		fails string
		rows  int // if not those of want
	}{
		{"INT96", required(typeInt96, 0, convNone), pageBytes(pageData, encPlain, encRLE, 2, nil,
			join(le32(5001, 0, julianEpoch), le32(0, 0, julianEpoch-1))...), []any{int64(5), int64(-86400000000)}, "", 0},
		{"INT96 out of range", required(typeInt96, 0, convNone), pageBytes(pageData, encPlain, encRLE, 1, nil, le32(0, 0, 1<<31)...), nil, "does not fit", 0},
		{
			"INTERVAL", required(typeFixed, 12, convInterval), pageBytes(pageData, encPlain, encRLE, 1, nil, le32(1, 2, 3)...),
			[]any{vector.Interval{Months: 1, Days: 2, Micros: 3000}},
			"", 0,
		},
		{
			"levels of an old kind", optional, pageBytes(pageData, encPlain, encBitPacked, 10, nil, join([]byte{0b10110000, 0b01000000}, le32(1, 2, 3, 4))...),
			[]any{int64(1), nil, int64(2), int64(3), nil, nil, nil, nil, nil, int64(4)},
			"", 0,
		},
		{"levels that end too early", optional, pageBytes(pageData, encPlain, encRLE, 10, nil, join(le32(2), []byte{9 << 1, 1}, le32(1, 2, 3, 4, 5, 6, 7, 8, 9))...), nil, "cut short", 10},
		{"level 2", optional, pageBytes(pageData, encPlain, encRLE, 1, nil, join(le32(2), []byte{1 << 1, 2}, le32(1))...), nil, "level is too high", 0},
		{
			"codes wider than need be", required(typeInt32, 0, convNone), join(ints, pageBytes(pageData, encRLEDictionary, encRLE, 11, nil,
				12, 1<<1|1, 0x01, 0x20, 0x00, 0x02, 0x10, 0x00, 0, 0, 0, 0, 0, 0, 3<<1, 2, 0)),
			[]any{int64(20), int64(30), int64(30), int64(20), int64(10), int64(10), int64(10), int64(10), int64(30), int64(30), int64(30)},
			"", 0,
		},
		{"wide code out of range", required(typeInt32, 0, convNone), join(ints, pageBytes(pageData, encRLEDictionary, encRLE, 1, nil,
			12, 1<<1|1, 0x01, 0x01, 0x00, 0x02, 0x10, 0x00, 0, 0, 0, 0, 0, 0)), nil, "beyond the dictionary", 0},
		{"packed code out of range", required(typeInt32, 0, convNone), join(ints, pageBytes(pageData, encRLEDictionary, encRLE, 1, nil, 2, 1<<1|1, 0x03, 0)), nil, "beyond the dictionary", 0},
		{"repeated code out of range", required(typeInt32, 0, convNone), join(ints, pageBytes(pageData, encRLEDictionary, encRLE, 1, nil, 2, 1<<1, 3)), nil, "beyond the dictionary", 0},
		{"codes of no bits", required(typeInt32, 0, convNone), join(pageBytes(pageDictionary, encPlainDictionary, 0, 1, nil, le32(9)...),
			pageBytes(pageData, encPlainDictionary, encRLE, 3, nil, 0)), []any{int64(9), int64(9), int64(9)}, "", 0},
		{"codes of no dictionary's entries", required(typeInt32, 0, convNone), join(pageBytes(pageDictionary, encPlainDictionary, 0, 0, nil),
			pageBytes(pageData, encPlainDictionary, encRLE, 3, nil, 0)), nil, "cut short", 3},
		{"codes without a dictionary", required(typeInt32, 0, convNone), pageBytes(pageData, encRLEDictionary, encRLE, 1, nil, 1, 1<<1, 0), nil, "there is none", 0},
		{"two dictionaries", required(typeInt32, 0, convNone), join(ints, ints), nil, "not its first page", 0},
		{
			"last group cut short", required(typeInt32, 0, convNone), join(ints, pageBytes(pageData, encRLEDictionary, encRLE, 3, nil, 2, 1<<1|1, 0b100100)),
			[]any{int64(10), int64(20), int64(30)},
			"", 0,
		},
		{
			"an index page between", required(typeInt32, 0, convNone), join(pageBytes(pageIndex, 0, 0, 0, nil, 1, 2, 3), pageBytes(pageData, encPlain, encRLE, 1, nil, le32(7)...)),
			[]any{int64(7)},
			"", 0,
		},
		{"fixed DELTA_BYTE_ARRAY", required(typeFixed, 3, convNone), pageBytes(pageData, encDeltaByteArray, encRLE, 2, nil, join(
			[]byte{0x80, 1, 4, 2, 0, 4, 0, 0, 0, 0},                                                   // prefixes 0, 2
			[]byte{0x80, 1, 4, 2, 6, 3, 0, 0, 0, 0}, []byte("abcd"))...), []any{"abc", "abd"}, "", 0}, // suffixes 3, 1
		{"a checksum", required(typeInt32, 0, convNone), pageBytes(pageData, encPlain, encRLE, 1, &sum, le32(7)...), []any{int64(7)}, "", 0},
		{"a wrong checksum", required(typeInt32, 0, convNone), pageBytes(pageData, encPlain, encRLE, 1, &wrong, le32(7)...), nil, "checksum", 0},
		{"TINYINT out of range", required(typeInt32, 0, convInt8), pageBytes(pageData, encPlain, encRLE, 1, nil, le32(128)...), nil, "does not fit", 0},
		{
			"DECIMAL of too many digits",
			schemaElement{typ: typeInt32, converted: convDecimal, precision: 3, scale: 1},
			pageBytes(pageData, encPlain, encRLE, 1, nil, le32(1000)...), nil, "does not fit", 0,
		},
		{"VARCHAR that is not UTF-8", required(typeByteArray, 0, convUTF8), pageBytes(pageData, encPlain, encRLE, 1, nil, join(le32(2), []byte{'a', 0xff})...), nil, "UTF-8", 0},
		{"fewer rows", required(typeInt32, 0, convNone), nil, []any{int64(1)}, "have 0 rows of 1", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			typ, _ := leafType(tc.elem)
			for _, batch := range []int{1, 2, 3, 64} {
				got, err := decodeChunk(&Column{Type: typ, Nullable: tc.elem.repetition == 1, element: tc.elem}, tc.chunk, max(1, len(tc.want), tc.rows), batch)
				if tc.fails != "" {
					if err == nil || !strings.Contains(err.Error(), tc.fails) {
						t.Fatalf("%v, %v, want %q", got, err, tc.fails)
					}
					continue
				}
				if err != nil || !reflect.DeepEqual(got, tc.want) {
					t.Fatalf("batches of %d: got %v, %v, want %v", batch, got, err, tc.want)
				}
			}
		})
	}
}

func decodeChunk(def *Column, chunk []byte, rows, batch int) (cells []any, err error) {
	var z inflater
	defer z.Close()
	c := newColumn(def, &z, batch)
	if err := c.open(&chunkMeta{}, nil, chunk, 0, int64(rows)); err != nil {
		return nil, err
	}
	for row := 0; row < rows; row += batch {
		v, err := c.read(int64(row), min(batch, rows-row))
		if err != nil {
			return nil, err
		}
		for i := range v.Len {
			cells = append(cells, cell(v, i))
		}
	}
	return cells, nil
}

// TestWideCodes: a dictionary of more than 65,536 entries has codes of four bytes, one of more than 256 of two.
func TestWideCodes(t *testing.T) {
	for _, n := range []int{300, 70000} {
		rec := only(sample(n, nullPatterns[4].null), "i64", "text")
		data := write(t, rec, pq.WithDictionaryDefault(true), pq.WithDictionaryPageSizeLimit(16<<20),
			pq.WithDictionaryCostFallbackFor("i64", false), pq.WithDictionaryCostFallbackFor("text", false))
		f := openBytes(t, data)
		err := readAll(f.fs, f.scan, &exec.Env{}, func(b *vector.Batch) {
			if want := map[int]int{300: 2, 70000: 4}[n]; b.Cols[0].Form != vector.Dict || b.Cols[0].CodeWidth() != want {
				t.Fatalf("codes of %d bytes, want %d", b.Cols[0].CodeWidth(), want)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		compareAll(t, f.fs, "f", oracle(t, data), 100, 4096)
	}
}

func TestInflateChecksSizes(t *testing.T) {
	text := []byte(strings.Repeat("hello, hello! ", 100))
	block := make([]byte, lz4.CompressBlockBound(len(text)))
	n, err := lz4.CompressBlock(text, block, nil)
	if err != nil {
		t.Fatal(err)
	}
	block = block[:n]
	var sizes [8]byte
	binary.BigEndian.PutUint32(sizes[:], uint32(len(text)))
	binary.BigEndian.PutUint32(sizes[4:], uint32(n))
	for name, src := range map[string][]byte{"framed": join(sizes[:], block), "bare": block} {
		for _, d := range []int{-1, 0, 1} {
			t.Run(fmt.Sprint(name, d), func(t *testing.T) {
				dst := make([]byte, len(text)+d)
				err := new(inflater).inflate(dst, src, codecLZ4)
				if (err == nil) != (d == 0) || d == 0 && !bytes.Equal(dst, text) {
					t.Error(err)
				}
			})
		}
	}
	if err := new(inflater).inflate(make([]byte, 9), text, codecLZO); err == nil || !strings.Contains(err.Error(), "LZO") {
		t.Error(err)
	}
}
