package batchtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/fletchdb/fletch/engine/budget"
	"github.com/fletchdb/fletch/engine/exec"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/vector"
)

// A Plan makes the plan under test over its inputs.
type Plan func(in ...physical.Node) physical.Node

// Run checks that plan gives the rows of want, in any order, over every shape of its inputs: batches of 1, 7 and 4096 rows, with
// selections, all forms of vectors, and 1 and 4 goroutines. Then, that it ends well when its reader has enough after one
// batch, when an input fails, and when all is NULL; and that no memory stays reserved.
func Run(t *testing.T, want Table, plan Plan, in ...Table) {
	t.Helper()
	run(t, want, plan, false, in)
}

// RunOrdered is Run for a plan whose rows have an order.
func RunOrdered(t *testing.T, want Table, plan Plan, in ...Table) {
	t.Helper()
	run(t, want, plan, true, in)
}

var errSource = errors.New("the source failed")

func run(t *testing.T, want Table, plan Plan, ordered bool, in []Table) {
	t.Helper()
	seed := uint64(0)
	for _, rows := range []int{1, 7, 4096} {
		for _, threads := range []int{1, 4} {
			for _, mixed := range []bool{false, true} {
				if rows == 1 && len(in) > 0 && len(in[0].Rows) > 5000 {
					continue
				}
				seed++
				shape := Shape{Rows: rows, Select: mixed, Forms: mixed, Seed: seed}
				got, err := Execute(t, plan, threads, shape, in...)
				what := fmt.Sprintf("batches of %d, %d goroutines, mixed %v", rows, threads, mixed)
				if err != nil {
					t.Errorf("%s: %v", what, err)
					return
				}
				Same(t, what, got, want, ordered)
				if t.Failed() {
					return
				}
			}
		}
	}
	for _, threads := range []int{1, 4} {
		few, err := execute(t, plan, threads, Shape{Rows: 7, Seed: 1}, 1, in)
		if err != nil || len(want.Rows) > 0 && len(few.Rows) == 0 {
			t.Errorf("early end, %d goroutines: %d rows, %v", threads, len(few.Rows), err)
		}
		if _, err := Execute(t, plan, threads, Shape{Rows: 7, Nulls: true}, in...); err != nil {
			t.Errorf("all NULL, %d goroutines: %v", threads, err)
		}
		// An input of one batch never comes to fail, and one that nobody reads neither.
		_, err = Execute(t, plan, threads, Shape{Rows: 1, Fail: errSource}, in...)
		if err != nil && !errors.Is(err, errSource) {
			t.Errorf("failing source, %d goroutines: %v", threads, err)
		}
	}
}

// Execute runs a plan once over inputs of one shape and gives its rows in the order they came.
func Execute(t testing.TB, plan Plan, threads int, shape Shape, in ...Table) (Table, error) {
	t.Helper()
	return execute(t, plan, threads, shape, 0, in)
}

func execute(t testing.TB, plan Plan, threads int, shape Shape, enough int, in []Table) (Table, error) {
	t.Helper()
	nodes, sources := make([]physical.Node, len(in)), map[*physical.Scan]*source{}
	for i, table := range in {
		scan := Scan(table)
		nodes[i] = scan
		s := shape
		s.Seed += uint64(i) << 32
		sources[scan] = NewSource(table, s).(*source)
	}
	root := plan(nodes...)
	mem := budget.New(0)
	env := &exec.Env{
		Threads: threads, BatchRows: shape.Rows, Budget: mem, Metrics: &exec.Metrics{},
		OpenScan: func(_ context.Context, n *physical.Scan) (exec.Source, error) { return sources[n], nil },
	}
	c := &Collect{table: Table{Fields: root.Schema()}, Enough: enough}
	err := exec.Run(t.Context(), root, env, c)
	if sqlerr.CodeOf(err) == sqlerr.Internal && err != nil && !errors.Is(err, shape.Fail) {
		t.Errorf("%v: %v", err, errors.Unwrap(err))
	}
	if used := mem.Used(); used != 0 {
		t.Errorf("%d bytes stay reserved", used)
	}
	for _, s := range sources {
		if n := s.open.Load(); n != 0 {
			t.Errorf("%d readers stay open", n)
		}
	}
	return c.table, err
}

// Scan is a leaf that stands for a table.
func Scan(t Table) *physical.Scan {
	s := &physical.Scan{Table: "test"}
	for i, f := range t.Fields {
		s.Columns = append(s.Columns, physical.ScanColumn{Name: f.Name, Index: i, Type: f.Type, Nullable: f.Nullable})
	}
	return s
}

// Collect is a sink that keeps rows, until it has Enough batches (0: never).
type Collect struct {
	Enough int

	mu      sync.Mutex
	table   Table
	batches int
}

// Table is what came.
func (c *Collect) Table() Table { return c.table }

// NewLocal is c itself: it locks.
func (c *Collect) NewLocal() (exec.Local, error) { return c, nil }

// Push keeps the rows of b.
func (c *Collect) Push(_ context.Context, b *vector.Batch) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := b.Rows()
	for i := range n {
		r := i
		if b.Sel != nil {
			r = int(b.Sel[i])
		}
		row := make([]expr.Value, len(b.Cols))
		for k, v := range b.Cols {
			row[k] = ValueAt(v, r)
		}
		c.table.Rows = append(c.table.Rows, row)
	}
	c.batches++
	if c.Enough > 0 && c.batches >= c.Enough {
		return exec.ErrDone
	}
	return nil
}

// Combine has nothing to do.
func (*Collect) Combine(context.Context, exec.Local) error { return nil }

// Finalize has nothing to do.
func (*Collect) Finalize(context.Context) error { return nil }

// Close has nothing to do.
func (*Collect) Close() error { return nil }
