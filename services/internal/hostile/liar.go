package hostile

import (
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	identityv1 "github.com/fletchdb/fletch/gen/go/fletch/identity/v1"
	"github.com/fletchdb/fletch/gen/go/fletch/worker/v1/workerv1connect"
)

// A Liar stands before a real worker, passes for it, and lies where it is told to. nil fields are the truth.
type Liar struct {
	// Info changes what the worker says of itself, or when.
	Info func(*http.Request, *identityv1.WorkerInfoResponse)
	// Watch tells whether the worker takes an attempt; else the connection is cut.
	Watch func() bool
	// Stream writes what a consumer gets in place of the frames of a stream: the schema, batches, the end, each with its five bytes of
	// length before it. What it returns ends the stream as a gRPC status; "" cuts it.
	Stream func(w io.Writer, r *http.Request, frames [][]byte) (status string)
}

// Serve starts the liar before the worker at target until the test ends, and gives its URL.
func (l Liar) Serve(tb testing.TB, target string) string {
	tb.Helper()
	to, err := url.Parse(target)
	if err != nil {
		tb.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	wire := &http.Transport{Protocols: protocols}
	truth := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }, Transport: wire, FlushInterval: -1}
	mux := http.NewServeMux()
	mux.Handle("/", truth)
	if l.Watch != nil {
		mux.HandleFunc(workerv1connect.WorkerServiceWatchProcedure, func(w http.ResponseWriter, r *http.Request) {
			if !l.Watch() {
				panic(http.ErrAbortHandler)
			}
			truth.ServeHTTP(w, r)
		})
	}
	if l.Info != nil {
		mux.HandleFunc(workerv1connect.WorkerServiceWorkerInfoProcedure, func(w http.ResponseWriter, r *http.Request) {
			l.relay(w, r, truth.Rewrite, wire, func(w io.Writer, r *http.Request, frames [][]byte) string {
				info := new(identityv1.WorkerInfoResponse)
				if len(frames) != 1 || proto.Unmarshal(frames[0][5:], info) != nil {
					return "13"
				}
				l.Info(r, info)
				b, _ := proto.Marshal(info)
				_, _ = w.Write(Frame(b))
				return "0"
			})
		})
	}
	if l.Stream != nil {
		mux.HandleFunc(workerv1connect.WorkerServiceExecuteTaskProcedure, func(w http.ResponseWriter, r *http.Request) {
			l.relay(w, r, truth.Rewrite, wire, l.Stream)
		})
	}
	protocols.SetHTTP1(true)
	srv := &http.Server{Handler: mux, Protocols: protocols, ReadHeaderTimeout: time.Minute}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(listener)
	}()
	tb.Cleanup(func() {
		_ = srv.Close()
		<-done
		wire.CloseIdleConnections()
	})
	return "http://" + listener.Addr().String()
}

// Frame puts a gRPC message's length before it.
func Frame(b []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(b))), b...)
}

// relay asks the real worker and answers with its headers, and what lie makes of its frames.
func (l Liar) relay(w http.ResponseWriter, r *http.Request, rewrite func(*httputil.ProxyRequest), wire http.RoundTripper, lie func(io.Writer, *http.Request, [][]byte) string) {
	out := r.Clone(r.Context())
	out.RequestURI = ""
	rewrite(&httputil.ProxyRequest{In: r, Out: out})
	res, err := wire.RoundTrip(out)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer func() { _ = res.Body.Close() }()
	var frames [][]byte
	for {
		head := make([]byte, 5)
		if _, err := io.ReadFull(res.Body, head); err != nil {
			break
		}
		frame := append(head, make([]byte, binary.BigEndian.Uint32(head[1:]))...)
		if _, err := io.ReadFull(res.Body, frame[5:]); err != nil {
			break
		}
		frames = append(frames, frame)
	}
	for name, values := range res.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(res.StatusCode)
	status := res.Trailer.Get("Grpc-Status")
	if len(frames) > 0 {
		status = lie(w, r, frames)
	}
	if status == "" {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set(http.TrailerPrefix+"Grpc-Status", status)
}
