package coordinator_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/fletchdb/fletch/engine/sqlerr"
	apiv1 "github.com/fletchdb/fletch/gen/go/fletch/api/v1"
	"github.com/fletchdb/fletch/gen/go/fletch/api/v1/apiv1connect"
	"github.com/fletchdb/fletch/services/coordinator"
	"github.com/fletchdb/fletch/services/internal/clustertest"
	"github.com/fletchdb/fletch/services/internal/identity"
	"github.com/fletchdb/fletch/services/internal/rpcerr"
)

// query is QueryService at url.
func query(url string) apiv1connect.QueryServiceClient {
	return apiv1connect.NewQueryServiceClient(connect.NewClient(connecthttp.NewTransport(http.DefaultClient, url)))
}

// server is a coordinator over one worker, and that worker.
func server(t *testing.T, options ...coordinator.Option) (url, worker string) {
	t.Helper()
	worker = startWorker(t, "v1").URL()
	co := clustertest.Coordinator(t, []string{worker}, append([]coordinator.Option{coordinator.WithTables(clustertest.TPCH(t))}, options...)...)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return co.URL(), worker
}

// post calls a procedure with JSON, as curl does.
func post(t *testing.T, url, procedure, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+procedure, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(text)
}

func TestPages(t *testing.T) {
	url, worker := server(t)
	q := query(url)
	var pages []*apiv1.FetchResponse
	req := &apiv1.FetchRequest{Statement: "SELECT o_orderkey, o_comment FROM orders ORDER BY 1", PageSize: 4000}
	for {
		page, err := q.Fetch(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if req.GetPageToken() != "" {
			again, err := q.Fetch(t.Context(), req)
			if err != nil || again.String() != page.String() {
				t.Errorf("the same page again: %d rows, %v", len(again.GetRows()), err)
			}
		}
		pages = append(pages, page)
		if len(page.GetColumns()) != 2 || (page.GetNextPageToken() == "") != (page.GetEnd() != nil) {
			t.Errorf("page %d: %v, next %q, %v", len(pages), page.GetColumns(), page.GetNextPageToken(), page.GetEnd())
		}
		if page.GetNextPageToken() == "" {
			break
		}
		if len(pages) > 1 {
			// A page's own token stands while it is the last given; the one before is gone.
			if _, err := q.Fetch(t.Context(), &apiv1.FetchRequest{PageToken: req.GetPageToken()}); err != nil {
				t.Error(err)
			}
		}
		req = &apiv1.FetchRequest{PageToken: page.GetNextPageToken(), PageSize: 4000}
	}
	var keys []string
	for _, p := range pages {
		for _, row := range p.GetRows() {
			keys = append(keys, row.GetValues()[0].GetStringValue())
		}
	}
	if n := len(slices.Compact(slices.Clone(keys))); n != 15000 || len(keys) != 15000 || len(pages) != 4 && len(pages) != 5 {
		t.Errorf("%d rows, %d of them different, in %d pages", len(keys), n, len(pages))
	}
	if end := pages[len(pages)-1].GetEnd(); end.GetRows() != 15000 || end.GetAttempts() != 1 || len(end.GetWorkers()) != 1 {
		t.Errorf("%v", end)
	}
	_, err := q.Fetch(t.Context(), &apiv1.FetchRequest{PageToken: pages[0].GetNextPageToken()})
	refused(t, "a page after a later one was asked for", err, connect.CodeNotFound)
	_, err = q.Fetch(t.Context(), &apiv1.FetchRequest{PageToken: "never given"})
	refused(t, "a token that was never given", err, connect.CodeNotFound)
	_, err = q.Fetch(t.Context(), &apiv1.FetchRequest{Statement: "SELECT 1", PageToken: "x"})
	refused(t, "a statement and a token", err, connect.CodeInvalidArgument)
	_, err = q.Fetch(t.Context(), &apiv1.FetchRequest{Statement: "SELECT 1", PageSize: 10_001})
	refused(t, "a page too large", err, connect.CodeInvalidArgument)

	// Somebody ends the query between two pages.
	first, err := q.Fetch(t.Context(), &apiv1.FetchRequest{Statement: long["rows"], PageSize: 10})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := q.Cancel(t.Context(), &apiv1.CancelRequest{QueryId: first.GetQueryId()}); err != nil {
		t.Error(err)
	}
	idle(t, worker)
	for page := first; ; {
		if page, err = q.Fetch(t.Context(), &apiv1.FetchRequest{PageToken: page.GetNextPageToken(), PageSize: 10_000}); err != nil {
			if e, _, _ := rpcerr.FromAPI(err); e.Code != sqlerr.Canceled {
				t.Errorf("the page after Cancel: %v", err)
			}
			break
		}
		if page.GetEnd() != nil {
			t.Fatal("the result of a query that was cancelled looks complete")
		}
	}
}

func refused(t *testing.T, what string, err error, want connect.Code) {
	t.Helper()
	if err == nil || connect.CodeOf(err) != want {
		t.Errorf("%s: %v, not %v", what, err, want)
	}
}

// A query that nobody asks for its next page ends.
func TestPagesThatNobodyAsksFor(t *testing.T) {
	url, worker := server(t, coordinator.WithPageIdle(50*time.Millisecond))
	q := query(url)
	page, err := q.Fetch(t.Context(), &apiv1.FetchRequest{Statement: long["rows"], PageSize: 10})
	if err != nil {
		t.Fatal(err)
	}
	until(t, func() bool { return load(t, worker).GetAttempts() == 0 })
	_, err = q.Fetch(t.Context(), &apiv1.FetchRequest{PageToken: page.GetNextPageToken()})
	refused(t, "its token", err, connect.CodeNotFound)
}

// Values of every type as JSON has them.
func TestFetchedValues(t *testing.T) {
	url, _ := server(t)
	_, text := post(t, url, apiv1connect.QueryServiceFetchProcedure, `{"statement": "SELECT true AS b, 7::INTEGER AS i, 9007199254740993 AS l, 1.50::DECIMAL(10,2) AS d, 0.5::DOUBLE AS f, 'NaN'::DOUBLE AS nan, '-Infinity'::DOUBLE AS inf, 'x\"y' AS s, DATE '2024-02-29' AS day, TIMESTAMP '2024-02-29 12:34:56.789' AS at, NULL AS n"}`)
	var got struct {
		Columns []struct{ Name, Type string }
		Rows    [][]any
		End     map[string]any
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	row, err := json.Marshal(got.Rows)
	if err != nil {
		t.Fatal(err)
	}
	const want = `[[true,7,"9007199254740993","1.50",0.5,"NaN","-Infinity","x\"y","2024-02-29","2024-02-29T12:34:56.789",null]]`
	if string(row) != want {
		t.Errorf("%s, not %s", row, want)
	}
	if len(got.Columns) != 11 || got.Columns[3].Type != "decimal(10,2)" || got.End["rows"] != "1" {
		t.Errorf("%v, %v", got.Columns, got.End)
	}
}

func TestRequestsAreStrict(t *testing.T) {
	url, _ := server(t)
	for body, want := range map[string]int{
		`{"statement": "SELECT 1"}`:                              http.StatusOK,
		`{"statement": "SELECT 1", "limt": 5}`:                   http.StatusBadRequest,
		`{"statement": "SELECT 1", "options": {"threds": 5}}`:    http.StatusBadRequest,
		`{"statement": 1}`:                                       http.StatusBadRequest,
		`{"statement": "SELECT 1"`:                               http.StatusBadRequest,
		`{"statement": "SELECT"}`:                                http.StatusBadRequest,
		`{"statement": "SELECT 1", "options":{"batchRows":1e9}}`: http.StatusBadRequest,
	} {
		res, text := post(t, url, apiv1connect.QueryServiceFetchProcedure, body)
		if res.StatusCode != want {
			t.Errorf("%s: %s %s", body, res.Status, text)
		}
	}
	req := &apiv1.FetchRequest{Statement: "SELECT 1", Options: &apiv1.QueryOptions{}}
	req.GetOptions().ProtoReflect().SetUnknown([]byte{0xf8, 0x7f, 1})
	_, err := query(url).Fetch(t.Context(), req)
	refused(t, "an unknown field", err, connect.CodeInvalidArgument)
	_, err = query(url).Explain(t.Context(), &apiv1.ExplainRequest{Statement: strings.Repeat(" ", 1<<20) + "SELECT 1"})
	refused(t, "a statement too long", err, connect.CodeInvalidArgument)
	for _, procedure := range []string{apiv1connect.QueryServiceFetchProcedure, apiv1connect.QueryServiceExplainProcedure} {
		res, err := http.Get(url + procedure + "?encoding=json&message=%7B%7D")
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("GET %s: %s", procedure, res.Status)
		}
	}
}

// Every answer says which API versions the server has, and a client of another major version is told what to do.
func TestAPIVersions(t *testing.T) {
	url, _ := server(t)
	for _, tc := range []struct {
		procedure, body, version string
		status                   int
		says                     string
	}{
		{apiv1connect.QueryServiceFetchProcedure, `{"statement": "SELECT 1"}`, "", http.StatusOK, ""},
		{apiv1connect.QueryServiceFetchProcedure, `{"statement": "SELECT 1"}`, "1.0", http.StatusOK, ""},
		{apiv1connect.QueryServiceFetchProcedure, `{"statement": "SELECT 1"}`, "1.999", http.StatusOK, ""},
		{apiv1connect.QueryServiceFetchProcedure, `{"statement": "SELECT 1"}`, "2.0", http.StatusBadRequest, "major version 1"},
		{apiv1connect.QueryServiceFetchProcedure, `{"statement": "SELECT 1"}`, "0.9", http.StatusBadRequest, "major version 1"},
		{apiv1connect.QueryServiceFetchProcedure, `{"statement": "SELECT 1"}`, "one", http.StatusBadRequest, "MAJOR.MINOR"},
		{apiv1connect.QueryServiceFetchProcedure, `{"statement": "SELECT nope"}`, "1.0", http.StatusBadRequest, "nope"},
		{"/fletch.api.v2.QueryService/Fetch", `{}`, "2.0", http.StatusBadRequest, "serves major version 1 only"},
		{"/fletch.api.v2.QueryService/Fetch", `{}`, "", http.StatusBadRequest, `"code":"failed_precondition"`},
		{apiv1connect.VersionServiceGetVersionProcedure, `{}`, "2.0", http.StatusOK, "instanceId"},
		{apiv1connect.ClusterServiceListWorkersProcedure, `{}`, "1.0", http.StatusOK, "workers"},
	} {
		var headers []string
		if tc.version != "" {
			headers = []string{"fletch-api-version", tc.version}
		}
		res, text := post(t, url, tc.procedure, tc.body, headers...)
		if res.StatusCode != tc.status || !strings.Contains(text, tc.says) {
			t.Errorf("%s as %q: %s %s", tc.procedure, tc.version, res.Status, text)
		}
		if res.Header.Get("fletch-api-version") != identity.API().String() || res.Header.Get("fletch-api-minimum") != "1.0" {
			t.Errorf("%s as %q says %v", tc.procedure, tc.version, res.Header)
		}
	}
}

// A browser's preflight and its call, from a page that may and from one that may not.
func TestOtherOrigins(t *testing.T) {
	const origin = "https://app.example"
	url, _ := server(t, coordinator.WithAllowOrigins(origin))
	for _, tc := range []struct {
		origin string
		may    bool
	}{{origin, true}, {"https://evil.example", false}} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodOptions, url+apiv1connect.QueryServiceExecuteProcedure, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Origin", tc.origin)
		req.Header.Set("Access-Control-Request-Method", "POST")
		req.Header.Set("Access-Control-Request-Headers", "connect-protocol-version,content-type,fletch-api-version")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if allowed := res.Header.Get("Access-Control-Allow-Origin") == tc.origin; allowed != tc.may {
			t.Errorf("preflight from %s: %v", tc.origin, res.Header)
		}
		if tc.may && !strings.Contains(strings.ToLower(res.Header.Get("Access-Control-Allow-Headers")), "fletch-api-version") {
			t.Errorf("preflight from %s allows the headers %q", tc.origin, res.Header.Get("Access-Control-Allow-Headers"))
		}
		for _, statement := range []string{"SELECT 1", "SELECT nope"} {
			res, _ = post(t, url, apiv1connect.QueryServiceFetchProcedure, `{"statement": "`+statement+`"}`, "Origin", tc.origin)
			if allowed := res.Header.Get("Access-Control-Allow-Origin") == tc.origin; allowed != tc.may {
				t.Errorf("%s from %s: %v", statement, tc.origin, res.Header)
			}
			exposed := strings.ToLower(res.Header.Get("Access-Control-Expose-Headers"))
			if tc.may && (!strings.Contains(exposed, "fletch-api-version") || !strings.Contains(exposed, "grpc-status")) {
				t.Errorf("%s from %s exposes %q", statement, tc.origin, exposed)
			}
		}
	}
}

