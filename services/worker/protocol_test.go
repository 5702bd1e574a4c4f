package worker_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/fletchdb/fletch/engine"
	"github.com/fletchdb/fletch/engine/codec"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
	identityv1 "github.com/fletchdb/fletch/gen/go/fletch/identity/v1"
	planv1 "github.com/fletchdb/fletch/gen/go/fletch/plan/v1"
	workerv1 "github.com/fletchdb/fletch/gen/go/fletch/worker/v1"
	"github.com/fletchdb/fletch/gen/go/fletch/worker/v1/workerv1connect"
	"github.com/fletchdb/fletch/services/internal/clustertest"
	"github.com/fletchdb/fletch/services/internal/httpserve"
	"github.com/fletchdb/fletch/services/internal/pull"
	"github.com/fletchdb/fletch/services/internal/rpcerr"
	"github.com/fletchdb/fletch/services/resolver"
	"github.com/fletchdb/fletch/services/worker"
)

// A caller speaks with one worker as a coordinator does.
type caller struct {
	t      *testing.T
	url    string
	self   *identityv1.Identity
	dialer *httpserve.Dialer
	workerv1connect.WorkerServiceClient
}

func call(t *testing.T, url string) *caller {
	t.Helper()
	c := &caller{t: t, url: url, dialer: httpserve.NewDialer(&httpserve.Credentials{}, "")}
	t.Cleanup(c.dialer.Close)
	info, err := resolver.Info(t.Context(), c.dialer, url)
	if err != nil {
		t.Fatal(err)
	}
	c.self = &identityv1.Identity{
		Version: info.GetVersion(), Protocol: info.GetProtocol(), InstanceId: info.GetInstanceId(), Build: info.GetBuild(), Capabilities: info.GetCapabilitiesDigest(),
	}
	c.WorkerServiceClient = workerv1connect.NewWorkerServiceClient(pull.Client(c.dialer, url, c.self))
	return c
}

// open opens an attempt, which ends with the returned function at the latest.
func (c *caller) open(query string, attempt uint32, timeout time.Duration) (watch workerv1connect.WorkerServiceWatchClientStream, end func()) {
	c.t.Helper()
	ctx, cancel := context.WithCancel(c.t.Context())
	req := &workerv1.WatchRequest{Query: query, Attempt: attempt}
	if timeout > 0 {
		req.Timeout = durationpb.New(timeout)
	}
	watch, err := c.Watch(ctx, req)
	if err != nil {
		c.t.Fatal(err)
	}
	first, err := watch.Receive()
	if err != nil || first.GetOpened() == nil {
		c.t.Fatalf("the first message is %v, %v", first, err)
	}
	end = func() {
		cancel()
		_ = watch.Close()
	}
	c.t.Cleanup(end)
	return watch, end
}

var token = []byte("0123456789abcdef")

// plans are the requests of a statement spread over n tasks per stage, all on this worker.
func (c *caller) plans(query, statement string, n int) []*workerv1.SetPlanRequest {
	c.t.Helper()
	e, err := engine.Open(engine.Config{Tables: clustertest.TPCH(c.t)})
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	plan, err := e.Plan(c.t.Context(), statement)
	if err != nil {
		c.t.Fatal(err)
	}
	tasks := e.Tasks(plan, n)
	var out []*workerv1.SetPlanRequest
	for _, task := range tasks {
		fragment, err := codec.Encode(task.Root, task.Output)
		if err != nil {
			c.t.Fatal(err)
		}
		req := &workerv1.SetPlanRequest{Key: &workerv1.TaskKey{Query: query, Attempt: 1, Stage: task.Stage, Task: task.Task}, Fragment: fragment, Token: token}
		for _, in := range task.Inputs {
			input := &workerv1.StageInput{Stage: in.Stage, Partitioned: in.Partitioned, Shared: in.Shared, Reader: in.Reader}
			for _, p := range tasks {
				if p.Stage == in.Stage && in.Reads(task.Task, p.Task) {
					input.Producers = append(input.Producers, &workerv1.Producer{Task: p.Task, Url: c.url, Identity: c.self})
				}
			}
			req.Inputs = append(req.Inputs, input)
		}
		out = append(out, req)
	}
	return out
}

