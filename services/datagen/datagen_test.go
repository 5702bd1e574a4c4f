package datagen_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"go.uber.org/goleak"

	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/write/parquet"
	"github.com/fletchdb/fletch/services/datagen"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// What dbgen makes at scale factor 0.01: the number of rows, the first and the last one, and the digest of all values.
var reference = map[string]struct {
	rows        int64
	first, last string
	digest      string
}{
	"region": {
		5,
		"0|AFRICA|lar deposits. blithely final packages cajole. regular waters are final requests. regular accounts are according to ",
		"4|MIDDLE EAST|uickly special accounts cajole carefully blithely close requests. carefully final asymptotes haggle furiousl",
		"6022658d673924389b54dcb70fa8c3d6",
	},
	"nation": {
		25,
		"0|ALGERIA|0| haggle. carefully final deposits detect slyly agai",
		"24|UNITED STATES|1|y final packages. slow foxes cajole quickly. quickly silent platelets breach ironic accounts. unusual pinto be",
		"66f96949939fa8fdf1c4ffed1e5f6c28",
	},
	"supplier": {
		100,
		"1|Supplier#000000001| N kD4on9OM Ipw3,gf0JBoQDd7tgrzrddZ|17|27-918-335-1736|5755.94|each slyly above the careful",
		"100|Supplier#000000100|rIlN li8zvW22l2slbcx ECP4fL|21|31-351-324-5062|3191.70|es. regular instructions sleep carefully. " +
			"slyly ironic packages across the foxes boost ",
		"9dc1002ee774699a092ed83ba278caf4",
	},
	"customer": {
		1500,
		"1|Customer#000000001|IVhzIApeRb ot,c,E|15|25-989-741-2988|711.56|BUILDING|to the even, regular platelets. regular, " +
			"ironic epitaphs nag e",
		"1500|Customer#000001500|4zaoUzuWUTNFiNPbmu43|5|15-200-872-4790|6910.79|MACHINERY|s boost blithely above the fluffily " +
			"ironic dolphins! ironic accounts",
		"6b690cce995cb715861ebf2c77aa02c6",
	},
	"part": {
		2000,
		"1|goldenrod lavender spring chocolate lace|Manufacturer#1|Brand#13|PROMO BURNISHED COPPER|7|JUMBO PKG|901.00|ly. slyly ironi",
		"2000|wheat blush green puff tan|Manufacturer#1|Brand#12|PROMO ANODIZED STEEL|46|SM BAG|902.00|ajole carefully",
		"896e14465325110dd9cf05a16972028a",
	},
	"partsupp": {
		8000,
		"1|2|3325|771.64|, even theodolites. regular, final theodolites eat after the carefully pending foxes. furiously " +
			"regular deposits sleep slyly. carefully bold realms above the ironic dependencies haggle careful",
		"2000|33|8414|798.67|yly ironic dependencies. blithely final theodolites sleep. furiously ironic accounts wake " +
			"carefully across the express, regular requests. carefully regul",
		"5947b5ebab042b49148f82c1324ad122",
	},
	"orders": {
		15000,
		"1|370|O|172799.49|1996-01-02|5-LOW|Clerk#000000951|0|nstructions sleep furiously among ",
		"60000|1426|P|299401.61|1995-04-21|2-HIGH|Clerk#000000194|0|usual frets use alongside of the furiou",
		"07cc8b362fda6d0b503c4d6c5d228817",
	},
	"lineitem": {
		60175,
		"1|1552|93|1|17.00|24710.35|0.04|0.02|N|O|1996-03-13|1996-02-12|1996-03-22|DELIVER IN PERSON|TRUCK|egular courts above the",
		"60000|836|3|6|45.00|78157.35|0.04|0.08|N|O|1995-07-23|1995-07-17|1995-07-24|DELIVER IN PERSON|TRUCK|ke final packages. " +
			"carefully final fo",
		"7f53688873d230ee8a31c825401c721c",
	},
}

// generate makes tables in a folder of the test.
func generate(t *testing.T, opts datagen.TPCHOptions) string {
	t.Helper()
	dir := t.TempDir()
	if err := datagen.TPCH(t.Context(), dir, opts); err != nil {
		t.Fatal(err)
	}
	return dir
}

