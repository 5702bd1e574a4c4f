package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fletchdb/fletch/engine/ast"
	"github.com/fletchdb/fletch/engine/bind"
	"github.com/fletchdb/fletch/engine/budget"
	"github.com/fletchdb/fletch/engine/exec"
	"github.com/fletchdb/fletch/engine/explain"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/function"
	"github.com/fletchdb/fletch/engine/logical"
	"github.com/fletchdb/fletch/engine/lower"
	"github.com/fletchdb/fletch/engine/optimize"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/scan/memory"
	"github.com/fletchdb/fletch/engine/share"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
)

// A Plan is a statement that is ready to run, here or spread over workers. It is immutable.
type Plan struct {
	Root   physical.Node    // what runs
	Fields []physical.Field // columns of the result; of EXPLAIN ANALYZE they are not Root's

	analyze      bool
	json         bool
	undetermined bool                     // see Determined
	functions    []*function.Signature    // that it calls besides the built-in ones
	memory       map[string]*memory.Table // tables of this process that Root scans, by the path in the scan
}

// Analyze tells that the plan's rows are not the result, but what running it counted.
func (p *Plan) Analyze() bool { return p.analyze }

// Local tells that the plan is this process's own to run: it reads no file, and calls nothing that others have. A table in this
// process's memory that every turn of a recursion reads keeps it here, too.
func (p *Plan) Local() bool {
	switch {
	case p.Foreign() != nil:
		return false
	case len(p.memory) > 0:
		return !reads(p.Root, func(s *physical.Scan) bool { return s.Format != physical.Memory }) || repeats(p.Root)
	}
	return !p.analyze && !reads(p.Root, func(*physical.Scan) bool { return true })
}

// reads tells whether a scan below n is such a one.
func reads(n physical.Node, such func(*physical.Scan) bool) bool {
	if s, ok := n.(*physical.Scan); ok {
		return such(s)
	}
	return slices.ContainsFunc(n.Children(), func(k physical.Node) bool { return reads(k, such) })
}

// repeats tells whether a recursion below n reads a table in memory anew with every turn.
func repeats(n physical.Node) bool {
	if r, ok := n.(*physical.Recursive); ok && reads(r.Step, func(s *physical.Scan) bool { return s.Format == physical.Memory }) {
		return true
	}
	return slices.ContainsFunc(n.Children(), repeats)
}

// Functions are what the plan calls besides built-in functions.
func (p *Plan) Functions() []*function.Signature { return p.functions }

// Foreign is a function that the plan calls and this process does not have; nil where there is none.
func (p *Plan) Foreign() *function.Signature {
	for _, f := range p.functions {
		if !f.Runs() {
			return f
		}
	}
	return nil
}

// here refuses a plan that this process cannot run, in a statement that can run nowhere else.
func (p *Plan) here() error {
	f := p.Foreign()
	if f == nil {
		return nil
	}
	return sqlerr.Newf(sqlerr.Unsupported, sqlerr.Pos{}, "function %s runs on workers only, and this statement's rows are made here", f.Name).
		WithHint("call it in a query")
}

// Plan reads and plans one statement of an engine without a session: what it makes, such as a table, is gone with it. Errors
// are *sqlerr.Error with a position in the statement.
func (e *Engine) Plan(ctx context.Context, statement string) (*Plan, error) {
	return e.NewSession().Plan(ctx, statement)
}

// query plans a query.
func (s planner) query(ctx context.Context, q *ast.Query, trace func(rule string, root logical.Node)) (*Plan, error) {
	return s.queryWith(ctx, q, nil, trace)
}

// queryWith plans a query with the values of its parameters.
func (s planner) queryWith(ctx context.Context, q *ast.Query, params []expr.Value, trace func(rule string, root logical.Node)) (*Plan, error) {
	tables := s.snapshot()
	bound, err := bind.Query(ctx, s.withViews(q), tables, bind.Config{
		Now: time.Now().UTC(), Params: params, Functions: s.functions, Zero: zeroDivisions[s.setting(quotients)],
	})
	if err != nil {
		return nil, err
	}
	best, err := optimize.Plan(ctx, bound, optimize.Config{Trace: trace, OrderSeed: s.orderSeed()})
	if err != nil {
		return nil, err
	}
	root, err := lower.Plan(best)
	if err != nil {
		return nil, err
	}
	root = share.Plan(root)
	p := &Plan{Root: root, Fields: root.Schema(), memory: tables.used, functions: bound.Functions, undetermined: undetermined(bound.Root)}
	if f := p.Foreign(); f != nil && repeats(p.Root) {
		return nil, sqlerr.Newf(sqlerr.Unsupported, sqlerr.Pos{}, "function %s runs on workers only, and a recursion reads a table of the session, which is not there", f.Name).
			WithHint("write the table to a file with COPY, and query that")
	}
	return p, nil
}

