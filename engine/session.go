package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/fletchdb/fletch/engine/arrowio"
	"github.com/fletchdb/fletch/engine/ast"
	"github.com/fletchdb/fletch/engine/bind"
	"github.com/fletchdb/fletch/engine/budget"
	"github.com/fletchdb/fletch/engine/catalog"
	"github.com/fletchdb/fletch/engine/exec"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/function"
	"github.com/fletchdb/fletch/engine/parse"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/scan/memory"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
)

// A Session is statements that know of each other: tables and views that one makes, another reads. Its methods may be called
// from any goroutine; a query reads the tables as they were when it was planned. It needs no Close.
type Session struct {
	engine *Engine

	mu       sync.Mutex
	tables   map[string]*sessionTable
	external map[string]string // path by name
	views    map[string]*sessionView
	settings map[string]string
	prepared map[string]*ast.Query
	serial   int // of what was made last
}

type sessionTable struct {
	rows        *memory.Table
	notNull     []bool
	key         []int // columns of the primary key; nil without
	constraints []constraint
	defaults    []ast.Expr // by column; nil: NULL
	version     int
}

type sessionView struct {
	query  *ast.CTE
	fields []physical.Field // when it was made
	serial int
}

// NewSession makes a session without tables.
func (e *Engine) NewSession() *Session {
	return &Session{
		engine: e, tables: map[string]*sessionTable{}, external: map[string]string{}, views: map[string]*sessionView{}, settings: map[string]string{},
		prepared: map[string]*ast.Query{},
	}
}

// Query runs one statement. It returns when the statement is planned; rows come from the Rows, which the caller closes. When
// ctx ends, so does the query. A statement that makes or changes something has done so when Query returns.
func (s *Session) Query(ctx context.Context, statement string) (*Rows, error) {
	plan, err := s.Plan(ctx, statement)
	if err != nil {
		return nil, err
	}
	return s.engine.Run(ctx, plan)
}

// Plan reads and plans one statement; one that makes or changes something is carried out, and its plan gives what it says of
// that. Errors are *sqlerr.Error with a position in the statement.
func (s *Session) Plan(ctx context.Context, statement string) (*Plan, error) {
	return s.PlanFor(ctx, statement, s.engine.functions)
}

// PlanFor is Plan with other functions besides the built-in ones than the engine's: those of the processes that shall run the plan.
func (s *Session) PlanFor(ctx context.Context, statement string, functions *function.Library) (*Plan, error) {
	return planner{s, functions}.plan(ctx, statement)
}

// A planner plans one statement of a session.
type planner struct {
	*Session
	functions *function.Library // that may be called besides the built-in ones
}

func (s planner) plan(ctx context.Context, statement string) (*Plan, error) {
	parsed, err := parse.ParseOne(statement)
	if err != nil {
		return nil, err
	}
	switch st := parsed.(type) {
	case *ast.QueryStatement:
		return s.query(ctx, st.Query, nil)
	case *ast.Explain:
		return s.explain(ctx, st)
	case *ast.Describe:
		return s.describe(ctx, st)
	case *ast.Show:
		return s.show(ctx, st)
	case *ast.Set:
		return s.set(st)
	case *ast.Reset:
		return s.reset(st)
	case *ast.Prepare:
		return s.prepare(st)
	case *ast.Execute:
		return s.execute(ctx, st)
	case *ast.Deallocate:
		return s.deallocate(st)
	case *ast.CreateExternalTable:
		return s.createExternal(ctx, st)
	case *ast.Copy:
		return s.copyTo(ctx, st)
	case *ast.CreateTable:
		return s.createTable(ctx, st)
	case *ast.CreateView:
		return s.createView(ctx, st)
	case *ast.Insert:
		return s.insert(ctx, st)
	case *ast.Drop:
		return s.drop(st)
	}
	return nil, sqlerr.New(sqlerr.Unsupported, parsed.At(), "this kind of statement is not supported yet").
		WithHint("queries, EXPLAIN, DESCRIBE, SHOW, SET, CREATE, INSERT, DROP, COPY … TO, PREPARE and EXECUTE are")
}

