package ast

import "iter"

// Walk calls visit for n and for everything below it, parents before children and children in the order of the text. Where visit
// returns false, what is below that node is left out. n may be a nil interface, but not a nil pointer in one.
func Walk(n Node, visit func(Node) bool) {
	if n == nil || !visit(n) {
		return
	}
	for c := range Children(n) {
		Walk(c, visit)
	}
}

// Children gives the nodes directly below n, in the order of the text and without nils. Names (Ident, ObjectName) are fields, not
// children; pieces that are no pointers (Option, FrameBound, StructField, TypeField) are passed over for what is below them.
func Children(n Node) iter.Seq[Node] {
	return func(yield func(Node) bool) {
		c := children{yield: yield}
		c.of(n)
	}
}

// children hands nodes to yield until it says stop.
type children struct {
	yield func(Node) bool
	done  bool
}

// one passes on what a field of interface type holds.
func (c *children) one(n Node) {
	if !c.done && n != nil && !c.yield(n) {
		c.done = true
	}
}

// opt passes on what a field of pointer type holds, for which a nil pointer is not a nil Node.
func opt[T any, P interface {
	*T
	Node
}](c *children, n P,
) {
	if n != nil {
		c.one(n)
	}
}

func each[N Node](c *children, ns []N) {
	for _, n := range ns {
		c.one(n)
	}
}

func (c *children) options(os []Option) {
	for _, o := range os {
		c.one(o.Value)
	}
}

func (c *children) of(n Node) {
	switch n := n.(type) {
	case Statement:
		c.ofStatement(n)
	case Expr:
		c.ofExpr(n)
	case TableRef:
		c.ofTableRef(n)
	default:
		c.ofPart(n)
	}
}

func (c *children) ofStatement(n Statement) {
	switch n := n.(type) {
	case *QueryStatement:
		opt(c, n.Query)
	case *Explain:
		c.options(n.Options)
		c.one(n.Statement)
	case *CreateTable:
		each(c, n.Columns)
		each(c, n.Constraints)
		opt(c, n.Query)
	case *CreateView:
		opt(c, n.Query)
	case *CreateExternalTable:
		each(c, n.Columns)
		each(c, n.Constraints)
		each(c, n.PartitionedBy)
		for _, o := range n.WithOrder {
			each(c, o)
		}
		opt(c, n.Location)
		c.options(n.Options)
	case *CreateSchema, *Drop, *Reset, *Deallocate, *Transaction:
	case *Insert:
		opt(c, n.Query)
	case *Copy:
		opt(c, n.Query)
		opt(c, n.To)
		c.options(n.Options)
	case *Describe:
		opt(c, n.File)
		opt(c, n.Query)
	case *Show:
		opt(c, n.Like)
		c.one(n.Where)
	case *Set:
		each(c, n.Values)
	case *Prepare:
		each(c, n.Types)
		c.one(n.Statement)
	case *Execute:
		each(c, n.Args)
	}
}

func (c *children) ofTableRef(n TableRef) {
	switch n := n.(type) {
	case *Table:
		opt(c, n.Alias)
	case *FileTable:
		opt(c, n.Alias)
	case *TableFunction:
		opt(c, n.Call)
		opt(c, n.Alias)
	case *DerivedTable:
		opt(c, n.Query)
		opt(c, n.Alias)
	case *Join:
		c.one(n.Left)
		c.one(n.Right)
		c.one(n.On)
		opt(c, n.Alias)
	}
}

func (c *children) ofExpr(n Expr) {
	switch n := n.(type) {
	case *Literal, *ColumnRef, *Param, *Default:
	case *TypedLiteral:
		opt(c, n.Type)
	case *Interval:
		c.one(n.Value)
	case *Unary:
		c.one(n.Expr)
	case *Binary:
		c.one(n.Left)
		c.one(n.Right)
	case *And:
		each(c, n.Args)
	case *Or:
		each(c, n.Args)
	case *Not:
		c.one(n.Expr)
	case *Is:
		c.one(n.Expr)
	case *IsDistinct:
		c.one(n.Left)
		c.one(n.Right)
	case *Between:
		c.one(n.Expr)
		c.one(n.Low)
		c.one(n.High)
	case *InList:
		c.one(n.Expr)
		each(c, n.List)
	case *InSubquery:
		c.one(n.Expr)
		opt(c, n.Query)
	case *Like:
		c.one(n.Expr)
		c.one(n.Pattern)
		c.one(n.Escape)
	case *Quantified:
		c.one(n.Left)
		opt(c, n.Query)
		c.one(n.Array)
	case *Exists:
		opt(c, n.Query)
	case *ScalarSubquery:
		opt(c, n.Query)
	case *ArraySubquery:
		opt(c, n.Query)
	case *Case:
		c.one(n.Operand)
		each(c, n.Whens)
		c.one(n.Else)
	case *Cast:
		c.one(n.Expr)
		opt(c, n.Type)
	case *Collate:
		c.one(n.Expr)
	case *FuncCall:
		each(c, n.Args)
		each(c, n.OrderBy)
		each(c, n.WithinGroup)
		c.one(n.Filter)
		opt(c, n.Over)
	case *Row:
		each(c, n.Items)
	case *Array:
		each(c, n.Items)
	case *Struct:
		for _, f := range n.Fields {
			c.one(f.Value)
		}
	case *Map:
		for i := range n.Keys {
			c.one(n.Keys[i])
			c.one(n.Values[i])
		}
	case *Index:
		c.one(n.Expr)
		c.one(n.Index)
	case *Slice:
		c.one(n.Expr)
		c.one(n.Low)
		c.one(n.High)
		c.one(n.Step)
	case *FieldAccess:
		c.one(n.Expr)
	}
}

// ofPart is for the nodes that belong to no interface but Node and QueryBody.
func (c *children) ofPart(n Node) {
	switch n := n.(type) {
	case Ident, ObjectName, *Ident, *ObjectName, *TableAlias:
	case *Query:
		opt(c, n.With)
		c.one(n.Body)
		each(c, n.OrderBy)
		c.one(n.Limit)
		c.one(n.Offset)
	case *With:
		each(c, n.CTEs)
	case *CTE:
		opt(c, n.Query)
	case *Select:
		opt(c, n.Distinct)
		each(c, n.Items)
		each(c, n.From)
		c.one(n.Where)
		opt(c, n.GroupBy)
		c.one(n.Having)
		each(c, n.Windows)
		c.one(n.Qualify)
	case *Distinct:
		each(c, n.On)
	case *SelectExpr:
		c.one(n.Expr)
	case *Star:
		each(c, n.Replace)
	case *SetOperation:
		c.one(n.Left)
		c.one(n.Right)
	case *Values:
		each(c, n.Rows)
	case *TableQuery:
	case *GroupBy:
		each(c, n.Sets)
	case *Grouping:
		each(c, n.Exprs)
		each(c, n.Sets)
	case *OrderItem:
		c.one(n.Expr)
	case *NamedWindow:
		opt(c, n.Spec)
	case *WindowSpec:
		each(c, n.PartitionBy)
		each(c, n.OrderBy)
		opt(c, n.Frame)
	case *Frame:
		c.one(n.Start.Offset)
		c.one(n.End.Offset)
	case *When:
		c.one(n.Cond)
		c.one(n.Result)
	case *Arg:
		c.one(n.Value)
	case *ColumnDef:
		opt(c, n.Type)
		c.one(n.Default)
		c.one(n.Check)
	case *TableConstraint:
		c.one(n.Check)
	case *TypeName:
		each(c, n.Mods)
		for _, f := range n.Fields {
			opt(c, f.Type)
		}
	}
}
