package worker

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net"
	"regexp"
	"time"

	"connectrpc.com/connect/v2"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/fletchdb/fletch/engine/budget"
	"github.com/fletchdb/fletch/engine/codec"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/sqlerr"
	identityv1 "github.com/fletchdb/fletch/gen/go/fletch/identity/v1"
	workerv1 "github.com/fletchdb/fletch/gen/go/fletch/worker/v1"
	"github.com/fletchdb/fletch/gen/go/fletch/worker/v1/workerv1connect"
	"github.com/fletchdb/fletch/services/internal/arrowwire"
	"github.com/fletchdb/fletch/services/internal/httpserve"
	"github.com/fletchdb/fletch/services/internal/rpcerr"
	"github.com/fletchdb/fletch/services/resolver"
)

// MaxRequest is the largest request, in bytes.
const MaxRequest = 4 << 20

// Progress messages of a Watch come this often unless it asks otherwise, and never more often than the minimum.
const (
	progressEvery   = 200 * time.Millisecond
	progressMinimum = 50 * time.Millisecond
)

// handler is WorkerService.
type handler struct{ worker *Worker }

var _ workerv1connect.WorkerServiceHandler = (*handler)(nil)

func (h *handler) WorkerInfo(_ context.Context, req *identityv1.WorkerInfoRequest) (*identityv1.WorkerInfoResponse, error) {
	info := h.worker.info()
	if req.GetHeldCapabilities() == info.GetCapabilitiesDigest() {
		info.Capabilities = nil // they are most of the answer
	}
	return info, nil
}

func (h *handler) Drain(ctx context.Context, _ *identityv1.DrainRequest) (*identityv1.DrainResponse, error) {
	w := h.worker
	from := ""
	if info, ok := connect.CallInfoForServerContext(ctx); ok {
		from = info.PeerAddr
	}
	if w.open && !sameHost(from) {
		return nil, connect.NewError(connect.CodePermissionDenied, "a worker without a shared secret is drained from its own host only: start it with --secret-file, or end it with SIGTERM")
	}
	w.log.Info("told to drain", "by", from)
	w.Drain()
	return &identityv1.DrainResponse{Load: w.attempts.load(w.cfg.memory)}, nil
}

// sameHost tells whether a peer's address is this host's own.
func sameHost(peer string) bool {
	host, _, err := net.SplitHostPort(peer)
	return err == nil && net.ParseIP(host).IsLoopback()
}

var queryID = regexp.MustCompile(`^[0-9a-z_-]{1,64}$`)

func checkKey(query string, attempt uint32) error {
	if !queryID.MatchString(query) || attempt == 0 {
		return connect.NewError(connect.CodeInvalidArgument, "a query is 1 to 64 bytes of [0-9a-z_-], an attempt at least 1")
	}
	return nil
}

func (h *handler) Watch(ctx context.Context, req *workerv1.WatchRequest, stream workerv1connect.WorkerServiceWatchServerStream) error {
	if err := checkKey(req.GetQuery(), req.GetAttempt()); err != nil {
		return err
	}
	if req.GetTimeout() != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, req.GetTimeout().AsDuration(), sqlerr.New(sqlerr.Timeout, sqlerr.Pos{}, "canceling statement due to statement timeout"))
		defer cancel()
	}
	a, err := h.worker.attempts.begin(ctx, attemptKey{req.GetQuery(), req.GetAttempt()}, rpcerr.Draining(h.worker.self))
	if err != nil {
		if h.worker.attempts.draining() {
			h.worker.metrics.refusals.WithLabelValues(string(sqlerr.Draining)).Inc()
		} else if connect.CodeOf(err) == connect.CodeResourceExhausted {
			h.worker.metrics.refusals.WithLabelValues(string(sqlerr.TooManyQueries)).Inc()
		}
		return err
	}
	cause := context.Canceled
	defer func() { h.worker.attempts.end(a, cause) }()
	err = h.watch(ctx, a, req.GetProgressInterval(), stream)
	if err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		cause = err
	}
	return rpcerr.ToWorker(cause)
}

func (h *handler) watch(ctx context.Context, a *attempt, every *durationpb.Duration, stream workerv1connect.WorkerServiceWatchServerStream) error {
	if err := stream.Send(&workerv1.WatchResponse{Event: &workerv1.WatchResponse_Opened{Opened: &workerv1.AttemptOpened{}}}); err != nil {
		return err
	}
	pause := progressEvery
	if every != nil {
		pause = max(progressMinimum, every.AsDuration())
	}
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-a.ctx.Done():
			return context.Cause(a.ctx)
		case <-a.events.notify:
		case <-ticker.C:
			a.events.add(a.progress())
		}
		for _, m := range a.events.take() {
			if err := stream.Send(m); err != nil {
				return err
			}
		}
	}
}

