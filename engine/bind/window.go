package bind

import (
	"slices"

	"github.com/fletchdb/fletch/engine/ast"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/logical"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
)

// windowing is the window calls of a SELECT, one Window per way of cutting and ordering the rows.
type windowing struct {
	named   map[string]*ast.WindowSpec
	windows []*logical.Window
	applies []*logical.Apply // subqueries within them
}

// window binds a call with OVER. Its parts may hold aggregates of the same SELECT, which are computed first.
func (x *exprBinder) window(e *ast.FuncCall, name string) (expr.Expr, error) {
	switch {
	case x.inWindow:
		return nil, sqlerr.New(sqlerr.Windowing, e.Pos, "window function calls cannot be nested").WithHint("compute the inner one in a subquery")
	case x.inAggregate:
		return nil, sqlerr.New(sqlerr.Grouping, e.Pos, "aggregate function calls cannot contain window function calls").
			WithHint("compute the window function in a subquery")
	case x.windows == nil:
		return nil, sqlerr.Newf(sqlerr.Windowing, e.Pos, "window functions are not allowed in %s", x.clause).
			WithHint("compute it in a subquery, or filter with QUALIFY")
	case e.OrderBy != nil:
		return nil, unsupported(e.Pos, "ORDER BY within a window function").WithHint("order the window")
	}
	w := expr.LookupWindow(name)
	if w == nil && !x.b.isAggregate(name) {
		if expr.LookupFunction(name) != nil || x.b.cfg.Functions.Named(name) != nil {
			return nil, sqlerr.Newf(sqlerr.DatatypeMismatch, e.Pos, "OVER specified, but %s is not a window function nor an aggregate function", name).
				WithHint("leave OVER out")
		}
		args, err := x.args(e)
		if err != nil {
			return nil, err
		}
		return expr.NewCall(name, args, e.Pos) // which says that there is no such function
	}
	if w != nil && (e.Distinct || e.Star || e.Filter != nil) {
		return nil, sqlerr.Newf(sqlerr.Unsupported, e.Pos, "%s takes neither DISTINCT nor FILTER", name).WithHint("leave it out")
	}
	if e.Nulls == ast.IgnoreNulls && (w == nil || !w.Nulls) {
		return nil, sqlerr.Newf(sqlerr.Unsupported, e.Pos, "%s does not take IGNORE NULLS", name).WithHint("leave it out, or add FILTER (WHERE x IS NOT NULL)")
	}
	in := *x
	in.inWindow, in.applies, in.named = true, &x.windows.applies, nil
	args, err := in.args(e)
	if err != nil {
		return nil, err
	}
	call, err := x.b.newWindow(name, args, e.Pos)
	if err != nil {
		return nil, err
	}
	call.Distinct = e.Distinct
	if e.Filter != nil {
		if call.Filter, err = in.condition(e.Filter, "FILTER"); err != nil {
			return nil, err
		}
	}
	spec, err := x.windows.resolve(e.Over)
	if err != nil {
		return nil, err
	}
	if w == nil && spec.Frame == nil && call.Distinct && len(spec.OrderBy) > 0 {
		return nil, unsupported(e.Pos, "DISTINCT in a window with an order").WithHint("leave the order out")
	}
	label := expr.AggregateString(call)
	if len(label) > 32 {
		label = name
	}
	if x.named == e {
		label = x.as
	}
	return in.addWindow(logical.WindowCall{Aggregate: call, IgnoreNulls: e.Nulls == ast.IgnoreNulls}, spec, label, e.Pos)
}

// addWindow puts a call into the window of its kind, and gives its column.
func (x *exprBinder) addWindow(c logical.WindowCall, spec *ast.WindowSpec, label string, pos sqlerr.Pos) (expr.Expr, error) {
	w := &logical.Window{}
	for _, e := range spec.PartitionBy {
		v, err := x.value(e)
		if err != nil {
			return nil, err
		}
		w.Partition = append(w.Partition, v)
	}
	for _, o := range spec.OrderBy {
		if o.All {
			return nil, unsupported(o.Pos, "ORDER BY ALL in a window")
		}
		v, err := x.value(o.Expr)
		if err != nil {
			return nil, err
		}
		if _, constant := v.(*expr.Literal); !constant {
			w.Order = append(w.Order, sortOrder(o, v))
		}
	}
	var err error
	if c.Frame, err = x.frame(spec, w.Order, len(spec.OrderBy) > 0); err != nil {
		return nil, err
	}
	if f := expr.LookupWindow(c.Func); f != nil && !f.Framed {
		c.Frame = wholePartition
	}
	x.b.last++
	c.Col = &expr.Column{ID: x.b.last, Name: label, Typ: c.Typ, Nullable: true}
	switch c.Func {
	case "row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "count", "count_star":
		c.Col.Nullable = false
	}
	have := slices.IndexFunc(x.windows.windows, func(v *logical.Window) bool {
		return slices.EqualFunc(v.Partition, w.Partition, expr.Equal) && slices.EqualFunc(v.Order, w.Order, sameOrder)
	})
	if have >= 0 {
		w = x.windows.windows[have]
	} else {
		x.windows.windows = append(x.windows.windows, w)
	}
	w.Calls = append(w.Calls, c)
	col := *c.Col
	col.P = pos
	return &col, nil
}

