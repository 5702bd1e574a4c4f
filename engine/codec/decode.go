package codec

import (
	"strings"
	"unicode/utf8"

	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/function"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector/int128"
	planv1 "github.com/fletchdb/fletch/gen/go/fletch/plan/v1"
)

// decoder keeps the first error; what it gives after one means nothing and may be nil.
type decoder struct {
	err     error
	library *function.Library
}

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = invalid(format, args...)
	}
}

func (d *decoder) est(m *planv1.Node) physical.Est {
	if m.EstimatedRows == nil || m.GetEstimatedRows() != m.GetEstimatedRows() {
		return physical.Est{Rows: -1}
	}
	return physical.Est{Rows: m.GetEstimatedRows()}
}

func (d *decoder) node(m *planv1.Node, depth int) physical.Node {
	if d.err != nil {
		return nil
	}
	if depth > maxNodes {
		d.fail("operators nested more than %d deep", maxNodes)
		return nil
	}
	depth++
	switch n := m.GetNode().(type) {
	case *planv1.Node_Scan:
		return d.scan(n.Scan, d.est(m))
	case *planv1.Node_ConstantRows:
		out := &physical.Values{Fields: d.fields(n.ConstantRows.GetFields())}
		for _, row := range n.ConstantRows.GetRows() {
			out.Rows = append(out.Rows, d.values(row.GetValues(), 0))
		}
		return out
	case *planv1.Node_Expand:
		x := n.Expand
		return &physical.Expand{Input: d.node(x.GetInput(), depth), Lists: d.exprs(x.GetLists(), 0), Ordinality: x.GetOrdinality(), Names: x.GetNames(), Est: d.est(m)}
	case *planv1.Node_Recursive:
		r := n.Recursive
		return &physical.Recursive{ID: int32(d.index(r.GetId())), Base: d.node(r.GetBase(), depth), Step: d.node(r.GetStep(), depth), All: r.GetAll(), Fields: d.fields(r.GetFields())}
	case *planv1.Node_Working:
		return &physical.Working{ID: int32(d.index(n.Working.GetId())), Fields: d.fields(n.Working.GetFields())}
	case *planv1.Node_Filter:
		return &physical.Filter{Input: d.node(n.Filter.GetInput(), depth), Cond: d.expr(n.Filter.GetCondition(), 0), Est: d.est(m)}
	case *planv1.Node_Project:
		return &physical.Project{Input: d.node(n.Project.GetInput(), depth), Exprs: d.exprs(n.Project.GetExpressions(), 0), Names: n.Project.GetNames()}
	case *planv1.Node_Aggregate:
		out := &physical.Aggregate{
			Input: d.node(n.Aggregate.GetInput(), depth), Mode: decodeEnum(d, aggModes, n.Aggregate.GetMode()), Groups: d.exprs(n.Aggregate.GetGroups(), 0),
			Names: n.Aggregate.GetNames(), Est: d.est(m),
		}
		for _, a := range n.Aggregate.GetAggregates() {
			out.Aggs = append(out.Aggs, expr.Aggregate{
				At: at(a.GetPosition()), Func: a.GetFunction(), Args: d.exprs(a.GetArguments(), 0), Distinct: a.GetDistinct(), Filter: d.optional(a.GetFilter()),
				OrderBy: d.orders(a.GetOrderBy()), Typ: d.typ(a.GetType(), 0), User: d.user(a.GetFunction(), a.GetUser(), true),
			})
		}
		return out
	case *planv1.Node_HashJoin:
		j := n.HashJoin
		out := &physical.HashJoin{
			Kind: decodeEnum(d, joinKinds, j.GetKind()), Probe: d.node(j.GetProbe(), depth), Build: d.node(j.GetBuild(), depth),
			ProbeKeys: d.exprs(j.GetProbeKeys(), 0), BuildKeys: d.exprs(j.GetBuildKeys(), 0), Residual: d.optional(j.GetResidual()),
			NullAware: j.GetNullAware(), NullEqual: j.GetNullEqual(), Output: d.optionalIndexes(j.GetOutput()), Est: d.est(m),
		}
		for _, r := range j.GetRuntimeBuilds() {
			out.Runtime = append(out.Runtime, physical.RuntimeBuild{Filter: int32(d.index(r.GetFilter())), Key: d.index(r.GetKey())})
		}
		return out
	case *planv1.Node_LoopJoin:
		j := n.LoopJoin
		return &physical.LoopJoin{
			Kind: decodeEnum(d, joinKinds, j.GetKind()), Probe: d.node(j.GetProbe(), depth), Build: d.node(j.GetBuild(), depth),
			Cond: d.optional(j.GetCondition()), Output: d.optionalIndexes(j.GetOutput()), Est: d.est(m),
		}
	case *planv1.Node_Sort:
		return &physical.Sort{
			Input: d.node(n.Sort.GetInput(), depth), Keys: d.keys(n.Sort.GetKeys()), Fetch: d.fetch(n.Sort.Fetch), Offset: d.count(n.Sort.GetOffset()), Est: d.est(m),
		}
	case *planv1.Node_Limit:
		return &physical.Limit{Input: d.node(n.Limit.GetInput(), depth), Fetch: d.fetch(n.Limit.Fetch), Offset: d.count(n.Limit.GetOffset())}
	case *planv1.Node_Union:
		out := &physical.Union{}
		for _, in := range n.Union.GetInputs() {
			out.Inputs = append(out.Inputs, d.node(in, depth))
		}
		return out
	case *planv1.Node_Exchange:
		return &physical.Exchange{
			Input: d.node(n.Exchange.GetInput(), depth), Kind: decodeEnum(d, exchangeKinds, n.Exchange.GetKind()), Keys: d.indexes(n.Exchange.GetKeys()),
			Merge: d.keys(n.Exchange.GetMerge()),
		}
	case *planv1.Node_Remote:
		return &physical.Remote{
			Stage: int32(d.index(n.Remote.GetStage())), Reader: int32(d.index(n.Remote.GetReader())), Fields: d.fields(n.Remote.GetFields()), Merge: d.keys(n.Remote.GetMerge()), Est: d.est(m),
		}
	}
	if w, ok := m.GetNode().(*planv1.Node_Window); ok {
		return d.window(w.Window, depth)
	}
	d.fail("an operator is missing")
	return nil
}

