package parquet

import (
	"context"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	pq "github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"

	"github.com/fletchdb/fletch/engine/exec"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/vector/int128"
)

// lineitem is TPC-H's lineitem at scale factor 0.1 in memory: as it is (zstd), and with snappy, which costs least.
func lineitem(b *testing.B, codec string) *physicalFile {
	paths := shared(b, "tpch-sf0.1")
	if paths == nil {
		b.SkipNow()
	}
	i := slices.IndexFunc(paths, func(p string) bool { return strings.HasSuffix(p, "lineitem.parquet") })
	data, err := os.ReadFile(paths[i])
	if err != nil {
		b.Fatal(err)
	}
	if codec == "snappy" {
		opts := []pq.WriterProperty{pq.WithCompression(compress.Codecs.Snappy), pq.WithMaxRowGroupLength(122880), pq.WithDictionaryDefault(true), pq.WithStoreDecimalAsInteger(true)}
		for _, plain := range []string{"l_orderkey", "l_extendedprice", "l_comment"} {
			opts = append(opts, pq.WithDictionaryFor(plain, false))
		}
		opts = append(opts, pq.WithStats(true))
		data = write(b, oracle(b, data), opts...)
	}
	return openBytes(b, data)
}

// BenchmarkScan reads columns of lineitem with one reader; codes stay codes.
func BenchmarkScan(b *testing.B) {
	q6 := func(f *physicalFile) expr.Expr {
		return and(
			f.cmp("l_shipdate", expr.Ge, num(8766)), f.cmp("l_shipdate", expr.Lt, num(9131)),
			f.cmp("l_discount", expr.Ge, wide(5)), f.cmp("l_discount", expr.Le, wide(7)), f.cmp("l_quantity", expr.Lt, wide(2400)),
		)
	}
	for _, codec := range []string{"snappy", "zstd"} {
		f := lineitem(b, codec)
		for _, tc := range []struct {
			name, columns string
			filter        func(*physicalFile) expr.Expr
		}{
			{"quantity", "l_quantity", nil},
			{"extprice", "l_extendedprice", nil},
			{"shipdate", "l_shipdate", nil},
			{"returnflag", "l_returnflag", nil},
			{"orderkey", "l_orderkey", nil},
			{"comment", "l_comment", nil},
			{"q1", "l_returnflag l_linestatus l_quantity l_extendedprice l_discount l_tax l_shipdate", nil},
			{"q6", "l_shipdate l_discount l_quantity l_extendedprice", nil},
			{"q6where", "l_shipdate l_discount l_quantity l_extendedprice", q6},
		} {
			b.Run(codec+"/"+tc.name, func(b *testing.B) {
				g := *f
				g.scan = &physical.Scan{Files: f.scan.Files}
				for _, name := range strings.Fields(tc.columns) {
					g.scan.Columns = append(g.scan.Columns, f.scan.Columns[f.col(name).Index])
				}
				if tc.filter != nil {
					g.scan.Filter = tc.filter(&g)
				}
				cache := NewCache(0)
				s, err := NewSource(context.Background(), g.fs, cache, g.scan, &exec.Env{})
				if err != nil {
					b.Fatal(err)
				}
				r, err := s.NewReader()
				if err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				before := processTime()
				for b.Loop() {
					s.(*source).next.Store(0)
					for {
						batch, err := r.Next(context.Background())
						if err != nil {
							b.Fatal(err)
						}
						if batch == nil {
							break
						}
					}
				}
				b.ReportMetric(float64(processTime()-before)/float64(b.N)/float64(f.Rows), "cpu-ns/row")
			})
		}
	}
}

func wide(v int64) expr.Value { return expr.Value{Wide: int128.FromInt64(v)} }

// processTime is the nanoseconds of processor time that this process has taken: what a busy machine changes least.
func processTime() int64 {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return r.Utime.Nano() + r.Stime.Nano()
}