func TestExplain(t *testing.T) {
	url, _ := server(t)
	for _, analyze := range []bool{false, true} {
		got, err := query(url).Explain(t.Context(), &apiv1.ExplainRequest{Statement: spread, Analyze: analyze})
		if err != nil {
			t.Fatal(err)
		}
		var operators []string
		metrics := 0
		var visit func(n *apiv1.ExplainNode)
		visit = func(n *apiv1.ExplainNode) {
			operators = append(operators, n.GetOperator())
			if n.GetMetrics() != nil {
				metrics++
			}
			for _, k := range n.GetChildren() {
				visit(k)
			}
		}
		for _, s := range got.GetStages() {
			visit(s.GetRoot())
		}
		if !slices.Contains(operators, "HashJoin") || !slices.Contains(operators, "Scan") {
			t.Errorf("analyze %t: %v", analyze, operators)
		}
		if analyze && (metrics != len(operators) || got.GetEnd().GetAttempts() != 1 || got.GetEnd().GetScanned().GetRows() == 0) || !analyze && (metrics > 0 || got.GetEnd() != nil) {
			t.Errorf("analyze %t: metrics of %d operators of %d, %v", analyze, metrics, len(operators), got.GetEnd())
		}
	}
	_, err := query(url).Explain(t.Context(), &apiv1.ExplainRequest{Statement: "SELECT nope"})
	refused(t, "an unknown column", err, connect.CodeInvalidArgument)
}