func (c *caller) set(plans ...*workerv1.SetPlanRequest) {
	c.t.Helper()
	for _, p := range plans {
		if _, err := c.SetPlan(c.t.Context(), p); err != nil {
			c.t.Fatal(err)
		}
	}
}

// pull asks for a partition.
func (c *caller) pull(ctx context.Context, key *workerv1.TaskKey, partition, consumer uint32, token []byte) *pull.Stream {
	c.t.Helper()
	s, err := pull.Open(ctx, c.dialer, &workerv1.Producer{Url: c.url, Identity: c.self}, &workerv1.ExecuteTaskRequest{Key: key, Partition: partition, Consumer: consumer, Token: token})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(s.Close)
	return s
}

// execute is an ExecuteTask as a client without our codec makes it, for its plain error.
func (c *caller) execute(req *workerv1.ExecuteTaskRequest) error {
	c.t.Helper()
	stream, err := c.ExecuteTask(c.t.Context(), req)
	if err != nil {
		return err
	}
	defer func() { _ = stream.Close() }()
	for {
		if _, err := stream.Receive(); err != nil {
			return err
		}
	}
}

func (c *caller) load() *identityv1.Load {
	c.t.Helper()
	info, err := c.WorkerInfo(c.t.Context(), &identityv1.WorkerInfoRequest{})
	if err != nil {
		c.t.Fatal(err)
	}
	return info.GetLoad()
}

// idle waits for the worker to hold nothing: a second, and what a loaded machine may take on top.
func (c *caller) idle() {
	c.t.Helper()
	limit := time.Now().Add(3 * time.Second)
	for {
		l := c.load()
		if l.GetAttempts() == 0 && l.GetTasks() == 0 && l.GetMemoryUsed() == 0 {
			return
		}
		if time.Now().After(limit) {
			c.t.Fatalf("the worker still holds %v", l)
		}
	}
}

// refused checks the code of an RPC's error.
func refused(t *testing.T, what string, err error, want connect.Code) {
	t.Helper()
	if connect.CodeOf(err) != want || err == nil {
		t.Errorf("%s: %v, not %v", what, err, want)
	}
}

func rows(t *testing.T, s *pull.Stream) (n int64) {
	t.Helper()
	for {
		rec, err := s.Next()
		if errors.Is(err, io.EOF) {
			return n
		}
		if err != nil {
			t.Fatal(err)
		}
		n += rec.NumRows()
	}
}

func start(t *testing.T, options ...worker.Option) *caller {
	t.Helper()
	return call(t, clustertest.Worker(t, append([]worker.Option{worker.WithVersion("v1"), worker.WithReadRoots(clustertest.TPCH(t))}, options...)...).URL())
}

func TestPlansNeedALease(t *testing.T) {
	c := start(t)
	plans := c.plans("q1", "SELECT count(*) FROM nation", 1)
	_, err := c.SetPlan(t.Context(), plans[0])
	refused(t, "a plan without a Watch", err, connect.CodeNotFound)

	watch, end := c.open("q1", 1, 0)
	c.set(plans...)
	c.set(plans...) // again: nothing happens
	other := proto.CloneOf(plans[0])
	other.Options = &workerv1.TaskOptions{BatchRows: 3}
	_, err = c.SetPlan(t.Context(), other)
	refused(t, "another plan for the same task", err, connect.CodeAlreadyExists)
	second, err := c.Watch(t.Context(), &workerv1.WatchRequest{Query: "q1", Attempt: 1})
	if err == nil {
		_, err = second.Receive()
		_ = second.Close()
	}
	refused(t, "a second Watch", err, connect.CodeAlreadyExists)
	if n := rows(t, c.pull(t.Context(), plans[0].GetKey(), 0, 0, token)); n != 1 {
		t.Errorf("%d rows", n)
	}
	for {
		m, err := watch.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if m.GetFinished() != nil {
			break
		}
	}
	end()
	c.idle()
	_, err = c.SetPlan(t.Context(), plans[0])
	refused(t, "a plan after the lease's end", err, connect.CodeNotFound)
	refused(t, "a task after the lease's end", c.execute(&workerv1.ExecuteTaskRequest{Key: plans[0].GetKey(), Token: token}), connect.CodeNotFound)
	again, err := c.Watch(t.Context(), &workerv1.WatchRequest{Query: "q1", Attempt: 1})
	if err == nil {
		_, err = again.Receive()
		_ = again.Close()
	}
	refused(t, "a Watch after the lease's end", err, connect.CodeAlreadyExists)
	c.open("q1", 2, 0) // another attempt is another attempt
}

