// Package httpserve is the one port of a server and the other end of it: HTTP/1.1, HTTP/2 and h2c with or without TLS, who may
// connect, which hosts and origins may name it, health and drain. It must never know what is served.
package httpserve

import (
	"context"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	connectcors "connectrpc.com/cors"
	"github.com/rs/cors"
)

// Limits and times of every connection.
const (
	MaxHeaderBytes = 32 << 10
	FrameBytes     = 1 << 20 // largest HTTP/2 frame: fewer, larger ones cost half the CPU of the default 16 KiB
	WindowBytes    = 1 << 20 // of one stream: stays in cache; 1 GB/s at 1 ms round trip
	MaxStreams     = 1000    // of one connection
	PingAfter      = 10 * time.Second
	PingTimeout    = 5 * time.Second
	WriteTimeout   = 30 * time.Second // for a reader to take what was written, unless a Config says otherwise
)

// A Security is the secrets and certificates of a process. The zero value is plain text and no secret.
type Security struct {
	CertFile, KeyFile string // this process's certificate
	CAFile            string // certificates of the other side must be signed by it; a server then asks clients for one
	SecretFile        string // shared by coordinators and workers
	TokenFile         string // of API clients
	Insecure          bool   // listen beyond loopback without TLS and secret
}

// A Credentials is a Security with its files read.
type Credentials struct {
	server, client *tls.Config
	Secret, Token  string
	insecure       bool
}

// Load reads the files of s.
func (s Security) Load() (*Credentials, error) {
	c := &Credentials{insecure: s.Insecure}
	var err error
	if c.Secret, err = readSecret("--secret-file", s.SecretFile); err != nil {
		return nil, err
	}
	if c.Token, err = readSecret("--token-file", s.TokenFile); err != nil {
		return nil, err
	}
	if (s.CertFile == "") != (s.KeyFile == "") {
		return nil, errors.New("--tls-cert and --tls-key go together")
	}
	var pool *x509.CertPool
	if s.CAFile != "" {
		pem, err := os.ReadFile(s.CAFile)
		if err != nil {
			return nil, fmt.Errorf("read --tls-ca: %w", err)
		}
		pool = x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("read --tls-ca: %s holds no certificate", s.CAFile)
		}
	}
	c.client = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool}
	if s.CertFile != "" {
		cert, err := tls.LoadX509KeyPair(s.CertFile, s.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("read --tls-cert: %w", err)
		}
		c.client.Certificates = []tls.Certificate{cert}
		c.server = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{cert}}
		if pool != nil {
			c.server.ClientCAs, c.server.ClientAuth = pool, tls.RequireAndVerifyClientCert
		}
	}
	return c, nil
}

func readSecret(flag, path string) (string, error) {
	if path == "" {
		return "", nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", flag, err)
	}
	s := strings.TrimSpace(string(b))
	if len(s) < 16 {
		return "", fmt.Errorf("read %s: %s holds %d characters, a secret has at least 16", flag, path, len(s))
	}
	return s, nil
}

// Scheme is http or https, as a server with c is addressed.
func (c *Credentials) Scheme() string {
	if c.server != nil {
		return "https"
	}
	return "http"
}

// A Config is what a server needs to know beside its handler.
type Config struct {
	Listen       string // HOST:PORT; port 0 takes a free one
	Credentials  *Credentials
	Bearer       string   // what Authorization must bring; empty: nobody is asked
	AnyHost      bool     // a request that shows Bearer may name any host
	AllowHosts   []string // further host names a request may name
	AllowOrigins []string // origins of pages that may call; empty: no CORS at all
	OwnHeaders   []string // our headers that pages may send and see
	Open         func(path string) bool
	Ready        func() error  // nil error: can take work
	WriteTimeout time.Duration // a reader that does not take a write within it is dropped; 0 is the constant WriteTimeout
}

// A Server is one listening port.
type Server struct {
	cfg      Config
	listener net.Listener
	url      string
	draining atomic.Bool
}

// Listen opens the port. Beyond loopback it needs TLS and a bearer secret, or the credentials' Insecure.
func Listen(cfg Config) (*Server, error) {
	host, _, err := net.SplitHostPort(cfg.Listen)
	if err != nil {
		return nil, fmt.Errorf("--listen %q is not HOST:PORT", cfg.Listen)
	}
	if cfg.WriteTimeout == 0 {
		cfg.WriteTimeout = WriteTimeout
	}
	if !isLoopback(host) && !cfg.Credentials.insecure && (cfg.Credentials.server == nil || cfg.Credentials.Secret == "") {
		return nil, fmt.Errorf("--listen %s can be reached from other machines: give --tls-cert, --tls-key and --secret-file, or --insecure if everybody on that network may read everything", cfg.Listen)
	}
	if slices.Contains(cfg.AllowOrigins, "*") && cfg.Bearer != "" {
		return nil, errors.New("--allow-origin * cannot go together with a token: name the origins")
	}
	l, err := net.Listen("tcp", cfg.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", cfg.Listen, err)
	}
	s := &Server{cfg: cfg, listener: l}
	s.url = cfg.Credentials.Scheme() + "://" + s.reachable(host)
	return s, nil
}