func (h *handler) SetPlan(ctx context.Context, req *workerv1.SetPlanRequest) (*workerv1.SetPlanResponse, error) {
	key := req.GetKey()
	if err := checkKey(key.GetQuery(), key.GetAttempt()); err != nil {
		return nil, err
	}
	a, err := h.worker.attempts.find(attemptKey{key.GetQuery(), key.GetAttempt()})
	if err != nil {
		return nil, err
	}
	t, err := h.worker.newTask(ctx, a, req)
	if err != nil {
		return nil, rpcerr.ToWorker(err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ctx.Err() != nil {
		return nil, errNotFound
	}
	if old := a.tasks[t.key]; old != nil {
		t.cancel(nil)
		if old.content == t.content {
			return &workerv1.SetPlanResponse{}, nil
		}
		return nil, connect.NewError(connect.CodeAlreadyExists, "the task has another plan")
	}
	if a.memory == nil {
		limit := h.worker.cfg.memory
		if asked := int64(min(req.GetOptions().GetMemoryLimit(), 1<<62)); asked > 0 && (limit <= 0 || asked < limit) {
			limit = asked
		}
		a.memory = budget.New(limit)
	}
	t.env.Budget = a.memory
	a.tasks[t.key] = t
	return &workerv1.SetPlanResponse{}, nil
}

// newTask reads a plan, which is not trusted.
func (w *Worker) newTask(ctx context.Context, a *attempt, req *workerv1.SetPlanRequest) (*task, error) {
	content, err := proto.MarshalOptions{Deterministic: true}.Marshal(req)
	if err != nil {
		return nil, sqlerr.New(sqlerr.InvalidPlan, sqlerr.Pos{}, "invalid plan: it cannot be encoded")
	}
	if len(req.GetToken()) != 16 {
		return nil, sqlerr.New(sqlerr.InvalidPlan, sqlerr.Pos{}, "invalid plan: the token has 16 bytes")
	}
	root, out, err := codec.Decode(req.GetFragment(), w.library)
	if err != nil {
		return nil, err
	}
	inputs := map[inputKey]*workerv1.StageInput{}
	for _, in := range req.GetInputs() {
		inputs[inputKey{int32(in.GetStage()), int32(in.GetReader())}] = in
	}
	if err := checkInputs(root, inputs); err != nil {
		return nil, err
	}
	threads := w.cfg.threads
	if n := int(req.GetOptions().GetThreads()); n > 0 {
		threads = min(threads, n)
	}
	batch := req.GetOptions().GetBatchRows()
	if batch > 65536 {
		return nil, sqlerr.Newf(sqlerr.InvalidPlan, sqlerr.Pos{}, "invalid plan: batches of %d rows", batch)
	}
	t := &task{
		worker: w, attempt: a, key: taskKey{req.GetKey().GetStage(), req.GetKey().GetTask()}, content: sha256.Sum256(content),
		root: root, out: out, inputs: inputs, supplies: map[int32]*supply{}, token: bytes.Clone(req.GetToken()), operators: req.GetOptions().GetOperatorMetrics(), caller: trace.SpanContextFromContext(ctx),
	}
	for key, in := range inputs {
		if in.GetSupplied() {
			t.supplies[key.stage] = newSupply()
		}
	}
	if err := t.prepare(threads, int(batch)); err != nil {
		return nil, err
	}
	return t, nil
}

// checkInputs tells whether every stage that a plan reads has producers.
func checkInputs(n physical.Node, inputs map[inputKey]*workerv1.StageInput) error {
	if r, ok := n.(*physical.Remote); ok {
		in := inputs[inputOf(r)]
		if in.GetSupplied() == (len(in.GetProducers()) > 0) || in.GetSupplied() && (in.GetPartitioned() || in.GetShared() || in.GetReader() != 0 || len(r.Merge) > 0) {
			return sqlerr.Newf(sqlerr.InvalidPlan, sqlerr.Pos{}, "invalid plan: stage %d has no producer", r.Stage)
		}
		for _, p := range in.GetProducers() {
			if url, err := resolver.CheckURL(p.GetUrl()); err != nil || url != p.GetUrl() || p.GetIdentity() == nil {
				return sqlerr.Newf(sqlerr.InvalidPlan, sqlerr.Pos{}, "invalid plan: a producer of stage %d without address or identity", r.Stage)
			}
		}
	}
	for _, c := range n.Children() {
		if err := checkInputs(c, inputs); err != nil {
			return err
		}
	}
	return nil
}

func (h *handler) ExecuteTask(ctx context.Context, req *workerv1.ExecuteTaskRequest, _ workerv1connect.WorkerServiceExecuteTaskServerStream) error {
	outlet, err := h.worker.claim(req)
	if err != nil {
		return err
	}
	if req.GetUnwanted() {
		return nil
	}
	defer outlet.close()
	defer httpserve.CutOff(ctx, outlet.task.attempt.ctx, cutGrace)()
	return rpcerr.ToWorker(h.stream(ctx, outlet))
}

// cutGrace is how long the reader of a stream has to take what is being written when the attempt ends.
const cutGrace = 500 * time.Millisecond

// claim finds the outlet that a consumer asks for, once, and starts the task.
func (w *Worker) claim(req *workerv1.ExecuteTaskRequest) (*outlet, error) {
	key := req.GetKey()
	a, err := w.attempts.find(attemptKey{key.GetQuery(), key.GetAttempt()})
	if err != nil {
		return nil, err
	}
	a.mu.Lock() // held until the task runs, so that whoever ends the attempt waits for it
	defer a.mu.Unlock()
	if a.ctx.Err() != nil {
		return nil, errNotFound
	}
	t := a.tasks[taskKey{key.GetStage(), key.GetTask()}]
	if t == nil {
		return nil, connect.NewError(connect.CodeNotFound, "no such task is planned here")
	}
	if subtle.ConstantTimeCompare(t.token, req.GetToken()) != 1 {
		return nil, connect.NewError(connect.CodePermissionDenied, "the attempt's token is missing or wrong")
	}
	return t.claim(req.GetPartition(), req.GetConsumer(), req.GetUnwanted())
}

func (h *handler) stream(ctx context.Context, o *outlet) error {
	w, err := arrowwire.NewWriter(ctx, o.task.schema)
	if err != nil {
		return err
	}
	for {
		rec, err := o.next(ctx)
		if err != nil {
			return err
		}
		if rec == nil {
			return w.End()
		}
		err = w.Write(rec)
		rec.Release()
		if err != nil {
			return errors.Join(context.Cause(ctx), err)
		}
	}
}
