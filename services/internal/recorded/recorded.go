// Package recorded holds what servers of each release answered, as it went over the wire, and replays it: old answers are read by
// today's messages, and today's by the messages of a release, and both must see the same. It knows schemas and bytes only, and must
// never need a server's code.
//
// testdata has a folder per release. A file is named SERVICE.METHOD.CASE and by what it holds: .binpb and .json are one answer,
// .stream.binpb and .stream.json a stream of them in Connect's frames, .error.json an error.
package recorded

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"
)

// pkg is the API's package: its major version.
const pkg = "fletch.api.v1"

// A call is one that is recorded, of a coordinator over TPC-H's tables. {query} in a request is the id of a query that ran before.
type call struct {
	service, method, name string
	request               string // JSON
	since                 uint32 // minor version that brought it
}

// types is a statement whose rows have a value of each type that a client can see, and NULLs.
const types = `SELECT * FROM (VALUES (1, true, 9007199254740993, 1.5::double, 'NaN'::double, 12345678901234567890.123456789::decimal(38,9), 'text ✓', DATE '2026-01-31', ` +
	`TIMESTAMP '2026-01-31 12:00:00.123456', NULL), (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)) AS t(i, b, l, d, n, x, s, day, at, nothing)`

func calls() []call {
	fetch := func(statement, more string) string {
		text, _ := json.Marshal(statement)
		return `{"statement": ` + string(text) + more + `}`
	}
	return []call{
		{"VersionService", "GetVersion", "plain", `{}`, 0},
		{"ClusterService", "ListWorkers", "plain", `{}`, 0},
		{"SessionService", "OpenSession", "plain", `{}`, 0},
		{"SessionService", "CloseSession", "unknown", `{"sessionId": "nosuch"}`, 0},
		{"QueryService", "Fetch", "types", fetch(types, ""), 0},
		{"QueryService", "Fetch", "whole", fetch("SELECT r_regionkey, r_name FROM region ORDER BY 1", ""), 0},
		{"QueryService", "Fetch", "page", fetch("SELECT r_name FROM region ORDER BY 1", `, "pageSize": 2`), 0},
		{"QueryService", "Fetch", "wrong", fetch("SELECT r_nam FROM region", ""), 0},
		{"QueryService", "Explain", "plan", fetch("SELECT n_name, count(*) FROM nation, region WHERE n_regionkey = r_regionkey GROUP BY 1", ""), 0},
		{"QueryService", "Explain", "analyze", fetch("SELECT n_name, count(*) FROM nation, region WHERE n_regionkey = r_regionkey GROUP BY 1", `, "analyze": true`), 0},
		{"QueryService", "Execute", "rows", fetch("SELECT r_regionkey, r_name FROM region ORDER BY 1", ""), 0},
		{"QueryService", "Execute", "fails", fetch("SELECT 1 / (r_regionkey - r_regionkey) FROM region", ""), 0},
		{"QueryService", "Cancel", "unknown", `{"queryId": "nosuch"}`, 0},
		{"HistoryService", "ListQueries", "all", `{}`, 1},
		{"HistoryService", "GetQuery", "one", `{"queryId": "{query}", "events": true}`, 1},
		{"RolloutService", "GetRollout", "plain", `{}`, 1},
	}
}

// Record calls the server at url, which has API version 1.minor, in binary and in JSON, and writes its answers into dir.
func Record(ctx context.Context, url string, minor uint32, dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	query := ""
	for _, c := range calls() {
		if c.since > minor {
			continue
		}
		method, err := methodOf(protoregistry.GlobalFiles, c.service, c.method)
		if err != nil {
			return err
		}
		name := strings.Join([]string{c.service, c.method, c.name}, ".")
		request := []byte(strings.ReplaceAll(c.request, "{query}", query))
		for _, codec := range []string{"binpb", "json"} {
			status, body, err := post(ctx, url, method, codec, request)
			if err != nil {
				return fmt.Errorf("record %s: %w", name, err)
			}
			switch {
			case status != http.StatusOK && codec == "binpb":
				continue // an error is JSON, whatever the codec
			case status != http.StatusOK:
				codec = "error.json"
			case method.IsStreamingServer():
				codec = "stream." + codec
			}
			if err := os.WriteFile(filepath.Join(dir, name+"."+codec), body, 0o666); err != nil {
				return err
			}
			if c.name == "whole" && codec == "json" {
				var page struct {
					QueryID string `json:"queryId"`
				}
				if err := json.Unmarshal(body, &page); err != nil {
					return fmt.Errorf("record %s: %w", name, err)
				}
				query = page.QueryID
			}
		}
	}
	return nil
}

