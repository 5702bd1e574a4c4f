package engine

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/fletchdb/fletch/engine/arrowio"
	"github.com/fletchdb/fletch/engine/ast"
	"github.com/fletchdb/fletch/engine/bind"
	"github.com/fletchdb/fletch/engine/catalog"
	"github.com/fletchdb/fletch/engine/exec"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
	csvwrite "github.com/fletchdb/fletch/engine/write/csv"
	"github.com/fletchdb/fletch/engine/write/parquet"
)

// createExternal makes a name for files.
func (s planner) createExternal(ctx context.Context, st *ast.CreateExternalTable) (*Plan, error) {
	name := st.Name.Last().Name
	s.mu.Lock()
	taken := s.exists(name)
	s.mu.Unlock()
	switch {
	case taken && st.IfNotExists:
		return nothing(), nil
	case taken && !st.OrReplace:
		return nil, duplicate("EXTERNAL TABLE", name, st.Name.At())
	case st.Location == nil:
		return nil, sqlerr.New(sqlerr.Syntax, st.At(), "CREATE EXTERNAL TABLE needs a LOCATION").WithHint("add LOCATION 'path'")
	case st.StoredAs == "csv", st.StoredAs == "" && strings.HasSuffix(st.Location.Value, ".csv"):
		return s.createCSV(ctx, st)
	}
	t, err := s.engine.catalog.Path(ctx, st.Location.Value)
	if sqlerr.CodeOf(err) == sqlerr.FileNotFound {
		return nil, sqlerr.At(err, st.Location.At())
	}
	if st.StoredAs != "" && st.StoredAs != "parquet" {
		return nil, sqlerr.Newf(sqlerr.Unsupported, st.At(), "files stored as %s cannot be read yet", strings.ToUpper(st.StoredAs)).WithHint("Parquet and CSV can")
	}
	if err != nil {
		return nil, sqlerr.At(err, st.Location.At())
	}
	for _, c := range st.Columns {
		if t.Column(c.Name.Name) < 0 {
			return nil, sqlerr.Newf(sqlerr.UnknownColumn, c.At(), "the files of %q have no column %q", name, c.Name.Name).
				WithHint("Parquet files say their columns themselves: leave the list out")
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.tables, name)
	delete(s.views, name)
	s.external[name] = st.Location.Value
	return nothing(), nil
}

// ofFiles is the table of an external name.
func (c *snapshot) ofFiles(ctx context.Context, name, path string) (*catalog.Table, error) {
	t, err := c.base.Path(ctx, path)
	if err != nil {
		return nil, err
	}
	named := *t
	named.Name = name
	return &named, nil
}

// A setting is what SET can change.
type setting struct {
	name, fallback, doc string
	check               func(value string) (string, error)
}

var (
	timeout   = &setting{"statement_timeout", "0", "time that a statement may take: milliseconds, or with a unit; 0 is no limit", checkTimeout}
	zone      = &setting{"timezone", "UTC", "zone in which TIMESTAMP WITH TIME ZONE is shown", checkZone}
	quotients = &setting{"fletch.division_by_zero", "error", "what dividing by zero gives: error, null, or infinity where DOUBLE PRECISION has it", checkQuotients}
	version   = &setting{"fletch.worker_version", "", "version of the workers that statements of this session run on; empty is the server's policy", checkVersion}
	settings  = []*setting{quotients, version, timeout, zone}

	orders = &setting{"fletch.join_order_seed", "0", "other join orders than the one that is expected to cost least, for judging it; 0 is that one", checkSeed} // not for users: SHOW ALL does not list it
)

func checkSeed(v string) (string, error) {
	if _, err := strconv.ParseUint(v, 10, 64); err != nil {
		return "", sqlerr.Newf(sqlerr.InvalidParameter, sqlerr.Pos{}, "invalid value for parameter \"fletch.join_order_seed\": %.40q", v).WithHint("write a number")
	}
	return v, nil
}

// orderSeed is what SET fletch.join_order_seed says.
func (s *Session) orderSeed() uint64 {
	n, _ := strconv.ParseUint(s.setting(orders), 10, 64) // checked when it was set
	return n
}

var zeroDivisions = map[string]bind.ZeroDivision{"error": bind.ZeroFails, "null": bind.ZeroNull, "infinity": bind.ZeroInfinity}

func checkQuotients(v string) (string, error) {
	v = strings.ToLower(v)
	if _, ok := zeroDivisions[v]; ok {
		return v, nil
	}
	return "", sqlerr.Newf(sqlerr.InvalidParameter, sqlerr.Pos{}, "invalid value for parameter \"fletch.division_by_zero\": %.40q", v).WithHint("write 'error', 'null' or 'infinity'")
}

func checkTimeout(v string) (string, error) {
	if _, err := parseTimeout(v); err != nil {
		return "", err
	}
	return v, nil
}

func checkVersion(v string) (string, error) {
	if len(v) > 128 || strings.ContainsFunc(v, unicode.IsControl) {
		return "", sqlerr.New(sqlerr.InvalidParameter, sqlerr.Pos{}, "a version has at most 128 bytes and no control characters")
	}
	return v, nil
}

func parseTimeout(v string) (time.Duration, error) {
	if ms, err := strconv.ParseInt(v, 10, 64); err == nil && ms >= 0 && ms < 1<<40 {
		return time.Duration(ms) * time.Millisecond, nil
	}
	if d, err := time.ParseDuration(strings.ReplaceAll(v, " ", "")); err == nil && d >= 0 {
		return d, nil
	}
	return 0, sqlerr.Newf(sqlerr.InvalidParameter, sqlerr.Pos{}, "invalid value for parameter \"statement_timeout\": %.40q", v).WithHint("write 30s, 500ms or a number of milliseconds")
}

func checkZone(v string) (string, error) {
	switch strings.ToLower(v) {
	case "utc", "gmt", "etc/utc", "z", "0", "+00:00", "+00":
		return "UTC", nil
	}
	return "", sqlerr.Newf(sqlerr.Unsupported, sqlerr.Pos{}, "time zone %.40q cannot be set: zones are shown in UTC", v).WithHint("use AT TIME ZONE in the statement")
}

func findSetting(name string, pos sqlerr.Pos) (*setting, error) {
	var names []string
	if name == orders.name {
		return orders, nil
	}
	for _, f := range settings {
		if f.name == name {
			return f, nil
		}
		names = append(names, f.name)
	}
	e := sqlerr.Newf(sqlerr.UnknownSetting, pos, "unrecognized configuration parameter %q", name)
	if near := catalog.Near(name, names); near != "" {
		return nil, e.WithHint("did you mean %q?", near)
	}
	return nil, e.WithHint("SHOW ALL lists what there is")
}

func settingName(n ast.ObjectName) string {
	parts := make([]string, len(n.Parts))
	for i, p := range n.Parts {
		parts[i] = p.Name
	}
	name := strings.ToLower(strings.Join(parts, "."))
	if name == "time zone" {
		return "timezone"
	}
	return name
}

func (s *Session) set(st *ast.Set) (*Plan, error) {
	f, err := findSetting(settingName(st.Name), st.Name.At())
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(st.Values) == 0 {
		delete(s.settings, f.name)
		return nothing(), nil
	}
	l, ok := st.Values[0].(*ast.Literal)
	if !ok || len(st.Values) > 1 {
		return nil, sqlerr.Newf(sqlerr.InvalidParameter, st.Values[0].At(), "SET %s takes one constant", f.name)
	}
	v, err := f.check(l.Value)
	if err != nil {
		return nil, sqlerr.At(err, l.At())
	}
	s.settings[f.name] = v
	return nothing(), nil
}

func (s *Session) reset(st *ast.Reset) (*Plan, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st.Name == nil {
		clear(s.settings)
		return nothing(), nil
	}
	f, err := findSetting(settingName(*st.Name), st.Name.At())
	if err != nil {
		return nil, err
	}
	delete(s.settings, f.name)
	return nothing(), nil
}

func (s *Session) setting(f *setting) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v, ok := s.settings[f.name]; ok {
		return v
	}
	return f.fallback
}

