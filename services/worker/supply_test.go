package worker_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"connectrpc.com/connect/v2"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/fletchdb/fletch/engine/codec"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/sqltype"
	workerv1 "github.com/fletchdb/fletch/gen/go/fletch/worker/v1"
	"github.com/fletchdb/fletch/gen/go/fletch/worker/v1/workerv1connect"
	"github.com/fletchdb/fletch/services/internal/arrowwire"
	"github.com/fletchdb/fletch/services/internal/pull"
)

var supplySpec = connect.Spec{
	StreamType: connect.StreamTypeClient, Procedure: workerv1connect.WorkerServiceSupplyProcedure,
	Schema: workerv1.File_fletch_worker_v1_worker_proto.Services().ByName("WorkerService").Methods().ByName("Supply"),
}

// supplied is a plan that gives the rows of its input of stage 1, which is supplied.
func supplied(t *testing.T, query string, memory uint64) *workerv1.SetPlanRequest {
	t.Helper()
	f, err := codec.Encode(
		&physical.Remote{Stage: 1, Fields: []physical.Field{{Name: "x", Type: sqltype.Of(sqltype.Int64), Nullable: true}}},
		physical.Output{Kind: physical.Gather, Partitions: 1, Consumers: 1},
	)
	if err != nil {
		t.Fatal(err)
	}
	return &workerv1.SetPlanRequest{
		Key: &workerv1.TaskKey{Query: query, Attempt: 1}, Fragment: f, Token: token, Inputs: []*workerv1.StageInput{{Stage: 1, Supplied: true}},
		Options: &workerv1.TaskOptions{MemoryLimit: memory},
	}
}