// nothing is the plan of a statement that has no rows to give.
func nothing() *Plan { return constant(&physical.Values{}) }

// counted is the plan of a statement that made n rows.
func counted(n int64) *Plan {
	bigint := sqltype.Of(sqltype.Int64)
	return constant(&physical.Values{Fields: []physical.Field{{Name: "count", Type: bigint}}, Rows: [][]expr.Value{{expr.IntValue(bigint, n)}}})
}

func duplicate(kind, name string, pos sqlerr.Pos) error {
	return sqlerr.Newf(sqlerr.DuplicateObject, pos, "relation %q already exists", name).WithHint("CREATE OR REPLACE %s replaces it, IF NOT EXISTS leaves it", kind)
}

// exists tells whether a name is taken. s.mu is held.
func (s *Session) exists(name string) bool {
	return s.tables[name] != nil || s.views[name] != nil || s.external[name] != ""
}

func (s planner) createTable(ctx context.Context, st *ast.CreateTable) (*Plan, error) {
	name := st.Name.Last().Name
	s.mu.Lock()
	taken := s.exists(name)
	s.mu.Unlock()
	if taken && st.IfNotExists {
		return nothing(), nil
	}
	if taken && !st.OrReplace {
		return nil, duplicate("TABLE", name, st.Name.At())
	}
	t := &sessionTable{}
	var fields []physical.Field
	for _, c := range st.Columns {
		if slices.ContainsFunc(fields, func(f physical.Field) bool { return f.Name == c.Name.Name }) {
			return nil, sqlerr.Newf(sqlerr.DuplicateObject, c.At(), "column %q specified more than once", c.Name.Name)
		}
		f := physical.Field{Name: c.Name.Name, Nullable: true}
		if c.Type != nil {
			var err error
			if f.Type, err = bind.Type(c.Type); err != nil {
				return nil, err
			}
		}
		fields = append(fields, f)
		t.notNull, t.defaults = append(t.notNull, c.NotNull), append(t.defaults, c.Default)
	}
	var made int64
	if st.Query != nil {
		plan, err := s.query(ctx, st.Query, nil)
		if err != nil {
			return nil, err
		}
		if fields, err = queryFields(fields, plan, st); err != nil {
			return nil, err
		}
		t.rows = memory.New(fields)
		if !st.NoData {
			root, err := assign(plan.Root, fields, st.Query.At())
			if err != nil {
				return nil, err
			}
			batches, err := s.collect(ctx, plan, root)
			if err != nil {
				return nil, err
			}
			t.rows = t.rows.With(batches...)
			made = t.rows.Rows()
		}
	} else {
		t.rows = memory.New(fields)
	}
	if err := t.constrain(st); err != nil {
		return nil, err
	}
	if err := s.holds(ctx, name, t, t.rows, t.rows); err != nil {
		return nil, sqlerr.At(err, st.At())
	}
	for i, d := range t.defaults {
		if d == nil {
			continue
		}
		if _, err := s.defaultOf(ctx, d, t.rows.Fields()[i]); err != nil {
			return nil, err
		}
	}
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
	if st.Query != nil {
		return counted(made), nil
	}
	return nothing(), nil
}

// room tells whether the session's tables may take n more bytes. s.mu is held.
func (s *Session) room(n int64, pos sqlerr.Pos) error {
	for _, t := range s.tables {
		n += t.rows.Bytes()
	}
	if limit := s.engine.cfg.SessionMemory; limit > 0 && n > limit {
		return sqlerr.Newf(sqlerr.MemoryLimit, pos, "the session's tables would take %s, over the limit of %s", budget.Bytes(n), budget.Bytes(limit)).
			WithHint("drop tables, or keep less in them")
	}
	return nil
}

