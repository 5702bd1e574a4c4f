package codec

import (
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/function"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
	planv1 "github.com/fletchdb/fletch/gen/go/fletch/plan/v1"
)

// encoder keeps the first error; what it gives after one means nothing.
type encoder struct{ err error }

func (e *encoder) fail(format string, args ...any) {
	if e.err == nil {
		e.err = sqlerr.Newf(sqlerr.Internal, sqlerr.Pos{}, "encode plan: "+format, args...)
	}
}

func estimated(est physical.Est) *float64 {
	if est.Rows < 0 || est.Rows == 0 {
		return nil
	}
	return &est.Rows
}

func (e *encoder) node(n physical.Node) *planv1.Node {
	switch n := n.(type) {
	case *physical.Scan:
		m := &planv1.Scan{Table: n.Table, Format: formats.to(n.Format), Filter: e.expr(n.Filter)}
		for _, f := range n.Files {
			file := &planv1.File{Path: f.Path, Size: uint64(f.Size), ModTime: f.ModTime, FooterHash: f.FooterHash}
			if f.RowGroups != nil {
				file.RowGroups = &planv1.Indexes{}
				for _, g := range f.RowGroups {
					file.RowGroups.Values = append(file.RowGroups.Values, uint32(g))
				}
			}
			m.Files = append(m.Files, file)
		}
		for _, c := range n.Columns {
			m.Columns = append(m.Columns, &planv1.ScanColumn{Name: c.Name, Index: uint32(c.Index), Type: e.typ(c.Type), Nullable: c.Nullable})
		}
		for _, r := range n.Runtime {
			m.RuntimeProbes = append(m.RuntimeProbes, &planv1.RuntimeProbe{Filter: uint32(r.Filter), Column: uint32(r.Column)})
		}
		return &planv1.Node{EstimatedRows: estimated(n.Est), Node: &planv1.Node_Scan{Scan: m}}
	case *physical.Values:
		m := &planv1.ConstantRows{Fields: e.fields(n.Fields)}
		for _, row := range n.Rows {
			m.Rows = append(m.Rows, e.values(row))
		}
		return &planv1.Node{Node: &planv1.Node_ConstantRows{ConstantRows: m}}
	case *physical.Expand:
		return &planv1.Node{EstimatedRows: estimated(n.Est), Node: &planv1.Node_Expand{Expand: &planv1.Expand{
			Input: e.node(n.Input), Lists: e.exprs(n.Lists), Ordinality: n.Ordinality, Names: n.Names,
		}}}
	case *physical.Recursive:
		return &planv1.Node{Node: &planv1.Node_Recursive{Recursive: &planv1.Recursive{
			Id: uint32(n.ID), Base: e.node(n.Base), Step: e.node(n.Step), All: n.All, Fields: e.fields(n.Fields),
		}}}
	case *physical.Working:
		return &planv1.Node{Node: &planv1.Node_Working{Working: &planv1.Working{Id: uint32(n.ID), Fields: e.fields(n.Fields)}}}
	case *physical.Filter:
		return &planv1.Node{EstimatedRows: estimated(n.Est), Node: &planv1.Node_Filter{Filter: &planv1.Filter{Input: e.node(n.Input), Condition: e.expr(n.Cond)}}}
	case *physical.Project:
		return &planv1.Node{Node: &planv1.Node_Project{Project: &planv1.Project{Input: e.node(n.Input), Expressions: e.exprs(n.Exprs), Names: n.Names}}}
	case *physical.Aggregate:
		m := &planv1.Aggregate{Input: e.node(n.Input), Mode: aggModes.to(n.Mode), Groups: e.exprs(n.Groups), Names: n.Names}
		for _, a := range n.Aggs {
			m.Aggregates = append(m.Aggregates, &planv1.AggregateCall{
				Function: a.Func, Arguments: e.exprs(a.Args), Distinct: a.Distinct, Filter: e.expr(a.Filter), Type: e.typ(a.Typ), Position: position(a.P),
				OrderBy: e.orders(a.OrderBy), User: user(a.User),
			})
		}
		return &planv1.Node{EstimatedRows: estimated(n.Est), Node: &planv1.Node_Aggregate{Aggregate: m}}
	case *physical.HashJoin:
		m := &planv1.HashJoin{
			Kind: joinKinds.to(n.Kind), Probe: e.node(n.Probe), Build: e.node(n.Build), ProbeKeys: e.exprs(n.ProbeKeys), BuildKeys: e.exprs(n.BuildKeys),
			Residual: e.expr(n.Residual), NullAware: n.NullAware, NullEqual: n.NullEqual, Output: e.optionalIndexes(n.Output),
		}
		for _, r := range n.Runtime {
			m.RuntimeBuilds = append(m.RuntimeBuilds, &planv1.RuntimeBuild{Filter: uint32(r.Filter), Key: uint32(r.Key)})
		}
		return &planv1.Node{EstimatedRows: estimated(n.Est), Node: &planv1.Node_HashJoin{HashJoin: m}}
	case *physical.LoopJoin:
		m := &planv1.LoopJoin{Kind: joinKinds.to(n.Kind), Probe: e.node(n.Probe), Build: e.node(n.Build), Condition: e.expr(n.Cond), Output: e.optionalIndexes(n.Output)}
		return &planv1.Node{EstimatedRows: estimated(n.Est), Node: &planv1.Node_LoopJoin{LoopJoin: m}}
	case *physical.Sort:
		m := &planv1.Sort{Input: e.node(n.Input), Keys: e.keys(n.Keys), Fetch: fetch(n.Fetch), Offset: uint64(n.Offset)}
		return &planv1.Node{EstimatedRows: estimated(n.Est), Node: &planv1.Node_Sort{Sort: m}}
	case *physical.Limit:
		return &planv1.Node{Node: &planv1.Node_Limit{Limit: &planv1.Limit{Input: e.node(n.Input), Fetch: fetch(n.Fetch), Offset: uint64(n.Offset)}}}
	case *physical.Union:
		m := &planv1.Union{}
		for _, in := range n.Inputs {
			m.Inputs = append(m.Inputs, e.node(in))
		}
		return &planv1.Node{Node: &planv1.Node_Union{Union: m}}
	case *physical.Exchange:
		m := &planv1.Exchange{Input: e.node(n.Input), Kind: exchangeKinds.to(n.Kind), Keys: e.indexes(n.Keys), Merge: e.keys(n.Merge)}
		return &planv1.Node{Node: &planv1.Node_Exchange{Exchange: m}}
	case *physical.Remote:
		m := &planv1.Remote{Stage: uint32(n.Stage), Reader: uint32(n.Reader), Fields: e.fields(n.Fields), Merge: e.keys(n.Merge)}
		return &planv1.Node{EstimatedRows: estimated(n.Est), Node: &planv1.Node_Remote{Remote: m}}
	}
	if w, ok := n.(*physical.Window); ok {
		return e.window(w)
	}
	e.fail("operator %T", n)
	return nil
}

