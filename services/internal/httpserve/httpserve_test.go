package httpserve

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	secret = "a secret of the cluster"
	token  = "a token of the clients"
)

// patience is far more than anything takes that is not meant to take for ever.
const patience = 20 * time.Second

func write(t *testing.T, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// An authority signs certificates.
type authority struct {
	file string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	of := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, of, of, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{write(t, "ca.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), cert, key}
}

// sign makes a certificate for this machine, for servers and clients, and gives the names of its files.
func (a *authority) sign(t *testing.T) (cert, key string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	of := &x509.Certificate{
		SerialNumber: big.NewInt(2), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"localhost", "worker.example"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, of, a.cert, &k.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return write(t, "cert.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), write(t, "key.pem", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}))
}

func load(t *testing.T, s Security) *Credentials {
	t.Helper()
	c, err := s.Load()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// start serves h until the test ends or stop is called.
func start(t *testing.T, cfg Config, h http.HandlerFunc) (s *Server, stop func()) {
	t.Helper()
	if cfg.Listen == "" {
		cfg.Listen = "127.0.0.1:0"
	}
	if cfg.Credentials == nil {
		cfg.Credentials = load(t, Security{})
	}
	s, err := Listen(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, h, patience) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return s, stop
}

func dialer(t *testing.T, c *Credentials, bearer string) *http.Client {
	t.Helper()
	d := NewDialer(c, bearer)
	t.Cleanup(d.Close)
	return d.Client()
}

// http1 is a client that speaks HTTP/1.1 only, with c's certificates.
func http1(t *testing.T, c *Credentials) *http.Client {
	t.Helper()
	p := new(http.Protocols)
	p.SetHTTP1(true)
	tr := &http.Transport{Protocols: p, TLSClientConfig: c.client.Clone()}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

func request(t *testing.T, method, url string, headers ...string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		} else {
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	return r
}

// do makes a call and gives the answer with its body read.
func do(t *testing.T, c *http.Client, r *http.Request) (*http.Response, string) {
	t.Helper()
	res, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(b)
}

func hello(w http.ResponseWriter, r *http.Request) {
	scheme := "plain"
	if r.TLS != nil {
		scheme = "TLS"
	}
	_, _ = io.WriteString(w, r.Proto+" "+scheme)
}

func TestListeningBeyondLoopback(t *testing.T) {
	a := newAuthority(t)
	cert, key := a.sign(t)
	file := write(t, "secret", []byte(secret+"\n"))
	for _, tc := range []struct {
		name     string
		listen   string
		security Security
		want     string // part of the error, empty: it listens
	}{
		{"loopback", "127.0.0.1:0", Security{}, ""},
		{"localhost", "localhost:0", Security{}, ""},
		{"everywhere", "0.0.0.0:0", Security{}, "--insecure"},
		{"everywhere, by an empty host", ":0", Security{}, "--insecure"},
		{"everywhere, IPv6", "[::]:0", Security{}, "--insecure"},
		{"a name", "worker.example:0", Security{}, "--insecure"},
		{"only TLS", "0.0.0.0:0", Security{CertFile: cert, KeyFile: key}, "--secret-file"},
		{"only a secret", "0.0.0.0:0", Security{SecretFile: file}, "--tls-cert"},
		{"a token is no secret", "0.0.0.0:0", Security{CertFile: cert, KeyFile: key, TokenFile: file}, "--secret-file"},
		{"TLS and a secret", "0.0.0.0:0", Security{CertFile: cert, KeyFile: key, SecretFile: file}, ""},
		{"insecure", "0.0.0.0:0", Security{Insecure: true}, ""},
		{"no port", "127.0.0.1", Security{}, "HOST:PORT"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := Listen(Config{Listen: tc.listen, Credentials: load(t, tc.security)})
			if err == nil {
				defer s.Close()
			}
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
	if _, err := Listen(Config{Listen: "127.0.0.1:0", Credentials: load(t, Security{}), Bearer: token, AllowOrigins: []string{"*"}}); err == nil || !strings.Contains(err.Error(), "--allow-origin") {
		t.Errorf("every origin together with a token: %v", err)
	}
	s, err := Listen(Config{Listen: "127.0.0.1:0", Credentials: load(t, Security{}), AllowOrigins: []string{"*"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(Config{Listen: s.Addr(), Credentials: load(t, Security{})}); err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("a port that is taken: %v", err)
	}
	s.Close()
}

func TestSecurityThatCannotBeLoaded(t *testing.T) {
	a := newAuthority(t)
	cert, key := a.sign(t)
	_, other := a.sign(t)
	for _, tc := range []struct {
		name     string
		security Security
		want     string
	}{
		{"a certificate without key", Security{CertFile: cert}, "--tls-cert and --tls-key go together"},
		{"a key without certificate", Security{KeyFile: key}, "--tls-cert and --tls-key go together"},
		{"the key of another", Security{CertFile: cert, KeyFile: other}, "read --tls-cert: "},
		{"no such file", Security{CAFile: "nowhere"}, "read --tls-ca: open nowhere"},
		{"a CA that is none", Security{CAFile: write(t, "x", []byte("hello"))}, "holds no certificate"},
		{"no secret file", Security{SecretFile: "nowhere"}, "read --secret-file: open nowhere"},
		{"a short secret", Security{SecretFile: write(t, "x", []byte(" short\n"))}, "holds 5 characters, a secret has at least 16"},
		{"a short token", Security{TokenFile: write(t, "x", nil)}, "read --token-file: "},
	} {
		if _, err := tc.security.Load(); err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "short\n") {
			t.Errorf("%s: got %v, want %s", tc.name, err, tc.want)
		}
	}
	c := load(t, Security{SecretFile: write(t, "x", []byte("  "+secret+"\r\n")), TokenFile: write(t, "y", []byte(token))})
	if c.Secret != secret || c.Token != token {
		t.Errorf("got %q and %q", c.Secret, c.Token)
	}
}

// One port speaks HTTP/1.1 and HTTP/2, in plain text or, with a certificate, over TLS only.
func TestProtocolsOfOnePort(t *testing.T) {
	a := newAuthority(t)
	cert, key := a.sign(t)
	plain, secure := load(t, Security{}), load(t, Security{CertFile: cert, KeyFile: key})
	trusting := load(t, Security{CAFile: a.file})
	s, _ := start(t, Config{Credentials: plain}, hello)
	tlsServer, _ := start(t, Config{Credentials: secure}, hello)
	for _, tc := range []struct {
		name   string
		client *http.Client
		url    string
		want   string
	}{
		{"HTTP/1.1", http1(t, plain), s.URL(), "HTTP/1.1 plain"},
		{"h2c", dialer(t, plain, ""), s.URL(), "HTTP/2.0 plain"},
		{"HTTP/1.1 over TLS", http1(t, trusting), tlsServer.URL(), "HTTP/1.1 TLS"},
		{"HTTP/2 over TLS", dialer(t, trusting, ""), tlsServer.URL(), "HTTP/2.0 TLS"},
	} {
		if _, got := do(t, tc.client, request(t, http.MethodGet, tc.url)); got != tc.want {
			t.Errorf("%s: got %q", tc.name, got)
		}
	}
	if !strings.HasPrefix(s.URL(), "http://127.0.0.1:") || !strings.HasPrefix(tlsServer.URL(), "https://127.0.0.1:") {
		t.Errorf("the servers are at %s and %s", s.URL(), tlsServer.URL())
	}
	res, body := do(t, http1(t, plain), request(t, http.MethodGet, strings.Replace(tlsServer.URL(), "https", "http", 1)))
	if res.StatusCode != http.StatusBadRequest {
		t.Errorf("plain text to the TLS port: %s %q", res.Status, body)
	}
}

func TestCertificates(t *testing.T) {
	ours, theirs := newAuthority(t), newAuthority(t)
	cert, key := ours.sign(t)
	peer, peerKey := ours.sign(t)
	stranger, strangerKey := theirs.sign(t)
	secretFile := write(t, "secret", []byte(secret))
	one, _ := start(t, Config{Listen: "0.0.0.0:0", Credentials: load(t, Security{CertFile: cert, KeyFile: key, SecretFile: secretFile}), Bearer: secret}, hello)
	mutual, _ := start(t, Config{Credentials: load(t, Security{CertFile: cert, KeyFile: key, CAFile: ours.file})}, hello)
	for _, tc := range []struct {
		name   string
		server *Server
		client Security
		ok     bool
	}{
		{"the server's CA is known", one, Security{CAFile: ours.file}, true},
		{"the server's CA is not known", one, Security{}, false},
		{"the server has the certificate of another CA", one, Security{CAFile: theirs.file}, false},
		{"the client has a certificate", mutual, Security{CAFile: ours.file, CertFile: peer, KeyFile: peerKey}, true},
		{"the client has none", mutual, Security{CAFile: ours.file}, false},
		{"the client has one of another CA", mutual, Security{CAFile: ours.file, CertFile: stranger, KeyFile: strangerKey}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, c := range []*http.Client{dialer(t, load(t, tc.client), secret), http1(t, load(t, tc.client))} {
				res, err := c.Do(request(t, http.MethodGet, tc.server.URL(), "Authorization", "Bearer "+secret))
				if err == nil {
					res.Body.Close()
				}
				if (err == nil) != tc.ok || err == nil && res.StatusCode != http.StatusOK {
					t.Errorf("got %v, %v", res, err)
				}
			}
		})
	}
	old := load(t, Security{CAFile: ours.file})
	old.client.MinVersion, old.client.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	if res, err := http1(t, old).Do(request(t, http.MethodGet, one.URL())); err == nil {
		res.Body.Close()
		t.Error("TLS 1.1 was taken")
	}
}

func TestBearer(t *testing.T) {
	calls := 0
	s, _ := start(t, Config{Bearer: token, Open: func(path string) bool { return path == "/open" }}, func(http.ResponseWriter, *http.Request) { calls++ })
	plain := load(t, Security{})
	for _, tc := range []struct {
		path, header string
		want         int
	}{
		{"/x", "", http.StatusUnauthorized},
		{"/x", "Bearer " + token, http.StatusOK},
		{"/x", "Bearer " + token + "x", http.StatusUnauthorized},
		{"/x", "Bearer " + token[:5], http.StatusUnauthorized},
		{"/x", "Bearer ", http.StatusUnauthorized},
		{"/x", "Basic " + token, http.StatusUnauthorized},
		{"/x", token, http.StatusUnauthorized},
		{"/open", "", http.StatusOK},
		{"/open/../x", "", http.StatusTemporaryRedirect}, // to the path without dots, which then is asked
		{"/openx", "", http.StatusUnauthorized},
		{"/healthz", "", http.StatusOK},
		{"/readyz", "", http.StatusOK},
	} {
		for name, c := range map[string]*http.Client{"h1": http1(t, plain), "h2": dialer(t, plain, "")} {
			c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
			r := request(t, http.MethodGet, s.URL()+tc.path)
			if tc.header != "" {
				r.Header.Set("Authorization", tc.header)
			}
			before := calls
			res, body := do(t, c, r)
			if res.StatusCode != tc.want && !(tc.want == http.StatusTemporaryRedirect && res.StatusCode == http.StatusMovedPermanently) {
				t.Errorf("%s %s with %q: got %s, want %d", name, tc.path, tc.header, res.Status, tc.want)
			}
			if res.StatusCode != http.StatusOK && (calls != before || strings.Contains(body, token)) {
				t.Errorf("%s %s with %q: it reached the handler, or told the token: %q", name, tc.path, tc.header, body)
			}
			if res.StatusCode == http.StatusUnauthorized && res.Header.Get("WWW-Authenticate") != "Bearer" {
				t.Errorf("a refusal with headers %v", res.Header)
			}
		}
	}
	if res, _ := do(t, dialer(t, plain, token), request(t, http.MethodGet, s.URL()+"/x")); res.StatusCode != http.StatusOK {
		t.Errorf("with the dialer's token: %s", res.Status)
	}
}

// A secret does not follow a redirect.
func TestRedirectsAreNotFollowed(t *testing.T) {
	reached := make(chan string, 1)
	other, _ := start(t, Config{}, func(_ http.ResponseWriter, r *http.Request) { reached <- r.Header.Get("Authorization") })
	s, _ := start(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL(), http.StatusTemporaryRedirect)
	})
	res, _ := do(t, dialer(t, load(t, Security{}), secret), request(t, http.MethodPost, s.URL()))
	if res.StatusCode != http.StatusTemporaryRedirect {
		t.Errorf("got %s", res.Status)
	}
	select {
	case got := <-reached:
		t.Errorf("the other server was shown %q", got)
	default:
	}
}

// A page whose name was bound to this address anew sends that name as its Host.
func TestHosts(t *testing.T) {
	plain := load(t, Security{})
	for _, tc := range []struct {
		name  string
		cfg   Config
		host  string
		token string
		ok    bool
	}{
		{"an address", Config{}, "127.0.0.1:80", "", true},
		{"another address", Config{}, "10.1.2.3", "", true},
		{"an IPv6 address", Config{}, "[::1]:80", "", true},
		{"localhost", Config{}, "localhost:80", "", true},
		{"localhost in capitals and with a dot", Config{}, "LocalHost.:80", "", true},
		{"a page's own name", Config{}, "evil.example:80", "", false},
		{"a name below localhost", Config{}, "localhost.evil.example", "", false},
		{"an address below a name", Config{}, "127.0.0.1.evil.example", "", false},
		{"a name that is allowed", Config{AllowHosts: []string{"fletch.example", "Other.Example"}}, "fletch.example:80", "", true},
		{"another one, in other case", Config{AllowHosts: []string{"fletch.example", "Other.Example"}}, "oTHER.example", "", true},
		{"a name that is not", Config{AllowHosts: []string{"fletch.example"}}, "evil.example", "", false},
		{"the host that is listened on", Config{Listen: "localhost:0"}, "localhost", "", true},
		{"any name with the secret", Config{AnyHost: true, Bearer: secret}, "worker-3.pods", secret, true},
		{"any name without it", Config{AnyHost: true, Bearer: secret}, "worker-3.pods", "", false},
		{"any name with a wrong one", Config{AnyHost: true, Bearer: secret}, "worker-3.pods", secret + "x", false},
		{"any name where there is no secret", Config{AnyHost: true}, "worker-3.pods", "", false},
		{"a token does not make up for the name", Config{Bearer: secret}, "evil.example", secret, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, _ := start(t, tc.cfg, hello)
			for _, c := range []*http.Client{http1(t, plain), dialer(t, plain, tc.token)} {
				for _, path := range []string{"/x", "/healthz"} {
					r := request(t, http.MethodGet, s.URL()+path, "Host", tc.host)
					if tc.token != "" {
						r.Header.Set("Authorization", "Bearer "+tc.token)
					}
					want := http.StatusOK
					if !tc.ok {
						want = http.StatusMisdirectedRequest
					}
					if res, body := do(t, c, r); res.StatusCode != want || !tc.ok && !strings.Contains(body, "--allow-host") {
						t.Errorf("%s: got %s %q, want %d", path, res.Status, body, want)
					}
				}
			}
		})
	}
	s, _ := start(t, Config{Credentials: load(t, Security{Insecure: true}), Listen: ":0"}, hello)
	c, err := net.Dial("tcp", strings.TrimPrefix(s.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "GET / HTTP/1.0\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(c); err != nil || !bytes.Contains(b, []byte(" 421 ")) {
		t.Errorf("no Host at all: %q, %v", b, err)
	}
}

func TestCORS(t *testing.T) {
	const origin, other = "https://ui.example", "https://evil.example"
	cfg := Config{Bearer: token, AllowOrigins: []string{origin}, OwnHeaders: []string{"Fletch-Api-Version", "Fletch-Api-Minimum"}}
	s, _ := start(t, cfg, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Fletch-Api-Version", "1.0")
		hello(w, r)
	})
	closed, _ := start(t, Config{}, hello)
	plain := load(t, Security{})
	// What a browser asks before it lets a page call: the names in lower case, sorted.
	for name, headers := range map[string]string{
		"Connect":  "authorization,connect-protocol-version,connect-timeout-ms,content-type,fletch-api-version",
		"gRPC-Web": "authorization,content-type,fletch-api-version,grpc-timeout,x-grpc-web,x-user-agent",
	} {
		for _, c := range []*http.Client{http1(t, plain), dialer(t, plain, "")} {
			preflight := func(url, from, names string) *http.Response {
				res, _ := do(t, c, request(
					t, http.MethodOptions, url+"/fletch.api.v1.QueryService/Execute",
					"Origin", from, "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", names,
				))
				return res
			}
			res := preflight(s.URL(), origin, headers)
			h := res.Header
			if res.StatusCode != http.StatusNoContent || h.Get("Access-Control-Allow-Origin") != origin || h.Get("Access-Control-Allow-Methods") != "POST" || h.Get("Access-Control-Allow-Headers") != headers {
				t.Errorf("%s: the preflight says %s %v", name, res.Status, h)
			}
			if h.Get("Access-Control-Max-Age") != "7200" || h.Get("Access-Control-Allow-Credentials") != "" {
				t.Errorf("%s: the preflight says %v", name, h)
			}
			for what, res := range map[string]*http.Response{
				"another origin":   preflight(s.URL(), other, headers),
				"no origin":        preflight(s.URL(), "null", headers),
				"another header":   preflight(s.URL(), origin, headers+",x-zzz"),
				"a server without": preflight(closed.URL(), origin, headers),
			} {
				if got := res.Header.Get("Access-Control-Allow-Origin"); got != "" && what != "another header" || res.Header.Get("Access-Control-Allow-Headers") != "" {
					t.Errorf("%s: %s is allowed: %v", name, what, res.Header)
				}
			}
			// The call itself, as it is taken and as it is refused.
			for header, want := range map[string]int{"Bearer " + token: http.StatusOK, "Bearer nonsense": http.StatusUnauthorized} {
				res, _ := do(t, c, request(t, http.MethodPost, s.URL()+"/fletch.api.v1.QueryService/Execute", "Origin", origin, "Authorization", header))
				exposed := strings.Split(strings.ToLower(strings.ReplaceAll(res.Header.Get("Access-Control-Expose-Headers"), " ", "")), ",")
				if res.StatusCode != want || res.Header.Get("Access-Control-Allow-Origin") != origin {
					t.Errorf("%s: the answer is %s %v", name, res.Status, res.Header)
				}
				for _, must := range []string{"fletch-api-version", "fletch-api-minimum", "grpc-status", "grpc-message", "grpc-status-details-bin"} {
					if !strings.Contains(","+strings.Join(exposed, ",")+",", ","+must+",") {
						t.Errorf("%s: a page does not see %s: %v", name, must, exposed)
					}
				}
				res, _ = do(t, c, request(t, http.MethodPost, s.URL()+"/x", "Origin", other, "Authorization", header))
				if got := res.Header.Get("Access-Control-Allow-Origin"); got != "" {
					t.Errorf("%s: the answer to another origin allows %q", name, got)
				}
			}
		}
	}
	open, _ := start(t, Config{AllowOrigins: []string{"*"}}, hello)
	if res, _ := do(t, http1(t, plain), request(t, http.MethodPost, open.URL(), "Origin", other)); res.Header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("every origin: %v", res.Header)
	}
}

func TestHeadersAreBounded(t *testing.T) {
	s, _ := start(t, Config{}, hello)
	plain := load(t, Security{})
	for name, c := range map[string]*http.Client{"h1": http1(t, plain), "h2": dialer(t, plain, "")} {
		if res, _ := do(t, c, request(t, http.MethodGet, s.URL(), "X-Large", strings.Repeat("x", 30<<10))); res.StatusCode != http.StatusOK {
			t.Errorf("%s: 30 KiB: %s", name, res.Status)
		}
		res, err := c.Do(request(t, http.MethodGet, s.URL(), "X-Large", strings.Repeat("x", 40<<10)))
		if err == nil {
			res.Body.Close()
			if res.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
				t.Errorf("%s: 40 KiB: %s", name, res.Status)
			}
		}
	}
}

// A reader that stops reading is dropped; the handler's write fails and its context ends.
func TestReadersThatStop(t *testing.T) {
	for _, name := range []string{"h1", "h2"} {
		t.Run(name, func(t *testing.T) {
			ended := make(chan error, 1)
			s, _ := start(t, Config{WriteTimeout: 50 * time.Millisecond}, func(w http.ResponseWriter, r *http.Request) {
				block := make([]byte, 1<<20)
				for {
					if _, err := w.Write(block); err != nil {
						<-r.Context().Done()
						ended <- err
						return
					}
					w.(http.Flusher).Flush()
				}
			})
			plain := load(t, Security{})
			c := map[string]*http.Client{"h1": http1(t, plain), "h2": dialer(t, plain, "")}[name]
			res, err := c.Do(request(t, http.MethodGet, s.URL()))
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			select {
			case err := <-ended:
				t.Logf("the write fails by: %v", err)
			case <-time.After(patience):
				t.Fatal("the handler still waits for a reader that does not read")
			}
			if _, err := io.Copy(io.Discard, res.Body); err == nil {
				t.Error("what was cut off looks complete")
			}
		})
	}
}

// A handler may take as long as it likes between two writes, and so may a reader who reads.
func TestHandlersThatTakeLong(t *testing.T) {
	const limit = 20 * time.Millisecond
	for _, name := range []string{"h1", "h2"} {
		t.Run(name, func(t *testing.T) {
			s, _ := start(t, Config{WriteTimeout: limit}, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				for i := range 3 {
					_, _ = w.Write(body)
					if i == 1 {
						w.(http.Flusher).Flush()
					}
					select {
					case <-time.After(4 * limit):
					case <-r.Context().Done():
						return
					}
				}
				_, _ = io.WriteString(w, "end")
			})
			plain := load(t, Security{})
			c := map[string]*http.Client{"h1": http1(t, plain), "h2": dialer(t, plain, "")}[name]
			large := strings.Repeat("more than any buffer holds ", 1000)
			for range 2 { // the second over the same connection
				r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL(), strings.NewReader(large))
				if err != nil {
					t.Fatal(err)
				}
				if _, got := do(t, c, r); got != large+large+large+"end" {
					t.Errorf("got %d bytes", len(got))
				}
			}
		})
	}
}

// A request whose body never comes ends in time; a handler that does not want the body does not wait for it.
func TestBodiesThatNeverCome(t *testing.T) {
	for _, name := range []string{"h1", "h2"} {
		t.Run(name, func(t *testing.T) {
			read := make(chan error, 1)
			s, _ := start(t, Config{WriteTimeout: 50 * time.Millisecond}, func(w http.ResponseWriter, r *http.Request) {
				_, err := io.ReadAll(r.Body)
				read <- err
				http.Error(w, "nothing came", http.StatusRequestTimeout)
			})
			unwanted, _ := start(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
				read <- r.Body.Close()
				http.Error(w, "not wanted", http.StatusBadRequest)
			})
			plain := load(t, Security{})
			c := map[string]*http.Client{"h1": http1(t, plain), "h2": dialer(t, plain, "")}[name]
			for url, want := range map[string]error{s.URL(): os.ErrDeadlineExceeded, unwanted.URL(): nil} {
				never, unused := io.Pipe()
				r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, never)
				if err != nil {
					t.Fatal(err)
				}
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					if res, err := c.Do(r); err == nil {
						res.Body.Close()
					}
				}()
				select {
				case err := <-read:
					if !errors.Is(err, want) {
						t.Errorf("the body ends with %v, want %v", err, want)
					}
				case <-time.After(patience):
					t.Error("the handler still waits for a body that does not come")
				}
				unused.Close()
				<-ended
			}
		})
	}
}

