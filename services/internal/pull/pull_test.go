package pull

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"go.uber.org/goleak"

	"github.com/fletchdb/fletch/engine/sqlerr"
	identityv1 "github.com/fletchdb/fletch/gen/go/fletch/identity/v1"
	workerv1 "github.com/fletchdb/fletch/gen/go/fletch/worker/v1"
	"github.com/fletchdb/fletch/gen/go/fletch/worker/v1/workerv1connect"
	"github.com/fletchdb/fletch/services/internal/arrowwire"
	"github.com/fletchdb/fletch/services/internal/httpserve"
	"github.com/fletchdb/fletch/services/internal/identity"
	"github.com/fletchdb/fletch/services/internal/rpcerr"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var self = &identityv1.Identity{Version: "1", Protocol: 1, InstanceId: strings.Repeat("a", 32), Capabilities: strings.Repeat("c", 32)}

type producing func(ctx context.Context, w *arrowwire.Writer) error

type worker struct {
	workerv1connect.UnimplementedWorkerServiceHandler
	produce producing
}

func (w worker) ExecuteTask(ctx context.Context, _ *workerv1.ExecuteTaskRequest, _ workerv1connect.WorkerServiceExecuteTaskServerStream) error {
	out, err := arrowwire.NewWriter(ctx, schema)
	if err != nil {
		return err
	}
	return w.produce(ctx, out)
}

var schema = arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil)

func batch(from, n int64) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for i := range n {
		b.Field(0).(*array.Int64Builder).Append(from + i)
	}
	return b.NewRecordBatch()
}