func sameOrder(a, b expr.SortOrder) bool {
	return a.Desc == b.Desc && a.NullsFirst == b.NullsFirst && expr.Equal(a.Expr, b.Expr)
}

// resolve is a window's definition with what it takes from a named one.
func (w *windowing) resolve(s *ast.WindowSpec) (*ast.WindowSpec, error) {
	for range len(w.named) + 1 {
		if s.Base == nil {
			return s, nil
		}
		base := w.named[s.Base.Name]
		if base == nil {
			return nil, sqlerr.Newf(sqlerr.UnknownTable, s.Base.Pos, "window %q does not exist", s.Base.Name).WithHint("define it: WINDOW %s AS (…)", s.Base.Name)
		}
		out := *base
		switch {
		case s.Bare:
		case len(s.PartitionBy) > 0:
			return nil, sqlerr.Newf(sqlerr.Windowing, s.Pos, "cannot override PARTITION BY clause of window %q", s.Base.Name).WithHint("leave it out")
		case len(s.OrderBy) > 0 && len(base.OrderBy) > 0:
			return nil, sqlerr.Newf(sqlerr.Windowing, s.Pos, "cannot override ORDER BY clause of window %q", s.Base.Name).WithHint("leave it out")
		case base.Frame != nil:
			return nil, sqlerr.Newf(sqlerr.Windowing, s.Pos, "cannot copy window %q because it has a frame clause", s.Base.Name).WithHint("write OVER %s without parentheses", s.Base.Name)
		default:
			if len(s.OrderBy) > 0 {
				out.OrderBy = s.OrderBy
			}
			out.Frame = s.Frame
		}
		s = &out
	}
	return nil, sqlerr.Newf(sqlerr.Windowing, s.Pos, "window %q is defined by itself", s.Base.Name).WithHint("give one of the windows another name")
}

var wholePartition = physical.Frame{
	Unit: physical.FrameRange, Start: physical.Bound{Kind: physical.UnboundedPreceding}, End: physical.Bound{Kind: physical.UnboundedFollowing},
}

// frame is the frame of a window, the default where there is none: all up to the current row's peers in a window with an order,
// else the whole partition.
func (x *exprBinder) frame(spec *ast.WindowSpec, order []expr.SortOrder, ordered bool) (physical.Frame, error) {
	f := wholePartition
	if spec.Frame == nil {
		if ordered {
			f.End.Kind = physical.CurrentRow
		}
		return whole(f, order), nil
	}
	a := spec.Frame
	f.Unit = map[ast.FrameUnit]physical.FrameUnit{ast.Rows: physical.FrameRows, ast.Range: physical.FrameRange, ast.Groups: physical.FrameGroups}[a.Unit]
	f.Exclude = map[ast.FrameExclusion]physical.FrameExclude{
		ast.ExcludeNoOthers: physical.ExcludeNone, ast.ExcludeCurrentRow: physical.ExcludeCurrentRow, ast.ExcludeGroup: physical.ExcludeGroup, ast.ExcludeTies: physical.ExcludeTies,
	}[a.Exclude]
	refuse := func(format string) (physical.Frame, error) {
		return physical.Frame{}, sqlerr.New(sqlerr.Windowing, a.Pos, format).WithHint("a frame begins before it ends")
	}
	if f.Unit == physical.FrameGroups && !ordered {
		return physical.Frame{}, sqlerr.New(sqlerr.Windowing, a.Pos, "GROUPS mode requires an ORDER BY clause").WithHint("add ORDER BY to the window")
	}
	var err error
	if f.Start, err = x.bound(a.Start, f.Unit, order, "starting"); err != nil {
		return f, err
	}
	if f.End, err = x.bound(a.End, f.Unit, order, "ending"); err != nil {
		return f, err
	}
	switch {
	case f.Start.Kind == physical.UnboundedFollowing:
		return refuse("frame start cannot be UNBOUNDED FOLLOWING")
	case f.End.Kind == physical.UnboundedPreceding:
		return refuse("frame end cannot be UNBOUNDED PRECEDING")
	case f.Start.Kind == physical.CurrentRow && f.End.Kind == physical.Preceding:
		return refuse("frame starting from current row cannot have preceding rows")
	case f.Start.Kind == physical.Following && f.End.Kind < physical.Following:
		return refuse("frame starting from following row cannot have preceding rows")
	}
	return whole(f, order), nil
}