func TestCutOff(t *testing.T) {
	for _, name := range []string{"h1", "h2"} {
		t.Run(name, func(t *testing.T) {
			failed := make(chan error, 1)
			s, _ := start(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
				done, cancel := context.WithCancel(context.Background())
				defer CutOff(r.Context(), done, time.Millisecond)()
				block := make([]byte, 1<<20)
				cancel()
				for {
					if _, err := w.Write(block); err != nil {
						failed <- err
						return
					}
				}
			})
			plain := load(t, Security{})
			c := map[string]*http.Client{"h1": http1(t, plain), "h2": dialer(t, plain, "")}[name]
			res, err := c.Do(request(t, http.MethodGet, s.URL()))
			if err == nil {
				defer res.Body.Close()
			}
			select {
			case err := <-failed:
				t.Logf("the write fails by: %v", err)
			case <-time.After(patience):
				t.Error("the write goes on")
			}
		})
	}
	CutOff(t.Context(), t.Context(), 0)() // outside a call it does nothing
}

func TestHealth(t *testing.T) {
	var notReady error
	s, _ := start(t, Config{Ready: func() error { return notReady }}, hello)
	c := http1(t, load(t, Security{}))
	for _, tc := range []struct {
		path  string
		ready error
		want  int
		body  string
	}{
		{"/healthz", nil, http.StatusOK, "ok\n"},
		{"/readyz", nil, http.StatusOK, "ok\n"},
		{"/readyz", errors.New("no worker is ready"), http.StatusServiceUnavailable, "no worker is ready\n"},
		{"/healthz", errors.New("no worker is ready"), http.StatusOK, "ok\n"},
	} {
		notReady = tc.ready
		if res, body := do(t, c, request(t, http.MethodGet, s.URL()+tc.path)); res.StatusCode != tc.want || body != tc.body {
			t.Errorf("%s: got %s %q", tc.path, res.Status, body)
		}
	}
}

