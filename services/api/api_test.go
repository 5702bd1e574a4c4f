package api

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"connectrpc.com/connect/v2/connectproto"

	apiv1 "github.com/fletchdb/fletch/gen/go/fletch/api/v1"
	"github.com/fletchdb/fletch/gen/go/fletch/api/v1/apiv1connect"
	"github.com/fletchdb/fletch/services/internal/identity"
)

// nothing is a coordinator that knows no worker.
type nothing struct {
	apiv1connect.ClusterServiceHandler
	apiv1connect.VersionServiceHandler
}

func (nothing) ListWorkers(context.Context, *apiv1.ListWorkersRequest) (*apiv1.ListWorkersResponse, error) {
	return &apiv1.ListWorkersResponse{}, nil
}

func (nothing) GetVersion(context.Context, *apiv1.GetVersionRequest) (*apiv1.GetVersionResponse, error) {
	return &apiv1.GetVersionResponse{}, nil
}

// serve answers as a server of the given versions and gives its URL.
func serve(t *testing.T, v versions, called func(procedure, version string)) string {
	t.Helper()
	srv := connect.NewServer(v.interceptor(called))
	apiv1connect.RegisterClusterServiceHandler(srv, nothing{})
	apiv1connect.RegisterVersionServiceHandler(srv, nothing{})
	mux := http.NewServeMux()
	connecthttp.Mount(mux, srv)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

// says is a client's interceptor that says a version.
func says(version string) connect.ClientInterceptor {
	return func(next connect.ClientFunc) connect.ClientFunc {
		return func(ctx context.Context, spec connect.Spec) (connect.ClientStream, error) {
			if info, ok := connect.CallInfoForClientContext(ctx); ok && version != "" {
				info.RequestHeader().Set(identity.HeaderAPI, version)
			}
			return next(ctx, spec)
		}
	}
}

// A server of 3.2 to 3.5 serves whoever speaks that, or more within 3, or says nothing; to the others it says what to do. Its own
// version it tells to all.
func TestServed(t *testing.T) {
	counted := map[string]int{}
	url := serve(t, versions{least: identity.APIVersion{Major: 3, Minor: 2}, own: identity.APIVersion{Major: 3, Minor: 5}}, func(procedure, version string) {
		if procedure == apiv1connect.ClusterServiceListWorkersProcedure {
			counted[version]++
		}
	})
	for _, tc := range []struct{ said, message, hint string }{
		{"", "", ""},
		{"3.2", "", ""},
		{"3.5", "", ""},
		{"3.6", "", ""},
		{"3.1", "the client speaks API version 3.1, this server serves 3.2 to 3.5", "upgrade the client to a release with API version 3.2 or later"},
		{"4.0", "this server serves major version 3 only", "use a client of API version 3.2 to 3.x"},
		{"2.9", "this server serves major version 3 only", "use a client of API version 3.2 to 3.x"},
		{"3", "not MAJOR.MINOR", "such as 3.5"},
		{"3.-1", "not MAJOR.MINOR", "such as 3.5"},
	} {
		client := connect.NewClient(connecthttp.NewTransport(http.DefaultClient, url), says(tc.said))
		_, err := apiv1connect.NewClusterServiceClient(client).ListWorkers(t.Context(), &apiv1.ListWorkersRequest{})
		if (err == nil) != (tc.message == "") {
			t.Errorf("%q: %v", tc.said, err)
		}
		if err != nil && (!strings.Contains(err.Error(), tc.message) || !strings.Contains(hintOf(t, err), tc.hint)) {
			t.Errorf("%q: %v, hint %q", tc.said, err, hintOf(t, err))
		}
		if _, err := apiv1connect.NewVersionServiceClient(client).GetVersion(t.Context(), &apiv1.GetVersionRequest{}); err != nil {
			t.Errorf("%q is not told the version: %v", tc.said, err)
		}
	}
	if counted["none"] != 1 || counted["invalid"] != 2 || counted["other"] != 6 {
		t.Errorf("counted %v", counted)
	}
}

// hintOf is the hint in an error's detail, whose code says that versions are the matter.
func hintOf(t *testing.T, err error) string {
	t.Helper()
	var rpc *connect.Error
	if !errors.As(err, &rpc) {
		t.Fatal(err)
	}
	for _, d := range rpc.Details() {
		m, err := connectproto.UnmarshalErrorDetail(d)
		if detail, ok := m.(*apiv1.ErrorDetail); err == nil && ok {
			if detail.GetCode() != CodeVersion {
				t.Errorf("code %q", detail.GetCode())
			}
			return detail.GetHint()
		}
	}
	return ""
}

// Both ends' own interceptors: of one build they have nothing to say; a server of an earlier or later minor version is told of once,
// and of an error as of an answer.
func TestNotice(t *testing.T) {
	own := identity.API()
	for _, tc := range []struct {
		server versions
		times  int
	}{
		{versions{own, own}, 0},
		{versions{own, identity.APIVersion{Major: own.Major, Minor: own.Minor + 1}}, 1},
		{versions{identity.APIVersion{Major: own.Major, Minor: own.Minor + 1}, identity.APIVersion{Major: own.Major, Minor: own.Minor + 1}}, 1},
	} {
		var told []string
		url := serve(t, tc.server, func(string, string) {})
		client := apiv1connect.NewClusterServiceClient(connect.NewClient(connecthttp.NewTransport(http.DefaultClient, url), Client(func(s string) { told = append(told, s) })))
		for range 3 {
			_, err := client.ListWorkers(t.Context(), &apiv1.ListWorkersRequest{})
			if (err == nil) != (tc.server.least == own) {
				t.Errorf("%v: %v", tc.server, err)
			}
		}
		if len(told) != tc.times || tc.times > 0 && (!strings.Contains(told[0], own.String()) || !strings.Contains(told[0], tc.server.own.String())) {
			t.Errorf("%v: %q", tc.server, told)
		}
	}
}