func TestTasksAreHandedOutOnce(t *testing.T) {
	c := start(t)
	c.open("q1", 1, 0)
	plans := c.plans("q1", "SELECT l_orderkey, l_comment, count(*) FROM lineitem GROUP BY 1, 2", 2)
	c.set(plans...)
	producer := plans[len(plans)-1].GetKey()
	for _, tc := range []struct {
		name string
		req  *workerv1.ExecuteTaskRequest
		want connect.Code
	}{
		{"unknown query", &workerv1.ExecuteTaskRequest{Key: &workerv1.TaskKey{Query: "q2", Attempt: 1}, Token: token}, connect.CodeNotFound},
		{"unknown attempt", &workerv1.ExecuteTaskRequest{Key: &workerv1.TaskKey{Query: "q1", Attempt: 2}, Token: token}, connect.CodeNotFound},
		{"unknown task", &workerv1.ExecuteTaskRequest{Key: &workerv1.TaskKey{Query: "q1", Attempt: 1, Stage: 9}, Token: token}, connect.CodeNotFound},
		{"no key", &workerv1.ExecuteTaskRequest{Token: token}, connect.CodeNotFound},
		{"no token", &workerv1.ExecuteTaskRequest{Key: producer}, connect.CodePermissionDenied},
		{"wrong token", &workerv1.ExecuteTaskRequest{Key: producer, Token: []byte("0123456789abcdee")}, connect.CodePermissionDenied},
		{"no such partition", &workerv1.ExecuteTaskRequest{Key: producer, Token: token, Partition: 1 << 31}, connect.CodeInvalidArgument},
		{"not its consumer", &workerv1.ExecuteTaskRequest{Key: producer, Token: token, Partition: 1, Consumer: 0}, connect.CodeInvalidArgument},
		{"once", &workerv1.ExecuteTaskRequest{Key: producer, Token: token}, connect.CodeUnknown},
		{"twice", &workerv1.ExecuteTaskRequest{Key: producer, Token: token}, connect.CodeAlreadyExists},
		{"unwanted", &workerv1.ExecuteTaskRequest{Key: producer, Token: token, Partition: 1, Consumer: 1, Unwanted: true}, connect.CodeUnknown},
		{"after unwanted", &workerv1.ExecuteTaskRequest{Key: producer, Token: token, Partition: 1, Consumer: 1}, connect.CodeAlreadyExists},
	} {
		err := c.execute(tc.req)
		if tc.want == connect.CodeUnknown && !errors.Is(err, io.EOF) || tc.want != connect.CodeUnknown && connect.CodeOf(err) != tc.want {
			t.Errorf("%s: %v, not %v", tc.name, err, tc.want)
		}
	}
}

// A task that nobody wants a row of does not run, nor do those that only it would have asked; all of them finish.
func TestUnwantedTasksFinish(t *testing.T) {
	c := start(t)
	watch, _ := c.open("q1", 1, 0)
	plans := c.plans("q1", "SELECT l_orderkey, l_comment, count(*) FROM lineitem GROUP BY 1, 2", 2)
	c.set(plans...)
	if err := c.execute(&workerv1.ExecuteTaskRequest{Key: plans[0].GetKey(), Token: token, Unwanted: true}); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	finished := map[string]bool{}
	for len(finished) < len(plans) {
		m, err := watch.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if f := m.GetFinished(); f != nil {
			finished[f.GetProgress().GetTask().String()] = true
			if n := f.GetProgress().GetRowsScanned(); n > 0 {
				t.Errorf("%v scanned %d rows", f.GetProgress().GetTask(), n)
			}
		}
	}
}