// queryFields is the columns of CREATE TABLE … AS: the query's, under the names and types that the statement gives.
func queryFields(given []physical.Field, plan *Plan, st *ast.CreateTable) ([]physical.Field, error) {
	out := make([]physical.Field, len(plan.Fields))
	if len(given) > len(out) {
		return nil, sqlerr.New(sqlerr.Syntax, st.At(), "too many column names were specified")
	}
	for i, f := range plan.Fields {
		out[i] = physical.Field{Name: f.Name, Type: f.Type, Nullable: true}
		if f.Type.Kind == sqltype.Null {
			out[i].Type = sqltype.Of(sqltype.Utf8)
		}
		if i < len(given) {
			out[i].Name = given[i].Name
			if given[i].Type.Kind != sqltype.Invalid {
				out[i].Type = given[i].Type
			}
		}
	}
	return out, nil
}

// assign casts a plan's columns to those of a table, as an assignment does.
func assign(root physical.Node, fields []physical.Field, pos sqlerr.Pos) (physical.Node, error) {
	in := root.Schema()
	p := &physical.Project{Input: root}
	same := true
	for i, f := range fields {
		x := expr.Expr(&expr.Input{At: expr.At{P: pos}, Index: i, Name: in[i].Name, Typ: in[i].Type, Nullable: in[i].Nullable})
		if !in[i].Type.Equal(f.Type) {
			same = false
			cast, err := expr.NewCast(x, f.Type, false, pos)
			if err != nil {
				return nil, err
			}
			x = cast
		}
		p.Exprs = append(p.Exprs, x)
		p.Names = append(p.Names, f.Name)
	}
	if same {
		return root, nil
	}
	return p, nil
}

// collect runs a plan and keeps its rows, within the engine's memory limit.
func (s planner) collect(ctx context.Context, plan *Plan, root physical.Node) ([]arrow.RecordBatch, error) {
	if err := plan.here(); err != nil {
		return nil, err
	}
	env := s.engine.env(plan)
	res, err := exec.RunToArrow(ctx, root, env, exec.ResultConfig{Form: arrowio.Narrow})
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Close() }()
	kept := env.Budget.User("new table")
	defer kept.ReleaseAll()
	var out []arrow.RecordBatch
	for {
		rec, err := res.Next(ctx)
		if err != nil {
			return nil, err
		}
		if rec == nil {
			return out, nil
		}
		var size int64
		for _, c := range rec.Columns() {
			size += int64(c.Data().SizeInBytes())
		}
		if err := kept.Reserve(size); err != nil {
			return nil, err
		}
		out = append(out, rec)
	}
}