// open reads the file of a table batch by batch.
func open(t *testing.T, dir, table string) pqarrow.RecordReader {
	t.Helper()
	f, err := file.OpenParquetFile(filepath.Join(dir, table+".parquet"), false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	r, err := pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{BatchSize: 8192}, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	records, err := r.GetRecordReader(t.Context(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(records.Release)
	return records
}

// next is the next batch, nil at the end.
func next(t *testing.T, r pqarrow.RecordReader) arrow.RecordBatch {
	t.Helper()
	rec, err := r.Read()
	if err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return rec
}

// row is a row as dbgen writes it, but for the last bar.
func row(rec arrow.RecordBatch, i int) string {
	values := make([]string, rec.NumCols())
	for c, a := range rec.Columns() {
		values[c] = a.ValueStr(i)
		if d, ok := a.(*array.Decimal128); ok { // ValueStr leaves zeros out
			values[c] = d.Value(i).ToString(2)
		}
	}
	return strings.Join(values, "|")
}

func TestRowsOfDbgen(t *testing.T) {
	dir := generate(t, datagen.TPCHOptions{Scale: 0.01})
	for _, table := range datagen.TPCHTables() {
		t.Run(table, func(t *testing.T) {
			want := reference[table]
			hash := sha256.New()
			var rows int64
			var first, last string
			records := open(t, dir, table)
			for rec := next(t, records); rec != nil; rec = next(t, records) {
				for i := range int(rec.NumRows()) {
					last = row(rec, i)
					if rows == 0 {
						first = last
					}
					hash.Write([]byte(last + "|\n"))
					rows++
				}
			}
			if rows != want.rows || first != want.first || last != want.last {
				t.Errorf("%d rows from\n%s\nto\n%s\nwant %d from\n%s\nto\n%s", rows, first, last, want.rows, want.first, want.last)
			}
			if digest := hex.EncodeToString(hash.Sum(nil)[:16]); digest != want.digest {
				t.Errorf("digest %s, want %s", digest, want.digest)
			}
		})
	}
}

// Where FLETCH_TESTDATA names a folder with dbgen's own files, every value of every row is compared with theirs.
func TestEqualToReferenceFiles(t *testing.T) {
	data := os.Getenv("FLETCH_TESTDATA")
	for name, scale := range map[string]float64{"tpch-sf0.01": 0.01, "tpch-sf0.1": 0.1} {
		if data == "" {
			t.Logf("FLETCH_TESTDATA is not set: %s is not compared", name)
			continue
		}
		dir := generate(t, datagen.TPCHOptions{Scale: scale, Compression: parquet.Zstd})
		for _, table := range datagen.TPCHTables() {
			t.Run(name+"/"+table, func(t *testing.T) {
				got, want := open(t, dir, table), open(t, filepath.Join(data, name), table)
				for at := int64(0); ; {
					g, w := next(t, got), next(t, want)
					if g == nil || w == nil {
						if g != nil || w != nil {
							t.Fatalf("after row %d one of the files ends", at)
						}
						return
					}
					for c := range int(w.NumCols()) {
						if g.ColumnName(c) != w.ColumnName(c) || !array.Equal(g.Column(c), w.Column(c)) {
							t.Fatalf("column %s differs in rows %d to %d", w.ColumnName(c), at, at+w.NumRows())
						}
					}
					at += w.NumRows()
				}
			})
		}
	}
}

func TestSameBytesWithAnyThreads(t *testing.T) {
	one := generate(t, datagen.TPCHOptions{Scale: 0.02, Threads: 1})
	four := generate(t, datagen.TPCHOptions{Scale: 0.02, Threads: 4})
	for _, table := range datagen.TPCHTables() {
		a, errA := os.ReadFile(filepath.Join(one, table+".parquet"))
		b, errB := os.ReadFile(filepath.Join(four, table+".parquet"))
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			t.Errorf("%s differs: %v, %v", table, errA, errB)
		}
	}
}

// The smallest scale still has a row of everything.
func TestTinyScale(t *testing.T) {
	dir := generate(t, datagen.TPCHOptions{Scale: 1e-9})
	for _, table := range datagen.TPCHTables() {
		if rec := next(t, open(t, dir, table)); rec == nil || rec.NumRows() == 0 {
			t.Errorf("%s is empty", table)
		}
	}
}

func TestTablesAndProgress(t *testing.T) {
	var told []string
	dir := generate(t, datagen.TPCHOptions{
		Scale: 0.001, Tables: []string{"lineitem", "nation"},
		Progress: func(table string, done, total int64) {
			if done == 0 {
				told = append(told, table+" starts")
			}
			if done == total {
				told = append(told, table+" ends")
			}
		},
	})
	told = slices.Compact(told)
	if want := []string{"nation starts", "nation ends", "lineitem starts", "lineitem ends"}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
	if files, want := list(t, dir), []string{"lineitem.parquet", "nation.parquet"}; !slices.Equal(files, want) {
		t.Errorf("made %q, want %q", files, want)
	}
}

func list(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestCancelLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	var canceled time.Time
	err := datagen.TPCH(ctx, dir, datagen.TPCHOptions{
		Scale: 100, Tables: []string{"region", "lineitem"},
		Progress: func(table string, done, _ int64) {
			if table == "lineitem" && done > 500_000 && canceled.IsZero() {
				canceled = time.Now()
				cancel()
			}
		},
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the context's", err)
	}
	if took := time.Since(canceled); took > time.Second {
		t.Errorf("went on for %v", took)
	}
	if files := list(t, dir); len(files) > 0 {
		t.Errorf("left %q", files)
	}
}

func TestRefusals(t *testing.T) {
	taken := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(taken, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		dir  string
		opts datagen.TPCHOptions
		code sqlerr.Code
	}{
		{"negative", t.TempDir(), datagen.TPCHOptions{Scale: -1}, sqlerr.InvalidParameter},
		{"not a number", t.TempDir(), datagen.TPCHOptions{Scale: math.NaN()}, sqlerr.InvalidParameter},
		{"beyond dbgen's streams", t.TempDir(), datagen.TPCHOptions{Scale: 30_000}, sqlerr.InvalidParameter},
		{"no such table", t.TempDir(), datagen.TPCHOptions{Tables: []string{"line_item"}}, sqlerr.UnknownTable},
		{"no such compression", t.TempDir(), datagen.TPCHOptions{Scale: 0.001, Compression: 99}, sqlerr.InvalidParameter},
		{"not a folder", taken, datagen.TPCHOptions{Scale: 0.001}, sqlerr.IO},
	} {
		err := datagen.TPCH(t.Context(), tc.dir, tc.opts)
		if e := (*sqlerr.Error)(nil); !errors.As(err, &e) || e.Code != tc.code {
			t.Errorf("%s: error %v, want code %s", tc.name, err, tc.code)
		}
	}
}
