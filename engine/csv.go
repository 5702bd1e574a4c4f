package engine

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/fletchdb/fletch/engine/ast"
	"github.com/fletchdb/fletch/engine/bind"
	"github.com/fletchdb/fletch/engine/budget"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/scan/csv"
	"github.com/fletchdb/fletch/engine/scan/files"
	"github.com/fletchdb/fletch/engine/scan/memory"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
	csvwrite "github.com/fletchdb/fletch/engine/write/csv"
)

// csvOption takes an option of CSV by any of its names; ok is false where it is none.
func csvOption(o *csvwrite.Options, opt ast.Option) (ok bool, err error) {
	value := "true"
	if l, isLiteral := opt.Value.(*ast.Literal); isLiteral {
		value = strings.ToLower(l.Value)
	} else if opt.Value != nil {
		return false, sqlerr.Newf(sqlerr.InvalidParameter, opt.At(), "option %q needs a constant", opt.Name)
	}
	switch opt.Name {
	case "header", "has_header", "format.has_header":
		switch value {
		case "true", "on", "1":
			o.NoHeader = false
		case "false", "off", "0":
			o.NoHeader = true
		default:
			return true, sqlerr.Newf(sqlerr.InvalidParameter, opt.At(), "option %q is true or false", opt.Name)
		}
	case "delimiter", "delim", "sep", "format.delimiter":
		if len(value) != 1 || value == `"` || value == "\n" || value == "\r" || value[0] >= 0x80 {
			return true, sqlerr.Newf(sqlerr.InvalidParameter, opt.At(), "option %q is one character", opt.Name)
		}
		o.Delimiter = value[0]
	default:
		return false, nil
	}
	return true, nil
}

// csvRows is the most rows of a batch that is read.
const csvRows = 4096

// createCSV makes a table of the session of files of CSV, which are read now: a file that changes later does not change it.
func (s planner) createCSV(ctx context.Context, st *ast.CreateExternalTable) (*Plan, error) {
	name := st.Name.Last().Name
	var o csvwrite.Options
	for _, opt := range st.Options {
		if ok, err := csvOption(&o, opt); err != nil {
			return nil, err
		} else if !ok {
			return nil, sqlerr.Newf(sqlerr.InvalidParameter, opt.At(), "CSV has no option %q", opt.Name).WithHint("it has header and delimiter")
		}
	}
	found, err := files.Find(ctx, s.engine.scanner.fs, st.Location.Value, ".csv")
	if err != nil {
		return nil, sqlerr.At(err, st.Location.At())
	}
	var given []physical.Field
	for _, c := range st.Columns {
		f := physical.Field{Name: c.Name.Name, Type: sqltype.Of(sqltype.Utf8), Nullable: true}
		if c.Type != nil {
			if f.Type, err = bind.Type(c.Type); err != nil {
				return nil, err
			}
		}
		given = append(given, f)
	}
	var size int64
	for _, f := range found {
		size += f.Size
	}
	if limit := s.engine.cfg.SessionMemory; limit > 0 && size > limit {
		return nil, sqlerr.Newf(sqlerr.MemoryLimit, st.Location.At(), "the files are %s, and the session's tables may take %s", budget.Bytes(size), budget.Bytes(limit)).
			WithHint("make Parquet files of them: fletch sql -c \"COPY … TO 'x.parquet'\"")
	}
	texts := &csvTexts{fields: given, named: len(given) > 0}
	for _, f := range found {
		if err := texts.read(ctx, s.engine.scanner.fs, f, o); err != nil {
			return nil, sqlerr.At(err, st.Location.At())
		}
	}
	fields := given
	if !texts.named {
		fields = texts.guess()
	}
	probe := planner{Session: s.engine.NewSession(), functions: s.functions}
	asText := make([]physical.Field, len(fields))
	for i, f := range fields {
		asText[i] = physical.Field{Name: f.Name, Type: sqltype.Of(sqltype.Utf8), Nullable: true}
	}
	probe.tables["csv"] = &sessionTable{rows: memory.New(asText).With(texts.batches...)}
	plan, err := probe.plan(ctx, "SELECT * FROM csv")
	if err != nil {
		return nil, err
	}
	root, err := assign(plan.Root, fields, st.At())
	if err != nil {
		return nil, err
	}
	batches, err := probe.collect(ctx, plan, root)
	if err != nil {
		return nil, sqlerr.At(err, st.Location.At())
	}
	t := &sessionTable{rows: memory.New(fields).With(batches...)}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.room(t.rows.Bytes(), st.At()); err != nil {
		return nil, err
	}
	delete(s.views, name)
	delete(s.external, name)
	s.serial++
	t.version = s.serial
	s.tables[name] = t
	return nothing(), nil
}

