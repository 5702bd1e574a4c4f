// Command wirebench is Fletch's leg of ci/bench transport: one process that serves record batches as a worker does, or reads them
// as a worker or coordinator does, with the stack that ships. It is a program of its own only so that its CPU time can be read
// from outside; it is never installed, and must never know what it is compared with.
package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"runtime/pprof"
	"sync/atomic"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"connectrpc.com/connect/v2/connectproto"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	identityv1 "github.com/fletchdb/fletch/gen/go/fletch/identity/v1"
	workerv1 "github.com/fletchdb/fletch/gen/go/fletch/worker/v1"
	"github.com/fletchdb/fletch/gen/go/fletch/worker/v1/workerv1connect"
	"github.com/fletchdb/fletch/services/internal/arrowwire"
	"github.com/fletchdb/fletch/services/internal/httpserve"
	"github.com/fletchdb/fletch/services/internal/identity"
	"github.com/fletchdb/fletch/services/internal/pull"
)

// self is who the server is, known to both processes.
var self = &identityv1.Identity{
	Version: "bench", Protocol: identity.Protocol(), InstanceId: "00000000000000000000000000000001", Capabilities: "00000000000000000000000000000002",
}

// An order comes as a line of JSON on standard input; standard input's end is the last.
type order struct {
	Op      string // load, run, alloc, profile
	File    string // of load: an Arrow IPC stream; of profile: where to write
	URL     string // of run
	Batches int    // of run
}

// An answer goes as a line of JSON to standard output.
type answer struct {
	URL   string `json:"url,omitempty"`
	Alloc uint64 `json:"alloc,omitempty"` // bytes allocated since the process began
	Error string `json:"error,omitempty"`
}

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "wirebench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	if len(os.Args) != 2 || os.Args[1] != "serve" && os.Args[1] != "read" {
		return errors.New("usage: wirebench serve|read; see ci/bench transport")
	}
	credentials, err := httpserve.Security{}.Load()
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	p := &peer{dialer: httpserve.NewDialer(credentials, "")}
	if os.Args[1] == "serve" {
		server, err := httpserve.Listen(httpserve.Config{Listen: "127.0.0.1:0", Credentials: credentials})
		if err != nil {
			return err
		}
		go func() { _ = server.Serve(ctx, p.handler(), time.Second) }()
		p.url = server.URL()
	}
	if err := out.Encode(answer{URL: p.url}); err != nil {
		return err
	}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var o order
		if err := json.Unmarshal(in.Bytes(), &o); err != nil {
			return err
		}
		a, err := p.obey(ctx, o)
		if err != nil {
			a.Error = err.Error()
		}
		if err := out.Encode(a); err != nil {
			return err
		}
	}
	return nil
}

type peer struct {
	dialer  *httpserve.Dialer
	url     string
	batches atomic.Pointer[[]arrow.RecordBatch]
	sums    []uint64 // of batches
	profile *os.File
}

func (p *peer) obey(ctx context.Context, o order) (answer, error) {
	switch o.Op {
	case "load":
		return answer{}, p.load(o.File)
	case "alloc":
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return answer{Alloc: m.TotalAlloc}, nil
	case "profile":
		if p.profile == nil {
			f, err := os.Create(o.File)
			if err != nil {
				return answer{}, err
			}
			p.profile = f
			return answer{}, pprof.StartCPUProfile(f)
		}
		pprof.StopCPUProfile()
		return answer{}, p.profile.Close()
	case "run":
		return answer{}, p.read(ctx, o)
	}
	return answer{}, fmt.Errorf("unknown order %q", o.Op)
}

func (p *peer) load(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	r, err := ipc.NewReader(bufio.NewReaderSize(f, 1<<20))
	if err != nil {
		return err
	}
	defer r.Release()
	var batches []arrow.RecordBatch
	p.sums = nil
	for r.Next() {
		rec := r.RecordBatch()
		rec.Retain()
		batches = append(batches, rec)
		p.sums = append(p.sums, checksum(rec))
	}
	p.batches.Store(&batches)
	return r.Err()
}

func (p *peer) handler() http.Handler {
	mux := http.NewServeMux()
	srv := connect.NewServer(identity.Require(self, nil), arrowwire.RawStream)
	workerv1connect.RegisterWorkerServiceHandler(srv, server{peer: p})
	connecthttp.Mount(
		mux, srv, connecthttp.WithCodecs(arrowwire.NewCodec(), connectproto.NewJSONCodec()), connecthttp.WithReadMaxBytes(4<<20), connecthttp.WithCompressors(),
	)
	return mux
}

type server struct {
	workerv1connect.UnimplementedWorkerServiceHandler
	peer *peer
}

// ExecuteTask streams as many batches as the partition's number says.
func (s server) ExecuteTask(ctx context.Context, req *workerv1.ExecuteTaskRequest, _ workerv1connect.WorkerServiceExecuteTaskServerStream) error {
	batches := *s.peer.batches.Load()
	w, err := arrowwire.NewWriter(ctx, batches[0].Schema())
	if err != nil {
		return err
	}
	for i := range int(req.GetPartition()) {
		if err := w.Write(batches[i%len(batches)]); err != nil {
			return err
		}
	}
	return w.End()
}

func (p *peer) read(ctx context.Context, o order) error {
	s, err := pull.Open(ctx, p.dialer, &workerv1.Producer{Url: o.URL, Identity: self}, &workerv1.ExecuteTaskRequest{Partition: uint32(o.Batches)})
	if err != nil {
		return err
	}
	defer s.Close()
	for i := 0; ; i++ {
		rec, err := s.Next()
		if errors.Is(err, io.EOF) {
			if i != o.Batches {
				return fmt.Errorf("%d batches came", i)
			}
			return nil
		}
		if err != nil {
			return err
		}
		if checksum(rec) != p.sums[i%len(p.sums)] {
			return fmt.Errorf("batch %d has other values", i)
		}
	}
}

// checksum looks at every value of rec, which has columns of int64 and of strings without nulls.
func checksum(rec arrow.RecordBatch) uint64 {
	sum := uint64(rec.NumRows())
	for _, c := range rec.Columns() {
		switch c := c.(type) {
		case *array.Int64:
			var s uint64
			for _, v := range c.Int64Values() {
				s += uint64(v)
			}
			sum = sum*31 + s
		case *array.String:
			var s uint64
			for _, o := range c.ValueOffsets() {
				s = s*3 + uint64(o-c.ValueOffsets()[0])
			}
			text := c.ValueBytes()
			for ; len(text) >= 8; text = text[8:] {
				s += binary.LittleEndian.Uint64(text)
			}
			for _, b := range text {
				s = s*31 + uint64(b)
			}
			sum = sum*31 + s
		}
	}
	return sum
}