func (d *decoder) window(n *planv1.Window, depth int) physical.Node {
	out := &physical.Window{Input: d.node(n.GetInput(), depth), Partition: d.exprs(n.GetPartition(), 0), Order: d.keys(n.GetOrder()), Names: n.GetNames()}
	for _, c := range n.GetCalls() {
		f := c.GetFrame()
		if f.GetUnit() == planv1.FrameUnit_FRAME_UNIT_UNSPECIFIED || f.GetExclusion() == planv1.FrameExclusion_FRAME_EXCLUSION_UNSPECIFIED {
			d.fail("a frame is missing")
			return nil
		}
		out.Calls = append(out.Calls, physical.WindowCall{
			Func: c.GetFunction(), Args: d.exprs(c.GetArguments(), 0), Distinct: c.GetDistinct(), Filter: d.optional(c.GetFilter()), IgnoreNulls: c.GetIgnoreNulls(),
			Typ: d.typ(c.GetType(), 0), Pos: at(c.GetPosition()), User: d.user(c.GetFunction(), c.GetUser(), true), Frame: physical.Frame{
				Unit: physical.FrameUnit(f.GetUnit() - 1), Start: d.bound(f.GetStart()), End: d.bound(f.GetEnd()), Exclude: physical.FrameExclude(f.GetExclusion() - 1),
			},
		})
	}
	return out
}

func (d *decoder) bound(m *planv1.FrameBound) physical.Bound {
	if m.GetKind() == planv1.FrameBoundKind_FRAME_BOUND_KIND_UNSPECIFIED {
		d.fail("a frame's bound is missing")
		return physical.Bound{}
	}
	b := physical.Bound{Kind: physical.BoundKind(m.GetKind() - 1)}
	if b.Kind == physical.Preceding || b.Kind == physical.Following {
		b.Offset = d.value(m.GetOffset(), 0)
	}
	return b
}

