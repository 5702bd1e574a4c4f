package worker_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	identityv1 "github.com/fletchdb/fletch/gen/go/fletch/identity/v1"
	workerv1 "github.com/fletchdb/fletch/gen/go/fletch/worker/v1"
	"github.com/fletchdb/fletch/gen/go/fletch/worker/v1/workerv1connect"
	"github.com/fletchdb/fletch/services/worker"
)

// guarded are the calls that are meant for one worker only.
var guarded = []string{
	workerv1connect.WorkerServiceSetPlanProcedure, workerv1connect.WorkerServiceExecuteTaskProcedure, workerv1connect.WorkerServiceWatchProcedure,
}

// callers are the identities that callers mean who mean another worker, or none.
func callers(self map[string]string) map[string]map[string]string {
	out := map[string]map[string]string{"nobody": {}}
	for name, change := range map[string]struct{ header, value string }{
		"another instance":   {"fletch-instance", strings.Repeat("0", 32)},
		"another version":    {"fletch-worker-version", "v2"},
		"another protocol":   {"fletch-protocol", "4294967295"},
		"other capabilities": {"fletch-capabilities", strings.Repeat("0", 32)},
		"no instance":        {"fletch-instance", ""},
		"no version":         {"fletch-worker-version", ""},
		"no protocol":        {"fletch-protocol", ""},
		"no capabilities":    {"fletch-capabilities", ""},
		"a broken version":   {"fletch-worker-version", "%"},
		"a version with NUL": {"fletch-worker-version", "%76%31%00"},
	} {
		headers := map[string]string{}
		for k, v := range self {
			headers[k] = v
		}
		if headers[change.header] = change.value; change.value == "" {
			delete(headers, change.header)
		}
		out[name] = headers
	}
	return out
}

// headersOf is an identity as its headers.
func headersOf(id *identityv1.Identity) map[string]string {
	return map[string]string{
		"fletch-instance": id.GetInstanceId(), "fletch-worker-version": url.PathEscape(id.GetVersion()), "fletch-protocol": fmt.Sprint(id.GetProtocol()), "fletch-capabilities": id.GetCapabilities(),
	}
}

// A worker refuses what is meant for another before it reads the body, which here never comes, in the words of the protocol
// that it is asked in, and says who it is.
func TestIdentityOverEveryProtocol(t *testing.T) {
	c := start(t, worker.WithVersion("v 1"))
	h2 := new(http.Protocols)
	h2.SetUnencryptedHTTP2(true)
	client := &http.Client{Transport: &http.Transport{Protocols: h2}}
	t.Cleanup(client.CloseIdleConnections)
	for _, procedure := range guarded {
		for _, contentType := range []string{"application/grpc", "application/grpc-web", "application/connect+proto"} {
			if procedure == workerv1connect.WorkerServiceSetPlanProcedure {
				contentType = strings.Replace(contentType, "connect+", "", 1)
			}
			for name, headers := range callers(headersOf(c.self)) {
				t.Run(procedure+" "+contentType+" "+name, func(t *testing.T) {
					ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
					defer cancel()
					never, unused := io.Pipe()
					defer unused.Close()
					req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+procedure, never)
					if err != nil {
						t.Fatal(err)
					}
					req.Header.Set("Content-Type", contentType)
					for k, v := range headers {
						req.Header.Set(k, v)
					}
					res, err := client.Do(req)
					if err != nil {
						t.Fatal(err)
					}
					defer res.Body.Close()
					for k, v := range headersOf(c.self) {
						if got := res.Header.Get(k); got != v {
							t.Errorf("%s: got %q, want %q", k, got, v)
						}
					}
					body, err := io.ReadAll(res.Body)
					if err != nil {
						t.Fatal(err)
					}
					if have := mismatch(t, contentType, body, res.Trailer); have.GetInstanceId() != c.self.GetInstanceId() || have.GetVersion() != "v 1" {
						t.Errorf("the refusal says that it comes from %v", have)
					}
				})
			}
		}
	}
	if l := c.load(); l.GetAttempts() != 0 {
		t.Errorf("%d attempts were opened", l.GetAttempts())
	}
}