func (s planner) explain(ctx context.Context, st *ast.Explain) (*Plan, error) {
	q, ok := st.Statement.(*ast.QueryStatement)
	if !ok {
		return nil, sqlerr.New(sqlerr.Unsupported, st.Statement.At(), "EXPLAIN explains queries only")
	}
	switch st.Format {
	case "", "text", "tree", "json":
	default:
		return nil, sqlerr.Newf(sqlerr.InvalidParameter, st.At(), "EXPLAIN has no format %q", st.Format).WithHint("it has text and json")
	}
	var steps strings.Builder
	var trace func(string, logical.Node)
	if st.Verbose {
		trace = func(rule string, root logical.Node) {
			if rule == "" {
				rule = "as bound"
			}
			fmt.Fprintf(&steps, "-- %s\n%s\n", rule, explain.Logical(root, nil))
		}
	}
	p, err := s.query(ctx, q.Query, trace)
	if err != nil {
		return nil, err
	}
	p.json = st.Format == "json"
	if st.Analyze {
		p.analyze = true
		p.Fields = planFields
		return p, nil
	}
	text, err := p.render(nil)
	if err != nil {
		return nil, err
	}
	return constant(p.Text(steps.String() + text)), nil
}

// Lines is a plan of the same form as p's result whose rows are the lines of a text.
func (p *Plan) Lines(text string) *Plan { return constant(p.Text(text)) }

func constant(root physical.Node) *Plan { return &Plan{Root: root, Fields: root.Schema()} }

var planFields = []physical.Field{{Name: "plan", Type: sqltype.Of(sqltype.Utf8)}}

// Text is a plan whose rows are the lines of a text, or the whole of a JSON document.
func (p *Plan) Text(text string) physical.Node {
	n := &physical.Values{Fields: planFields}
	rows := []string{text}
	if !p.json {
		rows = strings.Split(strings.TrimRight(text, "\n"), "\n")
	}
	for _, r := range rows {
		n.Rows = append(n.Rows, []expr.Value{expr.StringValue(r)})
	}
	return n
}

func (p *Plan) render(run func(physical.Node) (explain.Counts, bool)) (string, error) {
	if p.json {
		return explain.JSON(p.Root, run)
	}
	return explain.Physical(p.Root, run), nil
}

// Analyzed is the text of EXPLAIN ANALYZE after a run in this process.
func (p *Plan) Analyzed(m *exec.Metrics, elapsed time.Duration, peak int64) string {
	text, err := p.render(func(n physical.Node) (explain.Counts, bool) {
		c := m.Of(n)
		return explain.Counts{Rows: c.Rows.Load(), Bytes: c.Bytes.Load(), Time: c.Elapsed(), Memory: c.Memory.Load()}, true
	})
	if err != nil || p.json {
		return text
	}
	return text + fmt.Sprintf("Total: %s, memory %s at the peak\n", elapsed.Round(10*time.Microsecond), budget.Bytes(peak))
}

func (s planner) describe(ctx context.Context, st *ast.Describe) (*Plan, error) {
	var columns []physical.Field
	switch {
	case st.Query != nil:
		p, err := s.query(ctx, st.Query, nil)
		if err != nil {
			return nil, err
		}
		columns = p.Fields
	case st.File != nil:
		t, err := s.snapshot().Path(ctx, st.File.Value)
		if err != nil {
			return nil, sqlerr.At(err, st.File.At())
		}
		for _, c := range t.Columns {
			columns = append(columns, physical.Field{Name: c.Name, Type: c.Type, Nullable: c.Nullable})
		}
	default:
		tables, name := s.snapshot(), st.Table.Last().Name
		if len(st.Table.Parts) == 2 && st.Table.Parts[0].Name+"." == informationSchema {
			name = informationSchema + name
		}
		if view, ok := tables.views[name]; ok {
			columns = view
			break
		}
		t, err := tables.Table(ctx, name)
		if err != nil {
			return nil, sqlerr.At(err, st.Table.At())
		}
		for _, c := range t.Columns {
			columns = append(columns, physical.Field{Name: c.Name, Type: c.Type, Nullable: c.Nullable})
		}
	}
	text := sqltype.Of(sqltype.Utf8)
	n := &physical.Values{Fields: []physical.Field{{Name: "column_name", Type: text}, {Name: "data_type", Type: text}, {Name: "is_nullable", Type: sqltype.Of(sqltype.Bool)}}}
	for _, c := range columns {
		n.Rows = append(n.Rows, []expr.Value{expr.StringValue(c.Name), expr.StringValue(c.Type.String()), expr.BoolValue(c.Nullable)})
	}
	return constant(n), nil
}

func (s planner) showTables(ctx context.Context) (*Plan, error) {
	tables := s.snapshot()
	names, err := tables.Tables(ctx)
	if err != nil {
		return nil, err
	}
	names = slices.Sorted(slices.Values(slices.AppendSeq(names, maps.Keys(tables.views))))
	n := &physical.Values{Fields: []physical.Field{{Name: "table_name", Type: sqltype.Of(sqltype.Utf8)}}}
	for _, name := range names {
		n.Rows = append(n.Rows, []expr.Value{expr.StringValue(name)})
	}
	return constant(n), nil
}
