package hash_test

import (
	"flag"
	"fmt"
	"math"
	"math/bits"
	"os"
	"strings"
	"testing"

	"github.com/fletchdb/fletch/engine/hash"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
	"github.com/fletchdb/fletch/engine/vector/int128"
)

var update = flag.Bool("update", false, "write testdata/v1.txt anew: a protocol bump")

func of[T vector.Element](t sqltype.Type, values ...T) *vector.Vector {
	v := &vector.Vector{}
	vector.SetFlat(v, t, values, nil)
	return v
}

func bools(values ...uint64) *vector.Vector {
	v := &vector.Vector{}
	vector.SetBits(v, sqltype.Of(sqltype.Bool), values, 2, nil)
	return v
}

func null(t sqltype.Type, n int) *vector.Vector {
	v := &vector.Vector{}
	vector.SetNull(v, t, n)
	return v
}

// golden is columns of every type and the name of each.
func golden() (names []string, cols []*vector.Vector) {
	add := func(name string, v *vector.Vector) { names, cols = append(names, name), append(cols, v) }
	k := sqltype.Of
	add("boolean false true", bools(2))
	add("tinyint -128 0 127", of[int8](k(sqltype.Int8), -128, 0, 127))
	add("smallint -32768 -1", of[int16](k(sqltype.Int16), -32768, -1))
	add("integer 1 -2147483648", of[int32](k(sqltype.Int32), 1, math.MinInt32))
	add("bigint 0 1 -1 max min", of[int64](k(sqltype.Int64), 0, 1, -1, math.MaxInt64, math.MinInt64))
	add("utinyint 255", of[uint8](k(sqltype.Uint8), 255))
	add("usmallint 65535", of[uint16](k(sqltype.Uint16), 65535))
	add("uinteger 4294967295", of[uint32](k(sqltype.Uint32), math.MaxUint32))
	add("ubigint max", of[uint64](k(sqltype.Uint64), math.MaxUint64))
	add("real 0 -0 1.5 nan", of(k(sqltype.Float32), 0, float32(math.Copysign(0, -1)), 1.5, float32(math.NaN())))
	add("double 0 -0 1.5 inf nan nan", of(k(sqltype.Float64), 0, math.Copysign(0, -1), 1.5, math.Inf(1), math.NaN(), math.Float64frombits(0xfff8000000000123)))
	add("decimal(15,2) 1234.56 -0.01", of[int64](sqltype.DecimalOf(15, 2), 123456, -1))
	add("decimal(38,2) 1234.56, 2^64, -2^64-1", of(sqltype.DecimalOf(38, 2), int128.FromInt64(123456), int128.Int128{Hi: 1}, int128.Int128{Hi: -2, Lo: math.MaxUint64}))
	add("varchar empty a abcdefgh abcdefghi", of(k(sqltype.Utf8), "", "a", "abcdefgh", "abcdefghi"))
	add("bytea 00 0000", of(k(sqltype.Binary), "\x00", "\x00\x00"))
	add("date 1970-01-01 1995-03-15", of[int32](k(sqltype.Date), 0, 9204))
	add("timestamp 1us", of[int64](k(sqltype.Timestamp), 1))
	add("interval 1 month, 30 days, 1us", of(k(sqltype.Interval), vector.Interval{Months: 1}, vector.Interval{Days: 30}, vector.Interval{Micros: 1}))
	add("uuid 1", of(k(sqltype.UUID), int128.Int128{Lo: 1}))
	add("null", null(k(sqltype.Utf8), 1))
	return names, cols
}