// mismatch is who refuses, from the detail of a refusal in a protocol's own words.
func mismatch(t *testing.T, contentType string, body []byte, trailer http.Header) *identityv1.Identity {
	t.Helper()
	var value []byte
	switch contentType {
	case "application/proto", "application/connect+proto":
		var e struct {
			Code    string
			Details []struct{ Type, Value string }
			Error   json.RawMessage
		}
		if contentType == "application/connect+proto" {
			body = body[5:] // the end of the stream is a message of its own
		}
		if err := json.Unmarshal(body, &e); err != nil {
			t.Fatalf("%q: %v", body, err)
		}
		if e.Error != nil {
			if err := json.Unmarshal(e.Error, &e); err != nil {
				t.Fatalf("%q: %v", body, err)
			}
		}
		if e.Code != "failed_precondition" || len(e.Details) != 1 || e.Details[0].Type != "fletch.identity.v1.VersionMismatch" {
			t.Fatalf("the refusal is %q", body)
		}
		var err error
		if value, err = base64.RawStdEncoding.DecodeString(e.Details[0].Value); err != nil {
			t.Fatal(err)
		}
	default:
		code, encoded := trailer.Get("Grpc-Status"), trailer.Get("Grpc-Status-Details-Bin")
		if contentType == "application/grpc-web" {
			for line := range strings.Lines(string(body[5:])) {
				k, v, _ := strings.Cut(strings.TrimSpace(line), ":")
				switch strings.ToLower(k) {
				case "grpc-status":
					code = strings.TrimSpace(v)
				case "grpc-status-details-bin":
					encoded = strings.TrimSpace(v)
				}
			}
		}
		raw, err := base64.RawStdEncoding.DecodeString(encoded)
		if err != nil || code != "9" {
			t.Fatalf("status %q, details %q, %v", code, encoded, err)
		}
		s := status.New(codes.OK, "").Proto()
		if err := proto.Unmarshal(raw, s); err != nil || len(s.GetDetails()) != 1 {
			t.Fatalf("status %v, %v", s, err)
		}
		value = s.GetDetails()[0].GetValue()
	}
	var m identityv1.VersionMismatch
	if err := proto.Unmarshal(value, &m); err != nil {
		t.Fatal(err)
	}
	return m.GetHave()
}

// grpc-go, which knows nothing of us but the schemas, is refused and served as our own clients are.
func TestIdentityToGRPCGo(t *testing.T) {
	c := start(t)
	conn, err := grpc.NewClient(strings.TrimPrefix(c.url, "http://"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	requests := map[string]proto.Message{
		guarded[0]: &workerv1.SetPlanRequest{Key: &workerv1.TaskKey{Query: "q", Attempt: 1}},
		guarded[1]: &workerv1.ExecuteTaskRequest{Key: &workerv1.TaskKey{Query: "q", Attempt: 1}},
		guarded[2]: &workerv1.WatchRequest{Query: "q"}, // attempt 0
	}
	call := func(headers map[string]string, procedure string) (*status.Status, metadata.MD) {
		ctx := metadata.NewOutgoingContext(t.Context(), metadata.New(headers))
		stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, procedure)
		if err != nil {
			t.Fatal(err)
		}
		if err := stream.SendMsg(requests[procedure]); err != nil && err != io.EOF {
			t.Fatal(err)
		}
		_ = stream.CloseSend()
		err = stream.RecvMsg(&workerv1.SetPlanResponse{})
		head, _ := stream.Header()
		return status.Convert(err), head
	}
	// What the right caller is told comes from behind the check.
	for procedure, want := range map[string]codes.Code{guarded[0]: codes.NotFound, guarded[1]: codes.NotFound, guarded[2]: codes.InvalidArgument} {
		if s, _ := call(headersOf(c.self), procedure); s.Code() != want {
			t.Errorf("%s by the right caller: %v, not %v", procedure, s, want)
		}
		for name, headers := range callers(headersOf(c.self)) {
			s, head := call(headers, procedure)
			if s.Code() != codes.FailedPrecondition || len(s.Details()) != 1 {
				t.Errorf("%s, %s: %v", procedure, name, s)
				continue
			}
			m, ok := s.Details()[0].(*identityv1.VersionMismatch)
			if !ok || m.GetHave().GetInstanceId() != c.self.GetInstanceId() || strings.Join(head.Get("fletch-instance"), " ") != c.self.GetInstanceId() {
				t.Errorf("%s, %s: %v with headers %v", procedure, name, s.Details(), head)
			}
		}
	}
	var info identityv1.WorkerInfoResponse
	if err := conn.Invoke(t.Context(), workerv1connect.WorkerServiceWorkerInfoProcedure, &identityv1.WorkerInfoRequest{}, &info); err != nil || info.GetInstanceId() != c.self.GetInstanceId() {
		t.Errorf("WorkerInfo: %v, %v", &info, err)
	}
}

// No page may call a worker.
func TestWorkersHaveNoCORS(t *testing.T) {
	c := start(t)
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	for _, procedure := range append(guarded, workerv1connect.WorkerServiceWorkerInfoProcedure) {
		for method, headers := range map[string]map[string]string{
			http.MethodOptions: {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"},
			http.MethodPost:    {"Content-Type": "application/json"},
		} {
			req, err := http.NewRequestWithContext(t.Context(), method, c.url+procedure, strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Origin", "http://localhost:3000")
			for k, v := range headers {
				req.Header.Set(k, v)
			}
			res, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			for k := range res.Header {
				if strings.HasPrefix(k, "Access-Control-") {
					t.Errorf("%s %s is answered with %s", method, procedure, k)
				}
			}
		}
	}
}
