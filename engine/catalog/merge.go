package catalog

import (
	"cmp"
	"math"
	"path/filepath"

	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
)

// Merge is the table of that name whose rows are those of parts, at least one, each the table of one file. Columns must agree in
// name, order and type; the error names the file and the column. Statistics are put together, distinct counts estimated
// where the files say nothing.
func Merge(name string, parts []*File) (*Table, error) {
	first := parts[0]
	t := &Table{Name: name, Format: first.Format, Rows: first.Rows}
	t.Columns = append([]Column(nil), first.Columns...)
	t.Files = append(t.Files, first.Files...)
	for _, p := range parts[1:] {
		if err := agree(first, p); err != nil {
			return nil, err
		}
		for i := range t.Columns {
			c, d := &t.Columns[i], p.Columns[i]
			c.Nullable = c.Nullable || d.Nullable
			c.Stats = mergeStats(c.Stats, d.Stats, float64(t.Rows), float64(p.Rows))
		}
		t.Files = append(t.Files, p.Files...)
		if t.Rows < 0 || p.Rows < 0 {
			t.Rows = -1
		} else {
			t.Rows += p.Rows
		}
	}
	for i := range t.Columns {
		t.Columns[i].Stats.Distinct = distinct(t.Columns[i], t.Rows)
	}
	return t, nil
}

func agree(a, b *File) error {
	path := func(f *File) string { return filepath.Base(f.Files[0].Path) }
	refuse := func(format string, args ...any) error {
		return sqlerr.Newf(sqlerr.DatatypeMismatch, sqlerr.Pos{}, format, args...).
			WithHint("the files of a table must have the same columns; read them one by one, or name only those that agree")
	}
	for i, c := range a.Columns {
		if i >= len(b.Columns) {
			return refuse("file %q has no column %q, which %q has", path(b), c.Name, path(a))
		}
		d := b.Columns[i]
		if c.Name != d.Name {
			return refuse("column %d is %q in file %q but %q in %q", i+1, d.Name, path(b), c.Name, path(a))
		}
		if !c.Type.Equal(d.Type) {
			return refuse("column %q is %s in file %q but %s in %q", c.Name, d.Type, path(b), c.Type, path(a))
		}
	}
	if len(b.Columns) > len(a.Columns) {
		return refuse("file %q has a column %q, which %q has not", path(b), b.Columns[len(a.Columns)].Name, path(a))
	}
	if a.Format != b.Format {
		return refuse("files %q and %q are not of one format", path(a), path(b))
	}
	return nil
}

func mergeStats(a, b Stats, aRows, bRows float64) Stats {
	out := Stats{HasNulls: a.HasNulls && b.HasNulls, Nulls: a.Nulls + b.Nulls}
	if a.HasRange() && b.HasRange() {
		out.Min, out.Max = a.Min, a.Max
		if lessValue(b.Min, out.Min) {
			out.Min = b.Min
		}
		if lessValue(out.Max, b.Max) {
			out.Max = b.Max
		}
	}
	// Files of one table usually share a small domain and split a large one: a column with few values per row keeps the
	// larger count, others add up.
	if a.Distinct > 0 && b.Distinct > 0 {
		out.Distinct = max(a.Distinct, b.Distinct)
		if rows := min(aRows, bRows); rows > 0 && min(a.Distinct, b.Distinct) > rows/10 {
			out.Distinct = a.Distinct + b.Distinct
		}
	}
	if rows := aRows + bRows; rows > 0 {
		out.Width = (a.Width*max(aRows, 0) + b.Width*max(bRows, 0)) / rows
	}
	return out
}

// distinct guesses the number of different values: what the file says, cut to the width of the range for what counts in
// whole steps.
func distinct(c Column, rows int64) float64 {
	d := c.Stats.Distinct
	if n, ok := Span(c.Stats.Min, c.Stats.Max); ok {
		if d == 0 || n+1 < d {
			d = n + 1
		}
	}
	if c.Type.Kind == sqltype.Bool && (d == 0 || d > 2) {
		d = 2
	}
	if rows >= 0 {
		d = min(d, math.Max(float64(rows), 1))
	}
	return d
}

// DistinctByWidth guesses the number of different values of a column of that many rows from the bytes that it takes before
// compression: a column of few values is stored as codes, and its bits per row say how many codes there are.
func DistinctByWidth(rows, bytes int64) float64 {
	if rows <= 0 {
		return 0
	}
	const enough = 24 // bits of a code that would no longer be one
	bits := 8 * float64(bytes) / float64(rows)
	if bits >= enough {
		return float64(rows)
	}
	return math.Max(1, math.Min(math.Exp2(bits), float64(rows)))
}

// Span is how many steps lie between two values of a type that counts in whole steps: integers, dates, decimals in units of
// their scale. ok is false for other types and unknown values.
func Span(lo, hi expr.Value) (steps float64, ok bool) {
	a, aok := Number(lo)
	b, bok := Number(hi)
	if !aok || !bok {
		return 0, false
	}
	switch k := lo.Type.Kind; {
	case lo.Type.IsInteger(), k == sqltype.Date:
		return b - a, true
	case k == sqltype.Decimal:
		return (b - a) * math.Pow10(int(lo.Type.Scale)), true
	}
	return 0, false
}

// Number is v on a line: numbers as they are, dates in days, times and timestamps in microseconds. ok is false for NULL and
// for types without such an order, strings among them.
func Number(v expr.Value) (f float64, ok bool) {
	if v.Null {
		return 0, false
	}
	switch v.Type.Kind {
	case sqltype.Uint64:
		return float64(uint64(v.Int)), true
	case sqltype.Bool, sqltype.Int8, sqltype.Int16, sqltype.Int32, sqltype.Int64, sqltype.Uint8, sqltype.Uint16, sqltype.Uint32,
		sqltype.Date, sqltype.Time, sqltype.Timestamp, sqltype.TimestampTZ:
		return float64(v.Int), true
	case sqltype.Float32, sqltype.Float64:
		return v.Float, !math.IsNaN(v.Float)
	case sqltype.Decimal:
		return v.Wide.Float64(int(v.Type.Scale)), true
	}
	return 0, false
}

func lessValue(a, b expr.Value) bool {
	switch a.Type.Kind {
	case sqltype.Utf8, sqltype.Binary:
		return cmp.Less(a.Str, b.Str)
	case sqltype.Decimal:
		return a.Wide.Cmp(b.Wide) < 0
	case sqltype.Float32, sqltype.Float64:
		return cmp.Less(a.Float, b.Float)
	case sqltype.Uint64:
		return uint64(a.Int) < uint64(b.Int)
	}
	return a.Int < b.Int
}