// serve starts a worker whose tasks produce what the function does, and a dialer to it.
func serve(t *testing.T, produce producing) (string, *httpserve.Dialer) {
	t.Helper()
	credentials, err := httpserve.Security{}.Load()
	if err != nil {
		t.Fatal(err)
	}
	s, err := httpserve.Listen(httpserve.Config{Listen: "127.0.0.1:0", Credentials: credentials})
	if err != nil {
		t.Fatal(err)
	}
	srv := connect.NewServer(identity.Require(self, nil), arrowwire.RawStream)
	workerv1connect.RegisterWorkerServiceHandler(srv, worker{produce: produce})
	mux := http.NewServeMux()
	connecthttp.Mount(mux, srv, connecthttp.WithCodecs(arrowwire.NewCodec()), connecthttp.WithCompressors())
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, mux, time.Second) }()
	d := httpserve.NewDialer(credentials, "")
	t.Cleanup(func() {
		d.Close()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s.URL(), d
}

func open(t *testing.T, ctx context.Context, url string, d *httpserve.Dialer, who *identityv1.Identity) (*Stream, error) {
	t.Helper()
	s, err := Open(ctx, d, &workerv1.Producer{Url: url, Identity: who}, &workerv1.ExecuteTaskRequest{})
	if err == nil {
		t.Cleanup(s.Close)
	}
	return s, err
}

func TestRowsOfAPartition(t *testing.T) {
	const batches, size = 50, 20_000
	url, d := serve(t, func(_ context.Context, w *arrowwire.Writer) error {
		for i := range int64(batches) {
			rec := batch(i*size, size)
			err := w.Write(rec)
			rec.Release()
			if err != nil {
				return err
			}
		}
		return w.End()
	})
	s, err := open(t, t.Context(), url, d, self)
	if err != nil {
		t.Fatal(err)
	}
	if s.Bytes() != 0 {
		t.Errorf("%d bytes before the first batch", s.Bytes())
	}
	want := int64(0)
	for {
		rec, err := s.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range rec.Column(0).(*array.Int64).Int64Values() {
			if v != want {
				t.Fatalf("got %d, want %d", v, want)
			}
			want++
		}
	}
	if want != batches*size || s.Bytes() < 8*batches*size {
		t.Errorf("%d rows in %d bytes", want, s.Bytes())
	}

	// One who relays sees the same messages, the end too.
	if s, err = open(t, t.Context(), url, d, self); err != nil {
		t.Fatal(err)
	}
	relay := arrowwire.NewRelay(s.Receive)
	for err == nil {
		_, _, err = relay.Next()
	}
	if !errors.Is(err, io.EOF) || relay.Rows() != batches*size {
		t.Errorf("relayed %d rows, then %v", relay.Rows(), err)
	}
}

// However a stream goes wrong, its reader is told why, and never that it is complete.
func TestStreamsThatGoWrong(t *testing.T) {
	one := func(w *arrowwire.Writer) error {
		rec := batch(0, 3)
		defer rec.Release()
		return w.Write(rec)
	}
	other := &identityv1.Identity{Version: "2", Protocol: 1, InstanceId: self.GetInstanceId(), Capabilities: self.GetCapabilities()}
	for _, tc := range []struct {
		name    string
		who     *identityv1.Identity
		produce producing
		want    sqlerr.Code
		text    string
	}{
		{"no end message", self, func(_ context.Context, w *arrowwire.Writer) error { return one(w) }, sqlerr.WorkerLost, "the stream stopped before its end message"},
		{"no batch and no end message", self, func(context.Context, *arrowwire.Writer) error { return nil }, sqlerr.WorkerLost, "the stream stopped before its end message"},
		{"an error of the task", self, func(_ context.Context, w *arrowwire.Writer) error {
			return errors.Join(one(w), rpcerr.ToWorker(sqlerr.New(sqlerr.DivisionByZero, sqlerr.Pos{Start: 3, End: 4}, "division by zero")))
		}, sqlerr.DivisionByZero, "division by zero"},
		{"an error before any batch", self, func(context.Context, *arrowwire.Writer) error {
			return rpcerr.ToWorker(sqlerr.New(sqlerr.MemoryLimit, sqlerr.Pos{}, "too much"))
		}, sqlerr.MemoryLimit, "too much"},
		{"a refusal without detail", self, func(context.Context, *arrowwire.Writer) error {
			return connect.NewError(connect.CodeNotFound, "no such task")
		}, sqlerr.WorkerLost, "no such task"},
		{"the connection breaks", self, func(_ context.Context, w *arrowwire.Writer) error {
			_ = one(w)
			panic(http.ErrAbortHandler)
		}, sqlerr.WorkerLost, "lost worker http://127.0.0.1:"},
		{"another version is meant", other, func(_ context.Context, w *arrowwire.Writer) error { return one(w) }, sqlerr.VersionMismatch, "the call is meant for worker 2"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			url, d := serve(t, tc.produce)
			s, err := open(t, t.Context(), url, d, tc.who)
			for err == nil {
				_, err = s.Next()
			}
			var e *sqlerr.Error
			if !errors.As(err, &e) || e.Code != tc.want || !strings.Contains(e.Message, tc.text) {
				t.Fatalf("got %v, want %s: %s", err, tc.want, tc.text)
			}
			var mismatch *rpcerr.MismatchError
			if tc.want == sqlerr.VersionMismatch && (!errors.As(err, &mismatch) || mismatch.Have.GetVersion() != "1") {
				t.Errorf("the mismatch is %+v", mismatch)
			}
			if s != nil {
				if _, again := s.Next(); again == nil || errors.Is(again, io.EOF) {
					t.Errorf("asked again: %v", again)
				}
			}
		})
	}
}

func TestNobodyAnswers(t *testing.T) {
	_, d := serve(t, nil)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + l.Addr().String()
	l.Close()
	s, err := open(t, t.Context(), url, d, self)
	for err == nil {
		_, err = s.Next()
	}
	if sqlerr.CodeOf(err) != sqlerr.WorkerLost || !strings.Contains(err.Error(), url) {
		t.Errorf("got %v", err)
	}
}

// The producer notices when its reader leaves, and the reader why it had to leave.
func TestReadersThatLeave(t *testing.T) {
	for _, tc := range []struct {
		name  string
		leave func(*Stream, context.CancelCauseFunc)
		want  error
	}{
		{"by Close", func(s *Stream, _ context.CancelCauseFunc) { s.Close() }, context.Canceled},
		{"by context", func(_ *Stream, cancel context.CancelCauseFunc) { cancel(io.ErrNoProgress) }, io.ErrNoProgress},
	} {
		t.Run(tc.name, func(t *testing.T) {
			left := make(chan struct{})
			url, d := serve(t, func(ctx context.Context, w *arrowwire.Writer) error {
				rec := batch(0, 1)
				defer rec.Release()
				_ = w.Write(rec)
				<-ctx.Done()
				close(left)
				return ctx.Err()
			})
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			s, err := open(t, ctx, url, d, self)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Next(); err != nil {
				t.Fatal(err)
			}
			tc.leave(s, cancel)
			<-left
			if _, err := s.Next(); !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
		})
	}
}