// A server that is told to stop takes no new connection, says so to load balancers that are still connected, and lets open
// calls end.
func TestStopping(t *testing.T) {
	for _, name := range []string{"h1", "h2"} {
		t.Run(name, func(t *testing.T) {
			begun, end := make(chan struct{}), make(chan struct{})
			s, stop := start(t, Config{}, func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, "begin ")
				w.(http.Flusher).Flush()
				close(begun)
				<-end
				_, _ = io.WriteString(w, "end")
			})
			plain := load(t, Security{})
			c := map[string]*http.Client{"h1": http1(t, plain), "h2": dialer(t, plain, "")}[name]
			res, err := c.Do(request(t, http.MethodGet, s.URL()))
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			<-begun
			stopped := make(chan struct{})
			go func() {
				stop()
				close(stopped)
			}()
			for {
				conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL(), "http://"))
				if err != nil {
					break
				}
				conn.Close()
			}
			select {
			case <-stopped:
				t.Error("the server did not wait for an open call")
			default:
			}
			close(end)
			if b, err := io.ReadAll(res.Body); err != nil || string(b) != "begin end" {
				t.Errorf("the open call got %q, %v", b, err)
			}
			c.CloseIdleConnections()
			<-stopped
		})
	}
}

// Calls that do not end in time are ended.
func TestStoppingInTime(t *testing.T) {
	for _, name := range []string{"h1", "h2"} {
		t.Run(name, func(t *testing.T) {
			s, err := Listen(Config{Listen: "127.0.0.1:0", Credentials: load(t, Security{})})
			if err != nil {
				t.Fatal(err)
			}
			begun, ended := make(chan struct{}), make(chan struct{})
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() {
				done <- s.Serve(ctx, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
					close(begun)
					<-r.Context().Done()
					close(ended)
				}), time.Millisecond)
			}()
			plain := load(t, Security{})
			c := map[string]*http.Client{"h1": http1(t, plain), "h2": dialer(t, plain, "")}[name]
			failed := make(chan error, 1)
			go func() {
				res, err := c.Do(request(t, http.MethodGet, s.URL()))
				if err == nil {
					res.Body.Close()
				}
				failed <- err
			}()
			<-begun
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
			<-ended
			if err := <-failed; err == nil {
				t.Error("a call that was ended looks answered")
			}
		})
	}
}