// Timeout is what SET statement_timeout says; 0 is no limit.
func (s *Session) Timeout() time.Duration {
	d, err := parseTimeout(s.setting(timeout))
	if err != nil {
		return 0
	}
	return d
}

// WorkerVersion is what SET fletch.worker_version says; "" is nothing.
func (s *Session) WorkerVersion() string { return s.setting(version) }

func texts(columns []string, rows [][]string) *Plan {
	n := &physical.Values{}
	for _, c := range columns {
		n.Fields = append(n.Fields, physical.Field{Name: c, Type: sqltype.Of(sqltype.Utf8)})
	}
	for _, row := range rows {
		var values []expr.Value
		for _, v := range row {
			values = append(values, expr.StringValue(v))
		}
		n.Rows = append(n.Rows, values)
	}
	return constant(n)
}

func (s planner) show(ctx context.Context, st *ast.Show) (*Plan, error) {
	if st.Like != nil || st.Where != nil {
		return nil, sqlerr.New(sqlerr.Unsupported, st.At(), "SHOW … LIKE and WHERE are not supported").WithHint("leave the condition out")
	}
	switch st.Kind {
	case ast.ShowTables:
		return s.showTables(ctx)
	case ast.ShowColumns:
		if st.Name != nil {
			return s.describe(ctx, &ast.Describe{Span: st.Span, Table: st.Name})
		}
	case ast.ShowAll:
		var rows [][]string
		for _, f := range settings {
			rows = append(rows, []string{f.name, s.setting(f), f.doc})
		}
		return texts([]string{"name", "setting", "description"}, rows), nil
	case ast.ShowSetting:
		f, err := findSetting(settingName(*st.Name), st.Name.At())
		if err != nil {
			return nil, err
		}
		return texts([]string{f.name}, [][]string{{s.setting(f)}}), nil
	case ast.ShowFunctions:
		var rows [][]string
		for _, f := range expr.Functions() {
			rows = append(rows, []string{f.Name, strings.Join(f.Aliases, ", "), "scalar", f.Doc, f.Source})
		}
		for _, f := range expr.AggregateFunctions() {
			rows = append(rows, []string{f.Name, strings.Join(f.Aliases, ", "), "aggregate", f.Doc, f.Source})
		}
		for _, f := range expr.WindowFunctions() {
			rows = append(rows, []string{f.Name, "", "window", f.Doc, f.Source})
		}
		for _, f := range s.functions.All() {
			kind := "scalar"
			if f.IsAggregate() {
				kind = "aggregate"
			}
			rows = append(rows, []string{f.Name, "", kind, cmp.Or(f.Doc, f.String()), "user"})
		}
		return texts([]string{"name", "aliases", "kind", "description", "source"}, rows), nil
	}
	return nil, sqlerr.Newf(sqlerr.Unsupported, st.At(), "SHOW %s is not supported", st.Kind).WithHint("SHOW TABLES, COLUMNS FROM t, FUNCTIONS, ALL and a setting's name are")
}