func (d *decoder) scan(n *planv1.Scan, est physical.Est) physical.Node {
	out := &physical.Scan{Table: n.GetTable(), Format: decodeEnum(d, formats, n.GetFormat()), Filter: d.optional(n.GetFilter()), Est: est}
	for _, f := range n.GetFiles() {
		file := physical.File{Path: f.GetPath(), Size: d.count(f.GetSize()), ModTime: f.GetModTime(), FooterHash: f.GetFooterHash()}
		if f.GetRowGroups() != nil {
			file.RowGroups = []int32{}
			last := -1
			for _, g := range f.GetRowGroups().GetValues() {
				i := d.index(g)
				if i <= last {
					d.fail("row groups out of order")
				}
				last = i
				file.RowGroups = append(file.RowGroups, int32(i))
			}
		}
		out.Files = append(out.Files, file)
	}
	for _, c := range n.GetColumns() {
		out.Columns = append(out.Columns, physical.ScanColumn{Name: c.GetName(), Index: d.index(c.GetIndex()), Type: d.typ(c.GetType(), 0), Nullable: c.GetNullable()})
	}
	for _, r := range n.GetRuntimeProbes() {
		out.Runtime = append(out.Runtime, physical.RuntimeProbe{Filter: int32(d.index(r.GetFilter())), Column: d.index(r.GetColumn())})
	}
	return out
}

func (d *decoder) index(i uint32) int {
	if i > 1<<24 {
		d.fail("position %d", i)
		return 0
	}
	return int(i)
}

func (d *decoder) count(n uint64) int64 {
	if n > 1<<62 {
		d.fail("count %d", n)
		return 0
	}
	return int64(n)
}

func (d *decoder) fetch(n *uint64) int64 {
	if n == nil {
		return -1
	}
	return d.count(*n)
}

func (d *decoder) indexes(in []uint32) []int {
	var out []int
	for _, i := range in {
		out = append(out, d.index(i))
	}
	return out
}

func (d *decoder) optionalIndexes(m *planv1.Indexes) []int {
	if m == nil {
		return nil
	}
	if out := d.indexes(m.GetValues()); out != nil {
		return out
	}
	return []int{}
}

func (d *decoder) fields(in []*planv1.Field) []physical.Field {
	var out []physical.Field
	for _, f := range in {
		out = append(out, physical.Field{Name: f.GetName(), Type: d.typ(f.GetType(), 0), Nullable: f.GetNullable()})
	}
	return out
}

func (d *decoder) keys(in []*planv1.SortKey) []physical.SortKey {
	var out []physical.SortKey
	for _, k := range in {
		out = append(out, physical.SortKey{Expr: d.expr(k.GetExpression(), 0), Desc: k.GetDescending(), NullsFirst: k.GetNullsFirst()})
	}
	return out
}

func (d *decoder) orders(in []*planv1.SortKey) []expr.SortOrder {
	var out []expr.SortOrder
	for _, k := range in {
		out = append(out, expr.SortOrder{Expr: d.expr(k.GetExpression(), 0), Desc: k.GetDescending(), NullsFirst: k.GetNullsFirst()})
	}
	return out
}

func at(p *planv1.Position) expr.At {
	if p == nil || p.GetStart() > 1<<30 || p.GetEnd() > 1<<30 || p.GetEnd() < p.GetStart() {
		return expr.At{}
	}
	return expr.At{P: sqlerr.Pos{Start: int32(p.GetStart()), End: int32(p.GetEnd())}}
}

func (d *decoder) optional(m *planv1.Expression) expr.Expr {
	if m == nil {
		return nil
	}
	return d.expr(m, 0)
}

func (d *decoder) exprs(in []*planv1.Expression, depth int) []expr.Expr {
	var out []expr.Expr
	for _, m := range in {
		out = append(out, d.expr(m, depth))
	}
	return out
}