func TestGoldenVectors(t *testing.T) {
	names, cols := golden()
	var out strings.Builder
	var h hash.Hasher
	for i, v := range cols {
		fmt.Fprintf(&out, "%s:", names[i])
		for _, x := range h.Rows([]*vector.Vector{v}, nil, v.Len) {
			fmt.Fprintf(&out, " %016x/%d/%d", x, hash.Partition(x, 3), hash.Partition(x, 7))
		}
		out.WriteString("\n")
	}
	two := []*vector.Vector{of[int64](sqltype.Of(sqltype.Int64), 1, 2), of(sqltype.Of(sqltype.Utf8), "x", "y")}
	fmt.Fprintf(&out, "(bigint, varchar) (1, x) (2, y): %016x\n", h.Rows(two, nil, 2))
	if *update {
		if err := os.WriteFile("testdata/v1.txt", []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/v1.txt")
	if err != nil {
		t.Fatal(err)
	}
	if out.String() != string(want) {
		t.Errorf("hashes differ from HashSpec v1; got\n%s", out.String())
	}
}

// specMix and specText are the functions that the comment of Spec writes down.
func specMix(h uint64) uint64 {
	h = (h ^ h>>32) * 0x9e3779b97f4a7c15
	h = (h ^ h>>32) * 0x243f6a8885a308d3
	return h ^ h>>32
}

func specText(s string) uint64 {
	const a, b = 0x9e3779b97f4a7c15, 0x243f6a8885a308d3
	h := uint64(len(s)) * a
	for len(s) > 0 {
		var w uint64
		for i := range min(8, len(s)) {
			w |= uint64(s[i]) << (8 * i)
		}
		s = s[min(8, len(s)):]
		hi, lo := bits.Mul64(h^w^b, a)
		h = hi ^ lo
	}
	return specMix(h)
}

func TestSpecIsWhatItSays(t *testing.T) {
	var h hash.Hasher
	const seed = 0x666c657463683031
	ints := of[int64](sqltype.Of(sqltype.Int64), 0, 1, -7, math.MaxInt64)
	for i, got := range h.Rows([]*vector.Vector{ints}, nil, ints.Len) {
		if want := specMix(seed ^ uint64(vector.Values[int64](ints)[i])); got != want {
			t.Errorf("integer %d: %x, want %x", i, got, want)
		}
	}
	texts := of(sqltype.Of(sqltype.Utf8), "", "a", "12345678", "123456789abcdef", strings.Repeat("long", 20))
	for i, got := range h.Rows([]*vector.Vector{texts}, nil, texts.Len) {
		if want := specMix(seed ^ specText(vector.Values[string](texts)[i])); got != want {
			t.Errorf("text %d: %x, want %x", i, got, want)
		}
	}
}

func TestFormsAgree(t *testing.T) {
	var h hash.Hasher
	one := func(v *vector.Vector, row int32) uint64 { return h.Rows([]*vector.Vector{v}, []int32{row}, 1)[0] }
	names, cols := golden()
	for i, v := range cols[:len(cols)-1] {
		dict := &vector.Vector{}
		codes := make([]uint8, v.Len)
		for r := range codes {
			codes[r] = uint8(r)
		}
		vector.SetDict(dict, v, vector.NewDictID(), codes, nil)
		for r := range v.Len {
			if one(v, int32(r)) != one(dict, int32(r)) {
				t.Errorf("%s: row %d differs in a dictionary", names[i], r)
			}
		}
		dict.Valid = []uint64{0}
		if got, want := one(dict, 0), one(null(v.Type, 1), 0); got != want {
			t.Errorf("%s: NULL in a dictionary is %x, want %x", names[i], got, want)
		}
	}
	narrow, wide := of[int64](sqltype.DecimalOf(38, 0), -5), of(sqltype.DecimalOf(38, 0), int128.FromInt64(-5))
	if one(narrow, 0) != one(wide, 0) {
		t.Error("a decimal's hash depends on its form in memory")
	}
}

func TestSplitDealsEveryRowOnce(t *testing.T) {
	vals := make([]int64, 1000)
	for i := range vals {
		vals[i] = int64(i) * 17
	}
	sel := make([]int32, 0, 500)
	for i := int32(0); i < 1000; i += 2 {
		sel = append(sel, i)
	}
	b := &vector.Batch{Cols: []*vector.Vector{of(sqltype.Of(sqltype.Int64), vals...)}, Len: 1000, Sel: sel}
	h := hash.NewSplitter([]int{0}, 4)
	seen := map[int32]int{}
	for p, rows := range h.Split(b) {
		if len(rows) < 80 || len(rows) > 180 {
			t.Errorf("partition %d has %d rows of 500", p, len(rows))
		}
		for i, r := range rows {
			seen[r]++
			if i > 0 && rows[i-1] >= r {
				t.Error("rows are out of order")
			}
		}
	}
	for _, r := range sel {
		if seen[r] != 1 {
			t.Errorf("row %d is in %d partitions", r, seen[r])
		}
	}
	if len(seen) != len(sel) {
		t.Errorf("%d rows, want %d", len(seen), len(sel))
	}
}
