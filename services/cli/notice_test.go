package cli

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/fletchdb/fletch/services/internal/httpserve"
	"github.com/fletchdb/fletch/services/internal/identity"
)

// otherVersion is a server that is the one at target, but for the API version that it says it speaks.
func otherVersion(t *testing.T, target, version string) string {
	t.Helper()
	to, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	credentials, err := httpserve.Security{}.Load()
	if err != nil {
		t.Fatal(err)
	}
	d := httpserve.NewDialer(credentials, "")
	t.Cleanup(d.Close)
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(to) },
		Transport:     d.Client().Transport,
		FlushInterval: -1,
		ModifyResponse: func(r *http.Response) error {
			r.Header.Set(identity.HeaderAPI, version)
			return nil
		},
	}
	s := httptest.NewUnstartedServer(proxy)
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Config.Protocols.SetHTTP1(true)
	s.Start()
	t.Cleanup(s.Close)
	return s.URL
}

// A server of another API version is told of in one line on standard error, once, and queries run.
func TestVersionNotice(t *testing.T) {
	server := otherVersion(t, newCluster(t).server, "1.9")
	for _, args := range [][]string{
		{"sql", "--connect", server, "--format", "csv", "-c", "SELECT count(*) AS n FROM region; SELECT 5 AS n"},
		{"sql", "--connect", server, "--format", "csv", "-c", "SELECT nonsense"},
		{"workers", "--connect", server},
		{"version", "--connect", server},
	} {
		var out, errs bytes.Buffer
		Run(t.Context(), args, strings.NewReader(""), &out, &errs)
		first, rest, _ := strings.Cut(errs.String(), "\n")
		if !strings.HasPrefix(first, "note: this client speaks API version "+identity.API().String()+", the server 1.9: ") || strings.Contains(rest, "note:") {
			t.Errorf("%v: it says %q", args, errs.String())
		}
		if args[0] == "sql" && !strings.Contains(args[6], "nonsense") && out.String() != "n\n5\nn\n5\n" {
			t.Errorf("%v: it prints %q", args, out.String())
		}
	}
}
