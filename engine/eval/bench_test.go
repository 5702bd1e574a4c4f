package eval

import (
	"context"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
)

// lineitem is a batch shaped as TPC-H's: prices plain, everything of few values under 8-bit codes.
type lineitem struct {
	batch                                                                   vector.Batch
	price, discount, tax, quantity, shipdate, brand, container, size, ptype expr.Expr
}

func newLineitem(rows int) *lineitem {
	r := rand.New(rand.NewPCG(1, 1))
	money := sqltype.DecimalOf(15, 2)
	l := &lineitem{}
	l.batch.Len = rows
	add := func(v *vector.Vector) expr.Expr {
		l.batch.Cols = append(l.batch.Cols, v)
		return input(len(l.batch.Cols)-1, v.Type)
	}
	prices := make([]int64, rows)
	for i := range prices {
		prices[i] = 90000 + r.Int64N(10_000_000)
	}
	price := &vector.Vector{}
	vector.SetFlat(price, money, prices, nil)
	l.price = add(price)
	codes := func(n int) []uint8 {
		out := make([]uint8, rows)
		for i := range out {
			out[i] = uint8(r.IntN(n))
		}
		return out
	}
	decimals := func(n int, unit int64) expr.Expr {
		values := make([]int64, n)
		for i := range values {
			values[i] = int64(i) * unit
		}
		d, v := &vector.Vector{}, &vector.Vector{}
		vector.SetFlat(d, money, values, nil)
		vector.SetDict(v, d, vector.NewDictID(), codes(n), nil)
		return add(v)
	}
	l.discount, l.tax, l.quantity = decimals(11, 1), decimals(9, 1), decimals(51, 100)
	dates := make([]int32, 2526)
	for i := range dates {
		dates[i] = 8036 + int32(i)
	}
	dateCodes := make([]uint16, rows)
	for i := range dateCodes {
		dateCodes[i] = uint16(r.IntN(len(dates)))
	}
	d, v := &vector.Vector{}, &vector.Vector{}
	vector.SetFlat(d, of(sqltype.Date), dates, nil)
	vector.SetDict(v, d, vector.NewDictID(), dateCodes, nil)
	l.shipdate = add(v)
	texts := func(n int, format string) expr.Expr {
		values := make([]string, n)
		for i := range values {
			values[i] = fmt.Sprintf(format, i)
		}
		d, v := &vector.Vector{}, &vector.Vector{}
		vector.SetFlat(d, of(sqltype.Utf8), values, nil)
		vector.SetDict(v, d, vector.NewDictID(), codes(n), nil)
		return add(v)
	}
	l.brand, l.container = texts(25, "Brand#%d"), texts(40, "BOX %d")
	sizes := make([]int32, rows)
	types := make([]string, rows)
	for i := range sizes {
		sizes[i] = 1 + r.Int32N(50)
		types[i] = []string{"PROMO BRUSHED COPPER", "STANDARD POLISHED TIN", "ECONOMY ANODIZED STEEL", "SMALL PLATED BRASS", "MEDIUM BURNISHED NICKEL"}[r.IntN(5)]
	}
	size, ptype := &vector.Vector{}, &vector.Vector{}
	vector.SetFlat(size, of(sqltype.Int32), sizes, nil)
	vector.SetFlat(ptype, of(sqltype.Utf8), types, nil)
	l.size, l.ptype = add(size), add(ptype)
	return l
}

func must(e expr.Expr, err error) expr.Expr {
	if err != nil {
		panic(err)
	}
	return e
}

func op(name string, args ...expr.Expr) expr.Expr {
	return Fold(must(expr.NewCall(name, args, sqlerr.Pos{})))
}

func digits(s string) expr.Expr {
	v, err := expr.ParseNumber(s)
	return must(expr.NewLiteral(v, sqlerr.Pos{}), err)
}

func text(s string) expr.Expr { return expr.Unknown(s, sqlerr.Pos{}) }

func (l *lineitem) charge() expr.Expr {
	return op("*", op("*", l.price, op("-", digits("1"), l.discount)), op("+", digits("1"), l.tax))
}