func (e *encoder) window(n *physical.Window) *planv1.Node {
	m := &planv1.Window{Input: e.node(n.Input), Partition: e.exprs(n.Partition), Order: e.keys(n.Order), Names: n.Names}
	for _, c := range n.Calls {
		m.Calls = append(m.Calls, &planv1.WindowCall{
			Function: c.Func, Arguments: e.exprs(c.Args), Distinct: c.Distinct, Filter: e.expr(c.Filter), IgnoreNulls: c.IgnoreNulls, Type: e.typ(c.Typ),
			Position: position(c.Pos.P), User: user(c.User), Frame: &planv1.Frame{
				Unit: planv1.FrameUnit(c.Frame.Unit) + 1, Start: e.bound(c.Frame.Start), End: e.bound(c.Frame.End), Exclusion: planv1.FrameExclusion(c.Frame.Exclude) + 1,
			},
		})
	}
	return &planv1.Node{Node: &planv1.Node_Window{Window: m}}
}

func (e *encoder) bound(b physical.Bound) *planv1.FrameBound {
	m := &planv1.FrameBound{Kind: planv1.FrameBoundKind(b.Kind) + 1}
	if b.Kind == physical.Preceding || b.Kind == physical.Following {
		m.Offset = e.value(b.Offset)
	}
	return m
}

func fetch(n int64) *uint64 {
	if n < 0 {
		return nil
	}
	u := uint64(n)
	return &u
}

func (e *encoder) indexes(in []int) []uint32 {
	var out []uint32
	for _, i := range in {
		out = append(out, uint32(i))
	}
	return out
}

func (e *encoder) optionalIndexes(in []int) *planv1.Indexes {
	if in == nil {
		return nil
	}
	return &planv1.Indexes{Values: e.indexes(in)}
}

func (e *encoder) fields(in []physical.Field) []*planv1.Field {
	var out []*planv1.Field
	for _, f := range in {
		out = append(out, &planv1.Field{Name: f.Name, Type: e.typ(f.Type), Nullable: f.Nullable})
	}
	return out
}

func (e *encoder) keys(in []physical.SortKey) []*planv1.SortKey {
	var out []*planv1.SortKey
	for _, k := range in {
		out = append(out, &planv1.SortKey{Expression: e.expr(k.Expr), Descending: k.Desc, NullsFirst: k.NullsFirst})
	}
	return out
}

func (e *encoder) orders(in []expr.SortOrder) []*planv1.SortKey {
	var out []*planv1.SortKey
	for _, k := range in {
		out = append(out, &planv1.SortKey{Expression: e.expr(k.Expr), Descending: k.Desc, NullsFirst: k.NullsFirst})
	}
	return out
}

func position(p sqlerr.Pos) *planv1.Position {
	if p.IsZero() {
		return nil
	}
	return &planv1.Position{Start: uint32(p.Start), End: uint32(p.End)}
}

func (e *encoder) exprs(in []expr.Expr) []*planv1.Expression {
	var out []*planv1.Expression
	for _, x := range in {
		out = append(out, e.expr(x))
	}
	return out
}