func TestKeysAreChecked(t *testing.T) {
	c := start(t)
	for _, query := range []string{"", "Q", "a b", "../x", string(make([]byte, 65)), "é"} {
		stream, err := c.Watch(t.Context(), &workerv1.WatchRequest{Query: query, Attempt: 1})
		if err == nil {
			_, err = stream.Receive()
			_ = stream.Close()
		}
		refused(t, query, err, connect.CodeInvalidArgument)
	}
	stream, err := c.Watch(t.Context(), &workerv1.WatchRequest{Query: "q"})
	if err == nil {
		_, err = stream.Receive()
		_ = stream.Close()
	}
	refused(t, "attempt 0", err, connect.CodeInvalidArgument)
}

func TestDeadlineOnTheWorker(t *testing.T) {
	c := start(t)
	watch, _ := c.open("q1", 1, 100*time.Millisecond)
	plans := c.plans("q1", "SELECT * FROM lineitem", 1)
	c.set(plans...)
	s := c.pull(t.Context(), plans[len(plans)-1].GetKey(), 0, 0, token)
	if _, err := s.Next(); err != nil && sqlerr.CodeOf(err) != sqlerr.Timeout {
		t.Fatal(err)
	}
	for {
		if _, err := watch.Receive(); err != nil {
			if err := rpcerr.FromWorker(t.Context(), c.url, err); sqlerr.CodeOf(err) != sqlerr.Timeout {
				t.Fatalf("%v, not a time-out", err)
			}
			break
		}
	}
	c.idle()
}

// When the lease ends, tasks end within a second, also those whose reader does not read.
func TestEndOfTheLease(t *testing.T) {
	c := start(t)
	_, end := c.open("q1", 1, 0)
	plans := c.plans("q1", "SELECT a.* FROM lineitem a, nation", 1)
	c.set(plans...)
	s := c.pull(t.Context(), plans[0].GetKey(), 0, 0, token)
	if _, err := s.Next(); err != nil {
		t.Fatal(err)
	}
	if l := c.load(); l.GetAttempts() != 1 || l.GetTasks() == 0 || l.GetMemoryUsed() == 0 {
		t.Errorf("while it runs the load is %v", l)
	}
	end()
	c.idle()
	for {
		if _, err := s.Next(); err != nil {
			if errors.Is(err, io.EOF) {
				t.Error("the stream of a task that was cancelled looks complete")
			}
			break
		}
	}
}

// A reader that stops reading is dropped; its task ends, the attempt goes on.
func TestReaderThatStopsReading(t *testing.T) {
	c := start(t, worker.WithPatience(time.Second))
	watch, _ := c.open("q1", 1, 0)
	plans := c.plans("q1", "SELECT a.* FROM lineitem a, nation", 1)
	c.set(plans...)
	s := c.pull(t.Context(), plans[0].GetKey(), 0, 0, token)
	if _, err := s.Next(); err != nil {
		t.Fatal(err)
	}
	for {
		m, err := watch.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if m.GetFinished() != nil {
			break
		}
	}
	for {
		_, err := s.Next()
		if errors.Is(err, io.EOF) {
			t.Fatal("the stream of a reader that was dropped looks complete")
		}
		if err != nil {
			break
		}
	}
}

// A worker drains in the same way whether its own process is told to end or another one tells it.
func TestDraining(t *testing.T) {
	t.Run("SIGTERM", func(t *testing.T) { testDraining(t, func(_ *caller, stop func()) { stop() }) })
	t.Run("Drain", func(t *testing.T) {
		testDraining(t, func(c *caller, _ func()) {
			for range 2 { // the second changes nothing
				d, err := worker.Drain(t.Context(), c.url, c.self.GetInstanceId(), resolver.Security{})
				if err != nil || d.Attempts != 1 || d.Instance != c.self.GetInstanceId() {
					t.Fatalf("%v, %v", d, err)
				}
			}
		})
	})
}