func (d *decoder) expr(m *planv1.Expression, depth int) expr.Expr {
	if d.err != nil {
		return nil
	}
	if depth > maxExprs {
		d.fail("expressions nested more than %d deep", maxExprs)
		return nil
	}
	depth++
	pos := at(m.GetPosition())
	switch x := m.GetExpression().(type) {
	case *planv1.Expression_Input:
		return &expr.Input{At: pos, Index: d.index(x.Input.GetIndex()), Name: x.Input.GetName(), Typ: d.typ(x.Input.GetType(), 0), Nullable: x.Input.GetNullable()}
	case *planv1.Expression_Literal:
		return &expr.Literal{At: pos, Value: d.value(x.Literal, 0)}
	case *planv1.Expression_Compare:
		if op := x.Compare.GetOp(); op != planv1.CompareOp_COMPARE_OP_UNSPECIFIED {
			return &expr.Compare{At: pos, Op: expr.CompareOp(op - 1), L: d.expr(x.Compare.GetLeft(), depth), R: d.expr(x.Compare.GetRight(), depth)}
		}
		d.fail("a comparison without operator")
	case *planv1.Expression_Logic:
		if op := x.Logic.GetOp(); op != planv1.LogicOp_LOGIC_OP_UNSPECIFIED {
			return &expr.Logic{At: pos, Op: expr.LogicOp(op - 1), Args: d.exprs(x.Logic.GetArguments(), depth)}
		}
		d.fail("a logical expression without operator")
	case *planv1.Expression_Not:
		return &expr.Not{At: pos, X: d.expr(x.Not.GetOperand(), depth)}
	case *planv1.Expression_IsNull:
		return &expr.IsNull{At: pos, X: d.expr(x.IsNull.GetOperand(), depth), Negated: x.IsNull.GetNegated()}
	case *planv1.Expression_Case:
		c := &expr.Case{At: pos, Typ: d.typ(x.Case.GetType(), 0)}
		for _, w := range x.Case.GetWhens() {
			c.Whens = append(c.Whens, expr.When{Cond: d.expr(w.GetCondition(), depth), Then: d.expr(w.GetResult(), depth)})
		}
		if x.Case.GetOtherwise() != nil {
			c.Else = d.expr(x.Case.GetOtherwise(), depth)
		}
		return c
	case *planv1.Expression_Cast:
		return &expr.Cast{At: pos, X: d.expr(x.Cast.GetOperand(), depth), To: d.typ(x.Cast.GetType(), 0), Try: x.Cast.GetTry()}
	case *planv1.Expression_In:
		return &expr.In{At: pos, X: d.expr(x.In.GetOperand(), depth), List: d.values(x.In.GetValues(), 0), Negated: x.In.GetNegated()}
	case *planv1.Expression_Call:
		return &expr.Call{At: pos, Func: x.Call.GetFunction(), Args: d.exprs(x.Call.GetArguments(), depth), Typ: d.typ(x.Call.GetType(), 0), User: d.user(x.Call.GetFunction(), x.Call.GetUser(), false)}
	default:
		d.fail("an expression is missing")
	}
	return nil
}

// user is the function that a call means, nil for a built-in one.
func (d *decoder) user(name string, m *planv1.UserFunction, aggregate bool) *function.Signature {
	if m == nil || d.err != nil {
		return nil
	}
	s := d.library.Find(name, m.GetParameters(), m.GetVersion())
	if s == nil || s.IsAggregate() != aggregate {
		d.fail("this process does not have function %s(%s), version %q", name, strings.Join(m.GetParameters(), ", "), m.GetVersion())
		return nil
	}
	return s
}