func (s *Session) prepare(st *ast.Prepare) (*Plan, error) {
	q, ok := st.Statement.(*ast.QueryStatement)
	if !ok {
		return nil, sqlerr.New(sqlerr.Unsupported, st.Statement.At(), "only queries can be prepared")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.prepared[st.Name.Name] != nil {
		return nil, sqlerr.Newf(sqlerr.DuplicateObject, st.Name.At(), "prepared statement %q already exists", st.Name.Name).WithHint("DEALLOCATE %s forgets it", st.Name.Name)
	}
	s.prepared[st.Name.Name] = q.Query
	return nothing(), nil
}

func (s planner) execute(ctx context.Context, st *ast.Execute) (*Plan, error) {
	s.mu.Lock()
	q := s.prepared[st.Name.Name]
	s.mu.Unlock()
	if q == nil {
		return nil, sqlerr.Newf(sqlerr.UnknownTable, st.Name.At(), "prepared statement %q does not exist", st.Name.Name)
	}
	var params []expr.Value
	for _, a := range st.Args {
		v, err := s.constantOf(ctx, a.Value)
		if err != nil {
			return nil, err
		}
		params = append(params, v)
	}
	return s.queryWith(ctx, q, params, nil)
}

// constantOf computes an expression that reads nothing.
func (s planner) constantOf(ctx context.Context, e ast.Expr) (expr.Value, error) {
	plan, err := s.query(ctx, selectOf(e), nil)
	if err != nil {
		return expr.Value{}, err
	}
	values := constants(plan.Root)
	if len(values) != 1 {
		return expr.Value{}, sqlerr.New(sqlerr.InvalidParameter, e.At(), "a parameter must be a constant")
	}
	return values[0], nil
}

// constants is the one row that a plan gives, if it holds just that.
func constants(n physical.Node) []expr.Value {
	switch n := n.(type) {
	case *physical.Values:
		if len(n.Rows) == 1 {
			return n.Rows[0]
		}
	case *physical.Project:
		var out []expr.Value
		for _, e := range n.Exprs {
			l, ok := e.(*expr.Literal)
			if !ok {
				return nil
			}
			out = append(out, l.Value)
		}
		return out
	}
	return nil
}

func (s *Session) deallocate(st *ast.Deallocate) (*Plan, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st.Name == nil {
		clear(s.prepared)
		return nothing(), nil
	}
	if s.prepared[st.Name.Name] == nil {
		return nil, sqlerr.Newf(sqlerr.UnknownTable, st.Name.At(), "prepared statement %q does not exist", st.Name.Name)
	}
	delete(s.prepared, st.Name.Name)
	return nothing(), nil
}

// copyTo writes a query's rows to a file of Parquet or CSV, which appears once it is whole.
func (s planner) copyTo(ctx context.Context, st *ast.Copy) (*Plan, error) {
	if s.engine.roots != nil {
		return nil, sqlerr.New(sqlerr.Unsupported, st.At(), "COPY writes files of an embedded engine only")
	}
	q := st.Query
	if q == nil {
		q = &ast.Query{Span: st.Span, Body: &ast.TableQuery{Span: st.Table.Span, Name: *st.Table}}
	}
	format := strings.ToLower(strings.TrimPrefix(filepath.Ext(st.To.Value), "."))
	if st.StoredAs != "" {
		format = st.StoredAs
	}
	var o parquet.Options
	var text csvwrite.Options
	for _, opt := range st.Options {
		l, _ := opt.Value.(*ast.Literal)
		if ok, err := csvOption(&text, opt); err != nil {
			return nil, err
		} else if ok {
			if format != "csv" {
				return nil, sqlerr.Newf(sqlerr.InvalidParameter, opt.At(), "option %q is for CSV", opt.Name).WithHint("write FORMAT csv before it")
			}
			continue
		}
		switch {
		case opt.Name != "format" && opt.Name != "compression":
			return nil, sqlerr.Newf(sqlerr.InvalidParameter, opt.At(), "COPY has no option %q", opt.Name).WithHint("it has format, and compression of Parquet, header and delimiter of CSV")
		case l == nil:
			return nil, sqlerr.Newf(sqlerr.InvalidParameter, opt.At(), "option %q needs a constant", opt.Name)
		case opt.Name == "format":
			format = strings.ToLower(l.Value)
		case opt.Name == "compression":
			c, err := parquet.ParseCompression(strings.ToLower(l.Value))
			if err != nil {
				return nil, sqlerr.New(sqlerr.InvalidParameter, l.At(), err.Error())
			}
			o.Compression = c
		}
	}
	if format != "parquet" && format != "csv" {
		return nil, sqlerr.Newf(sqlerr.Unsupported, st.At(), "COPY writes Parquet and CSV, not %q", format).WithHint("add (FORMAT parquet), or use fletch sql --format %s", format)
	}
	plan, err := s.query(ctx, q, nil)
	if err != nil {
		return nil, err
	}
	if err := plan.here(); err != nil {
		return nil, err
	}
	n, err := s.write(ctx, plan, st.To.Value, func(out io.Writer, schema *arrow.Schema) (rowWriter, error) {
		if format == "csv" {
			return csvwrite.NewWriter(out, schema, text)
		}
		return parquet.NewWriter(out, schema, o)
	})
	if err != nil {
		return nil, sqlerr.At(err, st.To.At())
	}
	return counted(n), nil
}

// A rowWriter writes a file's rows.
type rowWriter interface {
	Write(rec arrow.RecordBatch) error
	Rows() int64
	Close() error
}

// write writes a plan's rows to a file, which appears once it is whole.
func (s planner) write(ctx context.Context, plan *Plan, path string, open func(out io.Writer, schema *arrow.Schema) (rowWriter, error)) (rows int64, err error) {
	failed := func(err error) error { return sqlerr.Newf(sqlerr.IO, sqlerr.Pos{}, "cannot write %q: %w", path, err) }
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.partial")
	if err != nil {
		return 0, failed(err)
	}
	defer func() { _ = os.Remove(file.Name()) }() // gone already where all went well
	defer func() { _ = file.Close() }()
	schema, err := arrowio.SchemaOf(plan.Fields, arrowio.Wide)
	if err != nil {
		return 0, err
	}
	w, err := open(file, schema)
	if err != nil {
		return 0, err
	}
	res, err := exec.RunToArrow(ctx, plan.Root, s.engine.env(plan), exec.ResultConfig{Form: arrowio.Wide})
	if err != nil {
		return 0, err
	}
	defer func() { _ = res.Close() }()
	for {
		rec, err := res.Next(ctx)
		if err != nil {
			return 0, err
		}
		if rec == nil {
			break
		}
		err = w.Write(rec)
		rec.Release()
		if err != nil {
			return 0, failed(err)
		}
	}
	if err := errors.Join(w.Close(), file.Chmod(0o644), file.Sync(), file.Close()); err != nil {
		return 0, failed(err)
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return 0, failed(err)
	}
	return w.Rows(), nil
}