func testDraining(t *testing.T, tell func(c *caller, stop func())) {
	w, err := worker.New(worker.WithReadRoots(clustertest.TPCH(t)), worker.WithLogger(clustertest.Logger(t)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, drain := context.WithCancel(t.Context())
	defer drain()
	served := make(chan error, 1)
	go func() { served <- w.Serve(ctx) }()
	c := call(t, w.URL())
	_, end := c.open("q1", 1, 0)
	plans := c.plans("q1", "SELECT * FROM lineitem", 1)
	tell(c, drain)
	for {
		info, err := c.WorkerInfo(t.Context(), &identityv1.WorkerInfoRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if info.GetState() == identityv1.WorkerState_WORKER_STATE_DRAINING {
			break
		}
	}
	stream, err := c.Watch(t.Context(), &workerv1.WatchRequest{Query: "q2", Attempt: 1})
	if err == nil {
		_, err = stream.Receive()
		_ = stream.Close()
	}
	refused(t, "a Watch", err, connect.CodeUnavailable)
	var rpc *connect.Error
	if !errors.As(err, &rpc) || len(rpc.Details()) != 1 {
		t.Fatalf("no detail: %v", err)
	}
	detail := &identityv1.Draining{}
	if err := proto.Unmarshal(rpc.Details()[0].Value, detail); err != nil || !proto.Equal(detail.GetHave(), c.self) {
		t.Errorf("the detail is %v, %v", detail, err)
	}
	c.set(plans...)
	if n := rows(t, c.pull(t.Context(), plans[0].GetKey(), 0, 0, token)); n != 60175 {
		t.Errorf("%d rows of an attempt that was open", n)
	}
	select {
	case err := <-served:
		t.Fatalf("it ended with an attempt open: %v", err)
	default:
	}
	end()
	select {
	case err := <-served:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(5 * time.Second):
		t.Error("it did not end")
	}
}

// Drain means one process: another one at its address goes on.
func TestDrainOfAnotherInstance(t *testing.T) {
	c := start(t)
	_, err := worker.Drain(t.Context(), c.url, strings.Repeat("0", 32), resolver.Security{})
	if sqlerr.CodeOf(err) != sqlerr.VersionMismatch || !strings.Contains(err.Error(), "instance 00000000") {
		t.Errorf("draining an instance that is not there: %v", err)
	}
	other := proto.CloneOf(c.self)
	other.InstanceId = strings.Repeat("0", 32)
	_, err = workerv1connect.NewWorkerServiceClient(pull.Client(c.dialer, c.url, other)).Drain(t.Context(), &identityv1.DrainRequest{})
	refused(t, "a Drain", err, connect.CodeFailedPrecondition)
	if info, err := c.WorkerInfo(t.Context(), &identityv1.WorkerInfoRequest{}); err != nil || info.GetState() != identityv1.WorkerState_WORKER_STATE_READY {
		t.Errorf("the worker is %v, %v", info.GetState(), err)
	}
}

// Whoever has no secret to show may drain the workers of its own host only.
func TestDrainWithoutSecret(t *testing.T) {
	for peer, same := range map[string]bool{"127.0.0.1:5": true, "[::1]:5": true, "10.0.0.1:5": false, "[fe80::1]:5": false, "": false, "localhost:5": false} {
		if worker.SameHost(peer) != same {
			t.Errorf("%q: %v", peer, !same)
		}
	}
}

// At the end of the drain time-out, attempts end as on a worker that is lost: their coordinators make them anew elsewhere.
func TestDrainTimeout(t *testing.T) {
	w, err := worker.New(worker.WithReadRoots(clustertest.TPCH(t)), worker.WithLogger(clustertest.Logger(t)), worker.WithDrainTimeout(50*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	ctx, drain := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- w.Serve(ctx) }()
	c := call(t, w.URL())
	watch, _ := c.open("q1", 1, 0)
	drain()
	for {
		if _, err := watch.Receive(); err != nil {
			if err := rpcerr.FromWorker(t.Context(), c.url, err); sqlerr.CodeOf(err) != sqlerr.WorkerLost {
				t.Errorf("%v, not a lost worker", err)
			}
			break
		}
	}
	select {
	case err := <-served:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(5 * time.Second):
		t.Error("it did not end at its drain time-out")
	}
}

func TestPlansThatAreRefused(t *testing.T) {
	c := start(t)
	c.open("q1", 1, 0)
	nested := func(depth int) *planv1.Node {
		n := &planv1.Node{Node: &planv1.Node_ConstantRows{ConstantRows: &planv1.ConstantRows{}}}
		for range depth {
			n = &planv1.Node{Node: &planv1.Node_Limit{Limit: &planv1.Limit{Input: n}}}
		}
		return n
	}
	bigint := &planv1.Type{Kind: planv1.TypeKind(sqltype.Int64)}
	lacking := &planv1.Node{Node: &planv1.Node_Project{Project: &planv1.Project{
		Input: nested(0), Names: []string{"x"}, Expressions: []*planv1.Expression{{Expression: &planv1.Expression_Call{Call: &planv1.Call{
			Function: "half", Type: bigint, User: &planv1.UserFunction{Version: "1"},
		}}}},
	}}}
	for _, tc := range []struct {
		name   string
		change func(*workerv1.SetPlanRequest)
		want   connect.Code
	}{
		{"no fragment", func(r *workerv1.SetPlanRequest) { r.Fragment = nil }, connect.CodeInvalidArgument},
		{"no token", func(r *workerv1.SetPlanRequest) { r.Token = nil }, connect.CodeInvalidArgument},
		{"a token of another length", func(r *workerv1.SetPlanRequest) { r.Token = make([]byte, 17) }, connect.CodeInvalidArgument},
		{"an unknown field", func(r *workerv1.SetPlanRequest) { r.Fragment.Root.ProtoReflect().SetUnknown([]byte{0xf8, 0x7f, 1}) }, connect.CodeInvalidArgument},
		{"an unknown enum value", func(r *workerv1.SetPlanRequest) { r.Fragment.Output.Kind = 99 }, connect.CodeInvalidArgument},
		{"a million partitions", func(r *workerv1.SetPlanRequest) { r.Fragment.Output.Partitions = 1 << 20 }, connect.CodeInvalidArgument},
		{"no producer", func(r *workerv1.SetPlanRequest) { r.Inputs = nil }, connect.CodeInvalidArgument},
		{"producers of what is supplied", func(r *workerv1.SetPlanRequest) { r.Inputs[0].Supplied = true }, connect.CodeInvalidArgument},
		{"what is supplied dealt out", func(r *workerv1.SetPlanRequest) {
			r.Inputs[0].Producers, r.Inputs[0].Supplied, r.Inputs[0].Partitioned = nil, true, true
		}, connect.CodeInvalidArgument},
		{"a producer that is nobody", func(r *workerv1.SetPlanRequest) { r.Inputs[0].Producers[0].Identity = nil }, connect.CodeInvalidArgument},
		{"a producer at a file", func(r *workerv1.SetPlanRequest) { r.Inputs[0].Producers[0].Url = "file:///etc/passwd" }, connect.CodeInvalidArgument},
		{"a producer at a path", func(r *workerv1.SetPlanRequest) { r.Inputs[0].Producers[0].Url = "http://127.0.0.1/x" }, connect.CodeInvalidArgument},
		{"batches too large", func(r *workerv1.SetPlanRequest) { r.Options = &workerv1.TaskOptions{BatchRows: 1 << 20} }, connect.CodeInvalidArgument},
		{"600 levels", func(r *workerv1.SetPlanRequest) { r.Fragment.Root = nested(600) }, connect.CodeInvalidArgument},
		{"30,000 levels", func(r *workerv1.SetPlanRequest) { r.Fragment.Root = nested(30_000) }, connect.CodeInvalidArgument},
		{"a function that the worker does not have", func(r *workerv1.SetPlanRequest) { r.Fragment.Root = lacking }, connect.CodeInvalidArgument},
		{"5 MiB", func(r *workerv1.SetPlanRequest) { r.Token = make([]byte, 5<<20) }, connect.CodeResourceExhausted},
	} {
		req := c.plans("q1", "SELECT count(*) FROM lineitem", 2)[0]
		tc.change(req)
		_, err := c.SetPlan(t.Context(), req)
		refused(t, tc.name, err, tc.want)
		var rpc *connect.Error
		if errors.As(err, &rpc) && len(rpc.Message()) > 1024 {
			t.Errorf("%s: a message of %d bytes", tc.name, len(rpc.Message()))
		}
		if strings.Contains(tc.name, "function") && !strings.Contains(rpc.Message(), `this process does not have function half(), version "1"`) {
			t.Errorf("%s: %v", tc.name, rpc)
		}
	}
	if l := c.load(); l.GetTasks() != 0 {
		t.Errorf("it took %d of them", l.GetTasks())
	}
}