func (d *decoder) typ(m *planv1.Type, depth int) sqltype.Type {
	t := sqltype.Type{Kind: sqltype.Kind(m.GetKind()), Precision: uint8(m.GetPrecision()), Scale: uint8(m.GetScale())}
	switch {
	case depth > maxTypeNesting:
		d.fail("a type nested more than %d deep", maxTypeNesting)
		return t
	case m.GetKind() == planv1.TypeKind_TYPE_KIND_UNSPECIFIED:
		d.fail("a type is missing")
	case t.Kind == sqltype.Decimal && (m.GetPrecision() < 1 || m.GetPrecision() > sqltype.MaxPrecision || m.GetScale() > m.GetPrecision()):
		d.fail("type DECIMAL(%d,%d)", m.GetPrecision(), m.GetScale())
	case t.Kind != sqltype.Decimal && (m.GetPrecision() != 0 || m.GetScale() != 0):
		d.fail("type %s with digits", t)
	case (t.Kind == sqltype.List) != (m.GetElement() != nil), (t.Kind == sqltype.Struct) != (len(m.GetFields()) > 0):
		d.fail("type %s with wrong parts", t)
	}
	if m.GetElement() != nil {
		elem := d.typ(m.GetElement(), depth+1)
		t.Elem = &elem
	}
	for _, f := range m.GetFields() {
		t.Fields = append(t.Fields, sqltype.Field{Name: f.GetName(), Type: d.typ(f.GetType(), depth+1)})
	}
	return t
}

func (d *decoder) values(in []*planv1.Value, depth int) []expr.Value {
	var out []expr.Value
	for _, m := range in {
		out = append(out, d.value(m, depth))
	}
	return out
}

func (d *decoder) value(m *planv1.Value, depth int) expr.Value {
	v := expr.Value{Type: d.typ(m.GetType(), 0)}
	if d.err != nil || depth > maxTypeNesting {
		d.fail("a value nested more than %d deep", maxTypeNesting)
		return v
	}
	ok := false
	k := v.Type.Kind
	switch x := m.GetValue().(type) {
	case *planv1.Value_Null:
		v.Null, ok = true, true
	case *planv1.Value_Bool:
		if x.Bool {
			v.Int = 1
		}
		ok = k == sqltype.Bool
	case *planv1.Value_Int:
		v.Int, ok = x.Int, fitsInt(k, x.Int)
	case *planv1.Value_Uint:
		v.Int, ok = int64(x.Uint), k == sqltype.Uint64 || k == sqltype.Uint32 && x.Uint < 1<<32 || k == sqltype.Uint16 && x.Uint < 1<<16 || k == sqltype.Uint8 && x.Uint < 1<<8
	case *planv1.Value_Float:
		v.Float, ok = x.Float, v.Type.IsFloat()
	case *planv1.Value_Wide:
		v.Wide, ok = int128.Int128{Hi: x.Wide.GetHigh(), Lo: x.Wide.GetLow()}, k == sqltype.UUID || k == sqltype.Decimal
		ok = ok && (k != sqltype.Decimal || v.Wide.FitsDigits(int(v.Type.Precision)))
	case *planv1.Value_Text:
		v.Str, ok = x.Text, k == sqltype.Utf8 && utf8.ValidString(x.Text)
	case *planv1.Value_Binary:
		v.Str, ok = string(x.Binary), k == sqltype.Binary
	case *planv1.Value_Interval:
		v.Months, v.Days, v.Int, ok = x.Interval.GetMonths(), x.Interval.GetDays(), x.Interval.GetMicros(), k == sqltype.Interval
	case *planv1.Value_Elements:
		parts := d.values(x.Elements.GetValues(), depth+1)
		ok = k == sqltype.List || k == sqltype.Struct && len(parts) == len(v.Type.Fields)
		for i, e := range parts {
			ok = ok && (k == sqltype.List && e.Type.Equal(*v.Type.Elem) || k == sqltype.Struct && e.Type.Equal(v.Type.Fields[i].Type))
		}
		if ok && d.err == nil {
			v = expr.NestedOf(v.Type, parts)
		}
	}
	if !ok {
		d.fail("a value that is no %s", v.Type)
	}
	return v
}

func fitsInt(k sqltype.Kind, i int64) bool {
	switch k {
	case sqltype.Int8:
		return int64(int8(i)) == i
	case sqltype.Int16:
		return int64(int16(i)) == i
	case sqltype.Int32, sqltype.Date:
		return int64(int32(i)) == i
	case sqltype.Int64, sqltype.Time, sqltype.Timestamp, sqltype.TimestampTZ:
		return true
	}
	return false
}