func methodOf(files *protoregistry.Files, service, method string) (protoreflect.MethodDescriptor, error) {
	d, err := files.FindDescriptorByName(protoreflect.FullName(pkg + "." + service + "." + method))
	if err != nil {
		return nil, fmt.Errorf("no call %s.%s: %w", service, method, err)
	}
	m, ok := d.(protoreflect.MethodDescriptor)
	if !ok {
		return nil, fmt.Errorf("%s.%s is no call", service, method)
	}
	return m, nil
}

// post makes a call of Connect's, with a request that is given as JSON.
func post(ctx context.Context, url string, method protoreflect.MethodDescriptor, codec string, request []byte) (status int, body []byte, err error) {
	media := "json"
	if codec == "binpb" {
		media = "proto"
		m := dynamicpb.NewMessage(method.Input())
		if err := protojson.Unmarshal(request, m); err != nil {
			return 0, nil, err
		}
		if request, err = proto.Marshal(m); err != nil {
			return 0, nil, err
		}
	}
	if method.IsStreamingServer() {
		media = "connect+" + media
		request = append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(request))), request...)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/"+string(method.Parent().FullName())+"/"+string(method.Name()), bytes.NewReader(request))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/"+media)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = res.Body.Close() }()
	body, err = io.ReadAll(res.Body)
	return res.StatusCode, body, err
}

// Compare reads a recorded file by the schema of a release and by another one, today's, and tells where these do not see the same in
// what the release knows. A reader ignores fields that it does not know, and in JSON values of enums, too.
func Compare(path string, released, today *protoregistry.Files) error {
	parts := strings.SplitN(filepath.Base(path), ".", 4)
	if len(parts) != 4 {
		return fmt.Errorf("%s is no recorded answer", filepath.Base(path))
	}
	body, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if parts[3] == "error.json" {
		return compareError(body, released, today)
	}
	old, err := methodOf(released, parts[0], parts[1])
	if err != nil {
		return err
	}
	now, err := methodOf(today, parts[0], parts[1])
	if err != nil {
		return err
	}
	if old.IsStreamingServer() != now.IsStreamingServer() {
		return fmt.Errorf("%s.%s streams in one of the two only", parts[0], parts[1])
	}
	messages := [][]byte{body}
	codec, stream := strings.CutPrefix(parts[3], "stream.")
	if stream {
		if messages, err = frames(body); err != nil {
			return err
		}
	}
	for i, m := range messages {
		if err := compareMessage(m, codec, old.Output(), now.Output()); err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
	}
	return nil
}

// frames are the messages of a stream, without the last frame, which says how the call ended.
func frames(b []byte) (out [][]byte, err error) {
	for len(b) > 0 {
		if len(b) < 5 || uint64(len(b)-5) < uint64(binary.BigEndian.Uint32(b[1:])) {
			return nil, errors.New("the stream is cut")
		}
		n := 5 + int(binary.BigEndian.Uint32(b[1:]))
		if b[0]&2 != 0 {
			return out, nil
		}
		out = append(out, b[5:n])
		b = b[n:]
	}
	return nil, errors.New("the stream has no end")
}

func compareError(body []byte, released, today *protoregistry.Files) error {
	var e struct {
		Code, Message string
		Details       []struct {
			Type  string
			Value string
		}
	}
	if err := json.Unmarshal(body, &e); err != nil || e.Code == "" || e.Message == "" {
		return fmt.Errorf("an error without code or message: %s", body)
	}
	for _, d := range e.Details {
		if d.Type != pkg+".ErrorDetail" {
			return fmt.Errorf("a detail of type %s", d.Type)
		}
		value, err := decodeBase64(d.Value)
		if err != nil {
			return err
		}
		old, err1 := released.FindDescriptorByName(protoreflect.FullName(d.Type))
		now, err2 := today.FindDescriptorByName(protoreflect.FullName(d.Type))
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		if err := compareMessage(value, "binpb", old.(protoreflect.MessageDescriptor), now.(protoreflect.MessageDescriptor)); err != nil {
			return err
		}
	}
	return nil
}