// whole is f, spelled plainly where it is the whole partition: without an order all rows are peers.
func whole(f physical.Frame, order []expr.SortOrder) physical.Frame {
	if len(order) == 0 && f.Unit == physical.FrameRange {
		if f.Start.Kind == physical.CurrentRow {
			f.Start.Kind = physical.UnboundedPreceding
		}
		if f.End.Kind == physical.CurrentRow {
			f.End.Kind = physical.UnboundedFollowing
		}
	}
	return f
}

var boundKinds = map[ast.BoundKind]physical.BoundKind{
	ast.UnboundedPreceding: physical.UnboundedPreceding, ast.Preceding: physical.Preceding, ast.CurrentRow: physical.CurrentRow,
	ast.Following: physical.Following, ast.UnboundedFollowing: physical.UnboundedFollowing,
}

func (x *exprBinder) bound(a ast.FrameBound, unit physical.FrameUnit, order []expr.SortOrder, which string) (physical.Bound, error) {
	b := physical.Bound{Kind: boundKinds[a.Kind]}
	if a.Offset == nil {
		return b, nil
	}
	in := &exprBinder{b: x.b, scope: &scope{}, clause: "a frame"}
	v, err := in.expr(a.Offset)
	if err != nil {
		if sqlerr.CodeOf(err) == sqlerr.UnknownColumn {
			err = sqlerr.New(sqlerr.InvalidReference, a.Offset.At(), "argument of a frame must not contain variables").WithHint("write a constant")
		}
		return b, err
	}
	to := bigint
	if unit == physical.FrameRange {
		if len(order) != 1 {
			return b, sqlerr.New(sqlerr.Windowing, a.Pos, "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column").
				WithHint("order by one column, or use ROWS")
		}
		to = order[0].Expr.Type()
		if to.Kind == sqltype.Date || to.Kind == sqltype.Timestamp || to.Kind == sqltype.TimestampTZ || to.Kind == sqltype.Time {
			to = sqltype.Of(sqltype.Interval)
		} else if !to.IsNumeric() {
			return b, sqlerr.Newf(sqlerr.Unsupported, a.Pos, "RANGE with offset PRECEDING/FOLLOWING is not supported for column type %s", to).WithHint("use ROWS")
		}
	}
	if v, err = expr.Coerce(fold(v), to, expr.Assignment); err != nil {
		return b, err
	}
	l, ok := fold(v).(*expr.Literal)
	if !ok || l.Value.Null {
		return b, sqlerr.Newf(sqlerr.InvalidParameter, a.Offset.At(), "frame %s offset must not be null", which).WithHint("write a constant")
	}
	if negative(l.Value) {
		return b, sqlerr.Newf(sqlerr.InvalidParameter, a.Offset.At(), "frame %s offset must not be negative", which).WithHint("write 0 or more")
	}
	b.Offset = l.Value
	return b, nil
}

func negative(v expr.Value) bool {
	switch {
	case v.Type.Kind == sqltype.Decimal:
		return v.Wide.Sign() < 0
	case v.Type.IsFloat():
		return v.Float < 0
	case v.Type.Kind == sqltype.Interval:
		return v.Months < 0 || v.Days < 0 || v.Int < 0
	case v.Type.IsSigned():
		return v.Int < 0
	}
	return false
}

// stack puts the windows over n. Those of one partition stand together, the longest order first, so that one sort may serve
// several.
func (w *windowing) stack(n logical.Node) logical.Node {
	list := slices.Clone(w.windows)
	var done []*logical.Window
	for len(list) > 0 {
		first := list[0]
		var same, rest []*logical.Window
		for _, v := range list {
			if slices.EqualFunc(v.Partition, first.Partition, expr.Equal) {
				same = append(same, v)
			} else {
				rest = append(rest, v)
			}
		}
		slices.SortStableFunc(same, func(a, b *logical.Window) int { return len(b.Order) - len(a.Order) })
		done, list = append(done, same...), rest
	}
	n = attach(n, w.applies)
	for _, v := range done {
		c := *v
		c.Input = n
		n = &c
	}
	return n
}

// lift turns what windows compute over FROM into expressions over groups.
func (w *windowing) lift(up *lifter) {
	for i, v := range w.windows {
		w.windows[i] = logical.MapExprs(v, up.lift).(*logical.Window)
	}
}