// reachable is host and port by which this machine can be called.
func (s *Server) reachable(host string) string {
	_, port, _ := net.SplitHostPort(s.listener.Addr().String())
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

// URL is where the server is, with the port that it got.
func (s *Server) URL() string { return s.url }

// Addr is the address that the server listens on.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Close gives the port back; for a server whose Serve was never called.
func (s *Server) Close() error { return s.listener.Close() }

// Serve answers until ctx ends, then takes no new connection and waits up to grace for open calls.
func (s *Server) Serve(ctx context.Context, handler http.Handler, grace time.Duration) error {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	srv := &http.Server{
		Handler:           s.guard(handler),
		Protocols:         protocols,
		TLSConfig:         s.cfg.Credentials.server.Clone(),
		MaxHeaderBytes:    MaxHeaderBytes,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: MaxStreams, MaxReadFrameSize: FrameBytes, MaxReceiveBufferPerStream: WindowBytes, MaxReceiveBufferPerConnection: 16 << 20,
			SendPingTimeout: PingAfter, PingTimeout: PingTimeout, WriteByteTimeout: s.cfg.WriteTimeout,
		},
	}
	failed := make(chan error, 1)
	go func() {
		if s.cfg.Credentials.server != nil {
			failed <- srv.ServeTLS(s.listener, "", "")
		} else {
			failed <- srv.Serve(s.listener)
		}
	}()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	s.draining.Store(true)
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if err := srv.Shutdown(bounded); err != nil {
		_ = srv.Close()
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// guard answers health itself and lets the rest through to whoever may call.
func (s *Server) guard(next http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		err := error(nil)
		if s.draining.Load() {
			err = errors.New("draining")
		} else if s.cfg.Ready != nil {
			err = s.cfg.Ready()
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("ok\n"))
	})
	mux.Handle("/", s.authorize(next))
	var h http.Handler = mux
	if len(s.cfg.AllowOrigins) > 0 {
		h = cors.New(cors.Options{
			AllowedOrigins: s.cfg.AllowOrigins,
			AllowedMethods: connectcors.AllowedMethods(),
			AllowedHeaders: append(append(connectcors.AllowedHeaders(), "Authorization"), s.cfg.OwnHeaders...),
			ExposedHeaders: append(connectcors.ExposedHeaders(), s.cfg.OwnHeaders...),
			MaxAge:         7200,
		}).Handler(h)
	}
	return impatient(s.checkHost(h), s.cfg.WriteTimeout)
}

// checkHost refuses names that this server does not go by: a page that rebinds its own name to this address gets nothing.
func (s *Server) checkHost(next http.Handler) http.Handler {
	listen, _, _ := net.SplitHostPort(s.cfg.Listen)
	allowed := map[string]bool{"localhost": true}
	for _, name := range append([]string{listen}, s.cfg.AllowHosts...) {
		if name != "" {
			allowed[strings.ToLower(name)] = true
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
		_, err := netip.ParseAddr(host)
		if err != nil && !allowed[host] && (!s.cfg.AnyHost || s.cfg.Bearer == "" || !s.shows(r)) {
			http.Error(w, fmt.Sprintf("host %q is not one this server goes by: add --allow-host", host), http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (s *Server) authorize(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.cfg.Bearer != "" && !s.shows(r) && (s.cfg.Open == nil || !s.cfg.Open(r.URL.Path)) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "the secret or token is missing or wrong", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (s *Server) shows(r *http.Request) bool {
	got, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return ok && subtle.ConstantTimeCompare([]byte(got), []byte(s.cfg.Bearer)) == 1
}

// A Dialer makes HTTP clients that speak as this process.
type Dialer struct {
	client *http.Client
}

// NewDialer speaks with c's certificate and shows bearer, if any, to every server. Connections are shared by all clients.
func NewDialer(c *Credentials, bearer string) *Dialer {
	protocols := new(http.Protocols)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	dial := &net.Dialer{Timeout: 5 * time.Second}
	t := &http.Transport{
		Protocols:           protocols,
		TLSClientConfig:     c.client.Clone(),
		DialContext:         dial.DialContext,
		DisableCompression:  true,
		TLSHandshakeTimeout: 5 * time.Second,
		IdleConnTimeout:     90 * time.Second,
		HTTP2: &http.HTTP2Config{
			MaxReadFrameSize: FrameBytes, MaxReceiveBufferPerStream: WindowBytes, MaxReceiveBufferPerConnection: 64 << 20,
			SendPingTimeout: PingAfter, PingTimeout: PingTimeout, WriteByteTimeout: WriteTimeout,
		},
	}
	return &Dialer{&http.Client{
		Transport:     &bearing{t, bearer},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Client is the HTTP client. It follows no redirect: no server of ours sends one, and the secret must not follow it.
func (d *Dialer) Client() *http.Client { return d.client }

// Close ends idle connections.
func (d *Dialer) Close() { d.client.CloseIdleConnections() }

type bearing struct {
	*http.Transport
	bearer string
}

func (b *bearing) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.bearer != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+b.bearer)
	}
	return b.Transport.RoundTrip(r)
}