func (e *encoder) expr(x expr.Expr) *planv1.Expression {
	if x == nil {
		return nil
	}
	m := &planv1.Expression{Position: position(x.Pos())}
	switch x := x.(type) {
	case *expr.Input:
		m.Expression = &planv1.Expression_Input{Input: &planv1.Input{Index: uint32(x.Index), Name: x.Name, Type: e.typ(x.Typ), Nullable: x.Nullable}}
	case *expr.Literal:
		m.Expression = &planv1.Expression_Literal{Literal: e.value(x.Value)}
	case *expr.Compare:
		m.Expression = &planv1.Expression_Compare{Compare: &planv1.Compare{Op: planv1.CompareOp(x.Op) + 1, Left: e.expr(x.L), Right: e.expr(x.R)}}
	case *expr.Logic:
		m.Expression = &planv1.Expression_Logic{Logic: &planv1.Logic{Op: planv1.LogicOp(x.Op) + 1, Arguments: e.exprs(x.Args)}}
	case *expr.Not:
		m.Expression = &planv1.Expression_Not{Not: &planv1.Not{Operand: e.expr(x.X)}}
	case *expr.IsNull:
		m.Expression = &planv1.Expression_IsNull{IsNull: &planv1.IsNull{Operand: e.expr(x.X), Negated: x.Negated}}
	case *expr.Case:
		c := &planv1.Case{Otherwise: e.expr(x.Else), Type: e.typ(x.Typ)}
		for _, w := range x.Whens {
			c.Whens = append(c.Whens, &planv1.When{Condition: e.expr(w.Cond), Result: e.expr(w.Then)})
		}
		m.Expression = &planv1.Expression_Case{Case: c}
	case *expr.Cast:
		m.Expression = &planv1.Expression_Cast{Cast: &planv1.Cast{Operand: e.expr(x.X), Type: e.typ(x.To), Try: x.Try}}
	case *expr.In:
		m.Expression = &planv1.Expression_In{In: &planv1.In{Operand: e.expr(x.X), Values: e.values(x.List).GetValues(), Negated: x.Negated}}
	case *expr.Call:
		m.Expression = &planv1.Expression_Call{Call: &planv1.Call{Function: x.Func, Arguments: e.exprs(x.Args), Type: e.typ(x.Typ), User: user(x.User)}}
	default:
		e.fail("expression %T", x)
	}
	return m
}

func user(s *function.Signature) *planv1.UserFunction {
	if s == nil {
		return nil
	}
	return &planv1.UserFunction{Parameters: s.Parameters(), Version: s.Version}
}

func (e *encoder) typ(t sqltype.Type) *planv1.Type {
	m := &planv1.Type{Kind: planv1.TypeKind(t.Kind), Precision: uint32(t.Precision), Scale: uint32(t.Scale)}
	if t.Kind == sqltype.Invalid || int(t.Kind) >= len(planv1.TypeKind_name) {
		e.fail("type %s", t)
	}
	if t.Elem != nil {
		m.Element = e.typ(*t.Elem)
	}
	for _, f := range t.Fields {
		m.Fields = append(m.Fields, &planv1.TypeField{Name: f.Name, Type: e.typ(f.Type)})
	}
	return m
}

func (e *encoder) values(in []expr.Value) *planv1.Values {
	m := &planv1.Values{}
	for _, v := range in {
		m.Values = append(m.Values, e.value(v))
	}
	return m
}

func (e *encoder) value(v expr.Value) *planv1.Value {
	m := &planv1.Value{Type: e.typ(v.Type)}
	if v.Null {
		m.Value = &planv1.Value_Null{Null: &planv1.NullValue{}}
		return m
	}
	switch k := v.Type.Kind; k {
	case sqltype.Bool:
		m.Value = &planv1.Value_Bool{Bool: v.Int != 0}
	case sqltype.Int8, sqltype.Int16, sqltype.Int32, sqltype.Int64, sqltype.Date, sqltype.Time, sqltype.Timestamp, sqltype.TimestampTZ:
		m.Value = &planv1.Value_Int{Int: v.Int}
	case sqltype.Uint8, sqltype.Uint16, sqltype.Uint32, sqltype.Uint64:
		m.Value = &planv1.Value_Uint{Uint: uint64(v.Int)}
	case sqltype.Float32, sqltype.Float64:
		m.Value = &planv1.Value_Float{Float: v.Float}
	case sqltype.Decimal, sqltype.UUID:
		m.Value = &planv1.Value_Wide{Wide: &planv1.Wide{High: v.Wide.Hi, Low: v.Wide.Lo}}
	case sqltype.Utf8:
		m.Value = &planv1.Value_Text{Text: v.Str}
	case sqltype.Binary:
		m.Value = &planv1.Value_Binary{Binary: []byte(v.Str)}
	case sqltype.Interval:
		m.Value = &planv1.Value_Interval{Interval: &planv1.Interval{Months: v.Months, Days: v.Days, Micros: v.Int}}
	case sqltype.List, sqltype.Struct:
		m.Value = &planv1.Value_Elements{Elements: e.values(v.Parts())}
	default:
		e.fail("value of type %s", v.Type)
	}
	return m
}