func (s planner) insert(ctx context.Context, st *ast.Insert) (*Plan, error) {
	name := st.Table.Last().Name
	s.mu.Lock()
	t := s.tables[name]
	s.mu.Unlock()
	if t == nil {
		if _, err := s.snapshot().Table(ctx, name); err != nil {
			return nil, sqlerr.At(err, st.Table.At())
		}
		return nil, sqlerr.Newf(sqlerr.Unsupported, st.Table.At(), "cannot insert into %q: it is made of files", name).
			WithHint("only tables that CREATE TABLE made take rows")
	}
	fields := t.rows.Fields()
	plan := constant(&physical.Values{Rows: [][]expr.Value{{}}}) // of DEFAULT VALUES
	if q := t.withDefaults(st); q != nil {
		var err error
		if plan, err = s.query(ctx, q, nil); err != nil {
			return nil, err
		}
	}
	root, err := arrange(plan.Root, fields, st, func(i int) (expr.Expr, error) {
		if i >= len(t.defaults) || t.defaults[i] == nil {
			return &expr.Literal{Value: expr.NullOf(fields[i].Type)}, nil
		}
		return s.defaultOf(ctx, t.defaults[i], fields[i])
	})
	if err != nil {
		return nil, err
	}
	if root, err = assign(root, fields, st.At()); err != nil {
		return nil, err
	}
	batches, err := s.collect(ctx, plan, root)
	if err != nil {
		return nil, err
	}
	added := memory.New(fields).With(batches...)
	if err := s.holds(ctx, name, t, t.rows.With(batches...), added); err != nil {
		return nil, sqlerr.At(err, st.At())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.tables[name]
	if now != nil && now.version != t.version && len(t.constraints) > 0 {
		return nil, sqlerr.Newf(sqlerr.ObjectNotInState, st.Table.At(), "table %q was changed meanwhile", name).WithHint("insert again")
	}
	if now == nil || now.version != t.version && !slices.EqualFunc(now.rows.Fields(), fields, func(a, b physical.Field) bool { return a.Name == b.Name && a.Type.Equal(b.Type) }) {
		return nil, sqlerr.Newf(sqlerr.UnknownTable, st.Table.At(), "table %q was dropped or replaced meanwhile", name)
	}
	if err := s.room(added.Bytes(), st.At()); err != nil {
		return nil, err
	}
	s.serial++
	next := *now
	next.rows, next.version = now.rows.With(batches...), s.serial
	s.tables[name] = &next
	return counted(added.Rows()), nil
}

// arrange puts the columns of what is inserted into the table's order; absent gives those that are not given.
func arrange(root physical.Node, fields []physical.Field, st *ast.Insert, absent func(column int) (expr.Expr, error)) (physical.Node, error) {
	in := root.Schema()
	from := make([]int, len(fields)) // column of in, −1: NULL
	for i := range from {
		from[i] = -1
	}
	column := func(name string, pos sqlerr.Pos) (int, error) {
		i := slices.IndexFunc(fields, func(f physical.Field) bool { return f.Name == name })
		if i < 0 {
			return 0, sqlerr.Newf(sqlerr.UnknownColumn, pos, "column %q of relation %q does not exist", name, st.Table.Last().Name)
		}
		if from[i] >= 0 {
			return 0, sqlerr.Newf(sqlerr.DuplicateObject, pos, "column %q specified more than once", name)
		}
		return i, nil
	}
	switch {
	case st.Query == nil:
	case st.ByName:
		for k, f := range in {
			i, err := column(f.Name, st.Query.At())
			if err != nil {
				return nil, err
			}
			from[i] = k
		}
	case len(st.Columns) > 0:
		if len(in) != len(st.Columns) {
			return nil, sqlerr.Newf(sqlerr.Syntax, st.Query.At(), "INSERT has %d expressions for %d target columns", len(in), len(st.Columns))
		}
		for k, c := range st.Columns {
			i, err := column(c.Name, c.At())
			if err != nil {
				return nil, err
			}
			from[i] = k
		}
	default:
		if len(in) > len(fields) {
			return nil, sqlerr.Newf(sqlerr.Syntax, st.Query.At(), "INSERT has %d expressions for %d target columns", len(in), len(fields))
		}
		for k := range in {
			from[k] = k
		}
	}
	p := &physical.Project{Input: root}
	for i, f := range fields {
		p.Names = append(p.Names, f.Name)
		if from[i] < 0 {
			v, err := absent(i)
			if err != nil {
				return nil, err
			}
			p.Exprs = append(p.Exprs, v)
			continue
		}
		c := in[from[i]]
		p.Exprs = append(p.Exprs, &expr.Input{Index: from[i], Name: c.Name, Typ: c.Type, Nullable: c.Nullable})
	}
	return p, nil
}

func (s planner) createView(ctx context.Context, st *ast.CreateView) (*Plan, error) {
	name := st.Name.Last().Name
	s.mu.Lock()
	taken := s.exists(name)
	s.mu.Unlock()
	if taken && st.IfNotExists {
		return nothing(), nil
	}
	if taken && !st.OrReplace {
		return nil, duplicate("VIEW", name, st.Name.At())
	}
	plan, err := s.query(ctx, st.Query, nil) // what it refers to must be there
	if err != nil {
		return nil, err
	}
	if len(st.Columns) > len(plan.Fields) {
		return nil, sqlerr.New(sqlerr.Syntax, st.At(), "CREATE VIEW specifies more column names than columns")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.tables, name)
	delete(s.external, name)
	s.serial++
	fields := slices.Clone(plan.Fields)
	for i, c := range st.Columns {
		fields[i].Name = c.Name
	}
	s.views[name] = &sessionView{&ast.CTE{Span: st.Span, Name: st.Name.Last(), Columns: st.Columns, Query: st.Query}, fields, s.serial}
	return nothing(), nil
}

// withViews is q with the session's views as CTEs before its own, the older first; names that the query defines itself hide
// them.
func (s *Session) withViews(q *ast.Query) *ast.Query {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.views) == 0 {
		return q
	}
	own := map[string]bool{}
	if q.With != nil {
		for _, c := range q.With.CTEs {
			own[c.Name.Name] = true
		}
	}
	var views []*sessionView
	for name, v := range s.views {
		if !own[name] {
			views = append(views, v)
		}
	}
	slices.SortFunc(views, func(a, b *sessionView) int { return a.serial - b.serial })
	with := &ast.With{}
	for _, v := range views {
		with.CTEs = append(with.CTEs, v.query)
	}
	c := *q
	if q.With != nil {
		with.Span, with.Recursive = q.With.Span, q.With.Recursive
		with.CTEs = append(with.CTEs, q.With.CTEs...)
	}
	c.With = with
	return &c
}

