package hash_test

import (
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/fletchdb/fletch/engine/hash"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
	"github.com/fletchdb/fletch/engine/vector/int128"
)

var update = flag.Bool("update", false, "write the golden vectors anew: a protocol bump")

type column struct {
	name string
	v    *vector.Vector
}

func flat[T vector.Element](kind sqltype.Kind, values ...T) *vector.Vector {
	v := &vector.Vector{}
	t := sqltype.Of(kind)
	if kind == sqltype.Decimal {
		t = sqltype.DecimalOf(38, 2)
	}
	vector.SetFlat(v, t, values, nil)
	return v
}

func columns() []column {
	bools := &vector.Vector{}
	vector.SetBits(bools, sqltype.Of(sqltype.Bool), []uint64{0b10}, 2, nil)
	nulls := &vector.Vector{}
	vector.SetNull(nulls, sqltype.Of(sqltype.Int64), 2)
	return []column{
		{"null", nulls},
		{"bool", bools},
		{"int8", flat[int8](sqltype.Int8, -1, 1)},
		{"int16", flat[int16](sqltype.Int16, -1, 1)},
		{"int32", flat[int32](sqltype.Int32, -1, 1)},
		{"int64", flat[int64](sqltype.Int64, -1, 1, math.MinInt64, math.MaxInt64)},
		{"uint8", flat[uint8](sqltype.Uint8, 0, 255)},
		{"uint64", flat[uint64](sqltype.Uint64, 0, math.MaxUint64)},
		{"float32", flat[float32](sqltype.Float32, 0, float32(math.Copysign(0, -1)), 1.5, float32(math.NaN()))},
		{"float64", flat[float64](sqltype.Float64, 0, math.Copysign(0, -1), 1.5, math.NaN(), math.Inf(1))},
		{"decimal", flat(sqltype.Decimal, int128.FromInt64(-1), int128.FromInt64(12345), int128.Pow10(30))},
		{"date", flat[int32](sqltype.Date, 0, 10957)},
		{"utf8", flat(sqltype.Utf8, "", "a", "a longer string that does not fit into thirty-two bytes")},
		{"interval", flat(sqltype.Interval, vector.Interval{Months: 1}, vector.Interval{Days: 30}, vector.Interval{Micros: 30 * 86400 * 1e6})},
		{"uuid", flat(sqltype.UUID, int128.Int128{Hi: 1, Lo: 2})},
	}
}

func rows(v *vector.Vector) []uint64 {
	return hash.NewHasher([]int{0}).Rows(&vector.Batch{Cols: []*vector.Vector{v}, Len: v.Len})
}

// TestGolden holds HashSpec v1 to its golden vectors: a worker with another hash would send rows to the wrong partition.
func TestGolden(t *testing.T) {
	var b strings.Builder
	for _, c := range columns() {
		for i, h := range rows(c.v) {
			fmt.Fprintf(&b, "%s %d %016x\n", c.name, i, h)
		}
	}
	two := hash.NewHasher([]int{1, 0}).Rows(&vector.Batch{Cols: []*vector.Vector{flat[int64](sqltype.Int64, 7), flat(sqltype.Utf8, "x")}, Len: 1})
	fmt.Fprintf(&b, "utf8,int64 0 %016x\n", two[0])
	const golden = "testdata/hashspec-v1.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("HashSpec v1 changed: that is a protocol bump\n%s", b.String())
	}
}

// Equal values hash equal, however they lie in memory.
func TestForms(t *testing.T) {
	for _, c := range columns() {
		if c.v.Form != vector.Flat || c.v.Phys == vector.PhysBool {
			continue
		}
		codes := make([]uint16, c.v.Len)
		for i := range codes {
			codes[i] = uint16(c.v.Len - 1 - i)
		}
		dict := &vector.Vector{}
		vector.SetDict(dict, c.v, 1, codes, nil)
		want, got := append([]uint64(nil), rows(c.v)...), rows(dict)
		for i := range got {
			if got[i] != want[codes[i]] {
				t.Errorf("%s: code %d hashes to %x, its value to %x", c.name, codes[i], got[i], want[codes[i]])
			}
		}
	}
	narrow, wide := flat[int64](sqltype.Decimal, -7), flat(sqltype.Decimal, int128.FromInt64(-7))
	if rows(narrow)[0] != rows(wide)[0] {
		t.Error("a decimal hashes unlike the same decimal in 128 bits")
	}
	f := rows(columns()[9].v)
	if f[0] != f[1] {
		t.Error("-0 hashes unlike 0")
	}
	if i := rows(columns()[13].v); i[0] != i[1] || i[1] != i[2] {
		t.Error("one month, 30 days and 720 hours are equal and hash differently")
	}
}

func TestSplit(t *testing.T) {
	v := flat[int64](sqltype.Int64, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)
	v.Valid = []uint64{0xfffe}
	s := hash.NewSplitter([]int{0}, 3)
	seen := map[int32]int{}
	for _, sel := range s.Split(&vector.Batch{Cols: []*vector.Vector{v}, Len: 16, Sel: []int32{0, 1, 2, 3, 5, 8, 13, 15}}) {
		last := int32(-1)
		for _, i := range sel {
			if i <= last {
				t.Errorf("rows %v are not ascending", sel)
			}
			last = i
			seen[i]++
		}
	}
	if len(seen) != 8 || seen[4] != 0 {
		t.Errorf("rows dealt: %v", seen)
	}
}
