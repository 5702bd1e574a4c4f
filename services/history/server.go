package history

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"connectrpc.com/connect/v2/connectproto"
	"connectrpc.com/grpchealth"
	"connectrpc.com/grpcreflect/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/fletchdb/fletch/gen/go/fletch/api/v1/apiv1connect"
	"github.com/fletchdb/fletch/services/api"
	"github.com/fletchdb/fletch/services/internal/httpserve"
	"github.com/fletchdb/fletch/services/internal/identity"
	"github.com/fletchdb/fletch/services/internal/telemetry"
)

// A Config is how a history server serves; the zero value listens on a free port of loopback.
type Config struct {
	Listen       string // HOST:PORT; empty is 127.0.0.1:0
	Security     httpserve.Security
	AllowHosts   []string
	AllowOrigins []string
	Logger       *slog.Logger // nil is slog's default
}

// A Server tells of the queries of an event log by the same API as a coordinator. It runs none.
type Server struct {
	index    *Index
	http     *httpserve.Server
	log      *slog.Logger
	about    api.Version
	registry *prometheus.Registry
	calls    *prometheus.CounterVec
}

// NewServer makes a server of the log in dir with its index in the folder cache. It listens, but answers only in Serve.
func NewServer(dir, cache string, cfg Config) (*Server, error) {
	credentials, err := cfg.Security.Load()
	if err != nil {
		return nil, err
	}
	if cfg.Listen == "" {
		cfg.Listen = "127.0.0.1:0"
	}
	s := &Server{log: cfg.Logger, about: api.Version{Instance: identity.NewInstance(), Started: time.Now()}, registry: telemetry.NewRegistry("history")}
	if s.log == nil {
		s.log = slog.Default()
	}
	s.calls = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "fletch_api_calls_total", Help: "Calls by procedure and the API version that the client said it speaks; none where it said nothing.",
	}, []string{"procedure", "client_version"})
	s.registry.MustRegister(s.calls)
	if s.index, err = OpenIndex(dir, cache); err != nil {
		return nil, err
	}
	s.http, err = httpserve.Listen(httpserve.Config{
		Listen: cfg.Listen, Credentials: credentials, Bearer: credentials.Token, AllowHosts: cfg.AllowHosts, AllowOrigins: cfg.AllowOrigins,
		OwnHeaders: api.Headers(), Open: func(path string) bool { return path == "/grpc.health.v1.Health/Check" },
	})
	if err != nil {
		return nil, errors.Join(err, s.index.Close())
	}
	return s, nil
}

// URL is where the server listens.
func (s *Server) URL() string { return s.http.URL() }

// Close gives the port and the index back, for a server whose Serve was never called.
func (s *Server) Close() error { return errors.Join(s.http.Close(), s.index.Close()) }

// Serve reads what the log holds, and answers calls until ctx ends.
func (s *Server) Serve(ctx context.Context) error {
	began := time.Now()
	reading := make(chan struct{})
	go func() { // the first list needs not wait for it alone
		defer close(reading)
		if err := s.index.Refresh(ctx); err != nil && ctx.Err() == nil {
			s.log.Error("the event log cannot be read", "error", err)
			return
		}
		s.log.Info("the event log is read", "elapsed", time.Since(began))
	}()
	err := s.http.Serve(ctx, s.handler(), time.Second)
	<-reading
	if cerr := s.index.Close(); cerr != nil {
		err = errors.Join(err, fmt.Errorf("close the index: %w", cerr))
	}
	return err
}

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	srv := connect.NewServer(api.Server(func(procedure, version string) { s.calls.WithLabelValues(procedure, version).Inc() }))
	apiv1connect.RegisterHistoryServiceHandler(srv, NewService(s.index))
	apiv1connect.RegisterVersionServiceHandler(srv, s.about)
	grpcreflect.Register(srv)
	connecthttp.Mount(mux, srv, connecthttp.WithReadMaxBytes(2<<20), connecthttp.WithCodecs(connectproto.NewBinaryCodec(), api.StrictJSON()))
	api.Describe(mux)
	mux.Handle("GET "+telemetry.Path, telemetry.Handler(s.registry))
	mux.Handle(grpchealth.NewHandler(grpchealth.NewStaticChecker(apiv1connect.HistoryServiceName, apiv1connect.VersionServiceName)))
	return mux
}