// A client made with grpc-go, of which the server knows nothing.
func TestGRPCGo(t *testing.T) {
	url, _ := server(t)
	conn, err := grpc.NewClient(strings.TrimPrefix(url, "http://"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	ctx := metadata.AppendToOutgoingContext(t.Context(), "fletch-api-version", "1.0")
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, apiv1connect.QueryServiceExecuteProcedure)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.SendMsg(&apiv1.ExecuteRequest{Statement: spread}); err != nil {
		t.Fatal(err)
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	var result bytes.Buffer
	var events []string
	for {
		var m apiv1.ExecuteResponse
		if err := stream.RecvMsg(&m); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		result.Write(m.GetArrow())
		if event := strings.TrimPrefix(fmt.Sprintf("%T", m.GetEvent()), "*apiv1.ExecuteResponse_"); len(events) == 0 || events[len(events)-1] != event {
			events = append(events, event)
		}
	}
	if !slices.Equal(events, []string{"Head", "Arrow", "End"}) {
		t.Errorf("%v", events)
	}
	r, err := ipc.NewReader(&result)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	rows, err := clustertest.Collect(stopping{r})
	if fmt.Sprint(rows) != spreadRows || err != nil {
		t.Errorf("%v, %v", rows, err)
	}
	var page apiv1.FetchResponse
	err = conn.Invoke(ctx, apiv1connect.QueryServiceFetchProcedure, &apiv1.FetchRequest{Statement: "SELECT 1/0 FROM nation"}, &page)
	if status.Code(err) != codes.InvalidArgument || len(status.Convert(err).Details()) != 1 {
		t.Fatalf("%v", err)
	}
	if d, ok := status.Convert(err).Details()[0].(*apiv1.ErrorDetail); !ok || d.GetCode() != string(sqlerr.DivisionByZero) || d.GetPosition() == nil {
		t.Errorf("%v", status.Convert(err).Details())
	}
}

// stopping is an Arrow stream as a client's result is read.
type stopping struct{ *ipc.Reader }

func (s stopping) Next() (arrow.RecordBatch, error) {
	if s.Reader.Next() {
		return s.RecordBatch(), nil
	}
	if s.Err() != nil {
		return nil, s.Err()
	}
	return nil, io.EOF
}

// curl runs a query, where there is one.
func TestCurl(t *testing.T) {
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Log("not run: no curl here; TestFetchedValues makes the same call")
		return
	}
	url, _ := server(t)
	out, err := exec.CommandContext(t.Context(), curl, "--silent", "--show-error", "--fail-with-body", "--json", `{"statement": "SELECT n_nationkey, n_name FROM nation ORDER BY 1 LIMIT 2"}`, url+apiv1connect.QueryServiceFetchProcedure).Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var got struct{ Rows [][]any }
	if err := json.Unmarshal(out, &got); err != nil || fmt.Sprint(got.Rows) != "[[0 ALGERIA] [1 ARGENTINA]]" {
		t.Errorf("%s, %v", out, err)
	}
}