// supply sends a Supply: what start says, then batches of rows, then what end does. It gives the worker's answer.
func (c *caller) supply(start *workerv1.SupplyStart, batches, rows int, end func(*arrowwire.Writer) error) error {
	c.t.Helper()
	ctx, cancel := context.WithCancel(c.t.Context())
	defer cancel()
	stream, err := pull.Client(c.dialer, c.url, c.self).CallClientStream(ctx, supplySpec)
	if err != nil {
		return err
	}
	defer func() { _ = stream.Close() }()
	send := func() error {
		m, err := arrowwire.Start(start)
		if err != nil {
			return err
		}
		if err := stream.Send(m); err != nil {
			return err
		}
		schema := arrow.NewSchema([]arrow.Field{{Name: "x", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
		w, err := arrowwire.NewWriterTo(stream, schema)
		if err != nil {
			return err
		}
		b := array.NewInt64Builder(memory.DefaultAllocator)
		for range batches {
			b.AppendValues(make([]int64, rows), nil)
			if err := w.Write(array.NewRecordBatch(schema, []arrow.Array{b.NewArray()}, int64(rows))); err != nil {
				return err
			}
		}
		return end(w)
	}
	if err := send(); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	_ = stream.CloseSend()
	return stream.Receive(&workerv1.SupplyResponse{})
}

func whole(w *arrowwire.Writer) error { return w.End() }

func TestSupply(t *testing.T) {
	c := start(t)
	c.open("q1", 1, 0)
	plan := supplied(t, "q1", 0)
	c.set(plan)
	this := func() *workerv1.SupplyStart { return &workerv1.SupplyStart{Key: plan.GetKey(), Stage: 1, Token: token} }
	for _, tc := range []struct {
		name   string
		change func(*workerv1.SupplyStart)
		want   connect.Code
	}{
		{"no key", func(s *workerv1.SupplyStart) { s.Key = nil }, connect.CodeNotFound},
		{"another attempt", func(s *workerv1.SupplyStart) { s.Key = &workerv1.TaskKey{Query: "q1", Attempt: 2} }, connect.CodeNotFound},
		{"another task", func(s *workerv1.SupplyStart) { s.Key = &workerv1.TaskKey{Query: "q1", Attempt: 1, Task: 1} }, connect.CodeNotFound},
		{"another input", func(s *workerv1.SupplyStart) { s.Stage = 1<<32 - 1 }, connect.CodeNotFound},
		{"no token", func(s *workerv1.SupplyStart) { s.Token = nil }, connect.CodePermissionDenied},
	} {
		s := this()
		tc.change(s)
		refused(t, tc.name, c.supply(s, 1, 1, whole), tc.want)
	}
	if err := c.supply(this(), 3, 1000, whole); err != nil {
		t.Fatalf("a supply before anybody reads the task: %v", err)
	}
	refused(t, "a second supply", c.supply(this(), 1, 1, whole), connect.CodeAlreadyExists)
	if n := rows(t, c.pull(t.Context(), plan.GetKey(), 0, 0, token)); n != 3000 {
		t.Errorf("%d rows of 3000", n)
	}
}

// A stream that stops before its end, or a start that is none, fails the task: it is never taken for the whole table.
func TestSupplyThatIsNotComplete(t *testing.T) {
	c := start(t)
	for query, end := range map[string]func(*arrowwire.Writer) error{
		"q1": func(*arrowwire.Writer) error { return nil },
		"q2": func(w *arrowwire.Writer) error { return w.Write(nothing()) },
	} {
		_, done := c.open(query, 1, 0)
		plan := supplied(t, query, 0)
		c.set(plan)
		if err := c.supply(&workerv1.SupplyStart{Key: plan.GetKey(), Stage: 1, Token: token}, 1, 5, end); err == nil {
			t.Errorf("%s was taken", query)
		}
		s := c.pull(t.Context(), plan.GetKey(), 0, 0, token)
		var err error
		for err == nil {
			_, err = s.Next()
		}
		if errors.Is(err, io.EOF) {
			t.Errorf("%s: the task ended well", query)
		}
		done()
	}
	stream, err := pull.Client(c.dialer, c.url, c.self).CallClientStream(t.Context(), supplySpec)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Close() }()
	m, err := arrowwire.End(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = stream.Send(m), stream.CloseSend()
	refused(t, "no start", stream.Receive(&workerv1.SupplyResponse{}), connect.CodeInvalidArgument)
}

func nothing() arrow.RecordBatch {
	schema := arrow.NewSchema([]arrow.Field{{Name: "x", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
	b := array.NewInt64Builder(memory.DefaultAllocator)
	return array.NewRecordBatch(schema, []arrow.Array{b.NewArray()}, 0)
}

// Rows that wait for the task count in the attempt's memory; a task of which nobody wants a row takes none.
func TestSupplyIsBounded(t *testing.T) {
	c := start(t)
	c.open("q1", 1, 0)
	plan := supplied(t, "q1", 1<<20)
	c.set(plan)
	refused(t, "too many rows", c.supply(&workerv1.SupplyStart{Key: plan.GetKey(), Stage: 1, Token: token}, 20, 20_000, whole), connect.CodeResourceExhausted)
	c.open("few", 1, 0)
	plan = supplied(t, "few", 1<<20)
	c.set(plan)
	refused(t, "too many batches of few rows", c.supply(&workerv1.SupplyStart{Key: plan.GetKey(), Stage: 1, Token: token}, 2000, 1, whole), connect.CodeResourceExhausted)
	c.open("q2", 1, 0)
	plan = supplied(t, "q2", 1<<20)
	c.set(plan)
	stream, err := c.ExecuteTask(t.Context(), &workerv1.ExecuteTaskRequest{Key: plan.GetKey(), Token: token, Unwanted: true})
	if err == nil {
		_, err = stream.Receive()
	}
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if err := c.supply(&workerv1.SupplyStart{Key: plan.GetKey(), Stage: 1, Token: token}, 20, 20_000, whole); err != nil {
		t.Errorf("a task that wants no row: %v", err)
	}
}