func (l *lineitem) q6() expr.Expr {
	return expr.NewAnd(op(">=", l.shipdate, text("1994-01-01")), op("<", l.shipdate, text("1995-01-01")),
		op(">=", l.discount, digits("0.05")), op("<=", l.discount, digits("0.07")), op("<", l.quantity, digits("24")))
}

func (l *lineitem) q19() expr.Expr {
	arm := func(brand string, lo, hi, size string, boxes ...string) expr.Expr {
		var in []expr.Expr
		for _, b := range boxes {
			in = append(in, text(b))
		}
		return expr.NewAnd(op("=", l.brand, text(brand)), must(expr.NewIn(l.container, in, false, sqlerr.Pos{})),
			op(">=", l.quantity, digits(lo)), op("<=", l.quantity, digits(hi)), op(">=", l.size, digits("1")), op("<=", l.size, digits(size)))
	}
	return expr.NewOr(arm("Brand#12", "1", "11", "5", "BOX 1", "BOX 2", "BOX 3", "BOX 4"),
		arm("Brand#23", "10", "20", "10", "BOX 5", "BOX 6", "BOX 7", "BOX 8"),
		arm("Brand#3", "20", "30", "15", "BOX 9", "BOX 10", "BOX 11", "BOX 12"))
}

func (l *lineitem) promo() expr.Expr {
	revenue := op("*", l.price, op("-", digits("1"), l.discount))
	return must(expr.NewCase([]expr.When{{Cond: op("like", l.ptype, text("PROMO%")), Then: revenue}}, digits("0"), sqlerr.Pos{}))
}

// In the steady state a batch costs no allocation.
func TestNoAllocation(t *testing.T) {
	l := newLineitem(vector.DefaultBatch)
	for name, e := range map[string]expr.Expr{
		"charge": l.charge(), "q6": l.q6(), "q19": l.q19(), "promo": l.promo(), "like": op("like", l.ptype, text("%POLISHED%")),
		"lower": op("lower", l.ptype), "year": op("year", l.shipdate), "quotient": op("/", l.price, digits("3")),
	} {
		p, err := Compile(e)
		if err != nil {
			t.Fatal(err)
		}
		ev := p.NewEvaluator(context.Background(), l.batch.Len)
		if n := testing.AllocsPerRun(20, func() {
			if _, err := ev.Eval(&l.batch); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s allocates %v times per batch", name, n)
		}
	}
	f, err := NewFilter(context.Background(), l.q6(), l.batch.Len)
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(20, func() {
		b := l.batch
		if err := f.Apply(&b); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("a filter allocates %v times per batch", n)
	}
}

// cpuTime is what the process has used, which a busy machine does not change as it does the clock.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func BenchmarkEval(b *testing.B) {
	l := newLineitem(vector.DefaultBatch)
	for _, bc := range []struct {
		name string
		e    expr.Expr
	}{
		{"charge", l.charge()},
		{"promo", l.promo()},
		{"prefix", op("like", l.ptype, text("PROMO%"))},
		{"contains", op("like", l.ptype, text("%POLISHED%"))},
		{"year", op("year", l.shipdate)},
	} {
		b.Run(bc.name, func(b *testing.B) {
			p, err := Compile(bc.e)
			if err != nil {
				b.Fatal(err)
			}
			ev := p.NewEvaluator(context.Background(), l.batch.Len)
			start := cpuTime()
			for b.Loop() {
				if _, err := ev.Eval(&l.batch); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(cpuTime()-start)/float64(b.N*l.batch.Len), "cpu-ns/row")
		})
	}
}

func BenchmarkFilter(b *testing.B) {
	l := newLineitem(vector.DefaultBatch)
	for _, bc := range []struct {
		name string
		e    expr.Expr
	}{{"q6", l.q6()}, {"q19", l.q19()}} {
		b.Run(bc.name, func(b *testing.B) {
			f, err := NewFilter(context.Background(), bc.e, l.batch.Len)
			if err != nil {
				b.Fatal(err)
			}
			start := cpuTime()
			for b.Loop() {
				batch := l.batch
				if err := f.Apply(&batch); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(cpuTime()-start)/float64(b.N*l.batch.Len), "cpu-ns/row")
		})
	}
}