func (s *Session) drop(st *ast.Drop) (*Plan, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range st.Names {
		name := n.Last().Name
		switch {
		case st.Kind == ast.TableObject && (s.tables[name] != nil || s.external[name] != ""):
			delete(s.tables, name)
			delete(s.external, name)
		case st.Kind == ast.ViewObject && s.views[name] != nil:
			delete(s.views, name)
		case st.IfExists:
		case s.exists(name):
			return nil, sqlerr.Newf(sqlerr.ObjectNotInState, n.At(), "%q is no %s", name, st.Kind)
		default:
			return nil, sqlerr.Newf(sqlerr.UnknownTable, n.At(), "%s %q does not exist", st.Kind, name)
		}
	}
	return nothing(), nil
}

// A snapshot is the catalog as it is for one statement: the session's tables before the engine's.
type snapshot struct {
	base     catalog.Catalog
	tables   map[string]*sessionTable
	external map[string]string
	views    map[string][]physical.Field // their columns
	used     map[string]*memory.Table    // by path
}

func (s *Session) snapshot() *snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	views := map[string][]physical.Field{}
	for name, v := range s.views {
		views[name] = v.fields
	}
	return &snapshot{base: s.engine.catalog, tables: maps.Clone(s.tables), external: maps.Clone(s.external), views: views, used: map[string]*memory.Table{}}
}

func (c *snapshot) Table(ctx context.Context, name string) (*catalog.Table, error) {
	if strings.HasPrefix(name, informationSchema) {
		return c.information(ctx, name)
	}
	t := c.tables[name]
	if t == nil {
		if path := c.external[name]; path != "" {
			return c.ofFiles(ctx, name, path)
		}
		return c.base.Table(ctx, name)
	}
	path := fmt.Sprintf("memory:%s@%d", name, t.version)
	c.used[path] = t.rows
	out := &catalog.Table{Name: name, Format: physical.Memory, Rows: t.rows.Rows(), Key: t.key, Files: []physical.File{{Path: path, Size: t.rows.Bytes()}}}
	for i, f := range t.rows.Fields() {
		out.Columns = append(out.Columns, catalog.Column{Name: f.Name, Type: f.Type, Nullable: i >= len(t.notNull) || !t.notNull[i]})
	}
	return out, nil
}

func (c *snapshot) Path(ctx context.Context, pattern string) (*catalog.Table, error) {
	return c.base.Path(ctx, pattern)
}

func (c *snapshot) Tables(ctx context.Context) ([]string, error) {
	names, err := c.base.Tables(ctx)
	if err != nil {
		return nil, err
	}
	for name := range c.tables {
		names = append(names, name)
	}
	for name := range c.external {
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// scanMemory opens a table that the plan was made with.
func (p *Plan) scanMemory(ctx context.Context, scan *physical.Scan, env *exec.Env) (exec.Source, error) {
	if len(scan.Files) != 1 || p.memory[scan.Files[0].Path] == nil {
		return nil, sqlerr.Newf(sqlerr.InvalidPlan, sqlerr.Pos{}, "invalid plan: table %q is not in this process", scan.Table)
	}
	return memory.NewSource(ctx, p.memory[scan.Files[0].Path], scan, env)
}

var _ catalog.Catalog = (*snapshot)(nil)