// csvTexts is the fields of files, as texts.
type csvTexts struct {
	fields  []physical.Field // as the statement or the first header has them
	named   bool             // the statement has named them
	batches []arrow.RecordBatch
}

func (c *csvTexts) read(ctx context.Context, fs files.FS, info files.Info, o csvwrite.Options) error {
	f, err := fs.Open(ctx, info.Path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	delim := o.Delimiter
	if delim == 0 {
		delim = ','
	}
	failed := func(line int, err error) error {
		return sqlerr.Newf(sqlerr.CodeOf(err), sqlerr.Pos{}, "%q, line %d: %s", info.Path, line, err)
	}
	r := csv.NewReader(io.NewSectionReader(f, 0, info.Size), delim)
	var builders []*array.StringBuilder
	rows, header := 0, !o.NoHeader
	flush := func() {
		if rows == 0 {
			return
		}
		columns := make([]arrow.Array, len(builders))
		schema := make([]arrow.Field, len(builders))
		for i, b := range builders {
			columns[i] = b.NewArray()
			schema[i] = arrow.Field{Name: c.fields[i].Name, Type: arrow.BinaryTypes.String, Nullable: true}
		}
		c.batches = append(c.batches, array.NewRecordBatch(arrow.NewSchema(schema, nil), columns, int64(rows)))
		rows = 0
	}
	for {
		line := r.Line()
		record, err := r.Next()
		if errors.Is(err, io.EOF) {
			flush()
			return nil
		}
		if err != nil {
			return sqlerr.Newf(sqlerr.CodeOf(err), sqlerr.Pos{}, "%q, %s", info.Path, err)
		}
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if len(c.fields) == 0 {
			c.name(record, header)
		}
		if len(record) != len(c.fields) {
			return failed(line, sqlerr.Newf(sqlerr.FileCorrupt, sqlerr.Pos{}, "%d fields, and the table has %d columns", len(record), len(c.fields)))
		}
		if header {
			header = false
			continue
		}
		if builders == nil {
			for range c.fields {
				builders = append(builders, array.NewStringBuilder(arrowmemory.DefaultAllocator))
			}
		}
		for i, v := range record {
			if v.Absent {
				builders[i].AppendNull()
			} else {
				builders[i].Append(string(v.Text))
			}
		}
		if rows++; rows == csvRows {
			flush()
		}
	}
}

// name takes the columns' names from the header, or makes some.
func (c *csvTexts) name(first []csv.Field, header bool) {
	for i, v := range first {
		name := string(v.Text)
		if !header || name == "" {
			name = "column" + strconv.Itoa(i+1)
		}
		c.fields = append(c.fields, physical.Field{Name: name, Type: sqltype.Of(sqltype.Utf8), Nullable: true})
	}
}

// guess gives each column the first of some types that all its texts are of.
func (c *csvTexts) guess() []physical.Field {
	out := make([]physical.Field, len(c.fields))
	for i, f := range c.fields {
		out[i] = f
		for _, k := range []sqltype.Kind{sqltype.Bool, sqltype.Int64, sqltype.Float64, sqltype.Date, sqltype.Timestamp} {
			if c.all(i, sqltype.Of(k)) {
				out[i].Type = sqltype.Of(k)
				break
			}
		}
	}
	return out
}

// all tells whether a column has texts, and all are of type t. Numbers are no booleans.
func (c *csvTexts) all(column int, t sqltype.Type) bool {
	some := false
	for _, b := range c.batches {
		texts := b.Column(column).(*array.String)
		for i := range texts.Len() {
			if texts.IsNull(i) {
				continue
			}
			some = true
			text := texts.Value(i)
			if t.Kind == sqltype.Bool && !strings.EqualFold(text, "true") && !strings.EqualFold(text, "false") {
				return false
			}
			if _, err := expr.ParseValue(t, text); err != nil {
				return false
			}
		}
	}
	return some
}
