package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"connectrpc.com/connect/v2"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/protobuf/proto"

	"github.com/fletchdb/fletch/engine/codec"
	"github.com/fletchdb/fletch/engine/sqlerr"
	identityv1 "github.com/fletchdb/fletch/gen/go/fletch/identity/v1"
	planv1 "github.com/fletchdb/fletch/gen/go/fletch/plan/v1"
	workerv1 "github.com/fletchdb/fletch/gen/go/fletch/worker/v1"
	"github.com/fletchdb/fletch/services/internal/arrowwire"
	"github.com/fletchdb/fletch/services/internal/httpserve"
	"github.com/fletchdb/fletch/services/internal/identity"
	"github.com/fletchdb/fletch/services/internal/rpcerr"
	"github.com/fletchdb/fletch/services/worker"
)

var self = &identityv1.Identity{Version: "v 1/ä", Protocol: 7, InstanceId: strings.Repeat("0a", 16), Build: "go:b", Capabilities: strings.Repeat("c0", 16)}

// headers are the names that two processes of any age must agree on, and the digest that stands in one.
func headers(w *writer) {
	for name, header := range map[string]string{
		"instance": identity.HeaderInstance, "version": identity.HeaderVersion, "protocol": identity.HeaderProtocol, "capabilities": identity.HeaderCapabilities,
	} {
		w.lines("headers/"+name+".txt", strings.ToLower(header))
	}
	c := &identityv1.Capabilities{
		Messages:  []*identityv1.KnownMessage{{Name: "fletch.plan.v1.Filter", Fields: []uint32{1, 2}}},
		Enums:     []*identityv1.KnownEnum{{Name: "fletch.plan.v1.JoinKind", Values: []int32{0, 1}}},
		Functions: []*identityv1.Function{{Name: "abs", Arguments: []string{"bigint"}, Result: "bigint", Volatility: "immutable"}},
		HashSpec:  1, AggregateStateSpec: 1,
	}
	w.lines("digest.txt", identity.Digest(c))
	for name, version := range map[string]string{"128_bytes": strings.Repeat("v", 128), "129_bytes": strings.Repeat("v", 129), "control": "a\nb", "no_utf8": "\xff"} {
		said := "taken"
		if identity.CheckVersion(version) != nil {
			said = "refused"
		}
		w.lines("versions/"+name+".txt", said)
	}
}

// refusals are the errors by which a process says that it is another one, or that it ends.
func refusals(w *writer) {
	w.lines("refusals/mismatch.txt", rpcError(identity.Mismatch(&identityv1.Identity{Version: "v2"}, self))...)
	w.lines("refusals/draining.txt", rpcError(rpcerr.Draining(self))...)
}

// rpcError is an error as it goes over the wire: code, and the details with their types and bytes. The sentence is for people.
func rpcError(err error) []string {
	var rpc *connect.Error
	if !errors.As(err, &rpc) {
		return []string{"no RPC error"}
	}
	lines := []string{"code " + rpc.Code().String()}
	for _, d := range rpc.Details() {
		lines = append(lines, "detail "+d.Type+" "+hex.EncodeToString(d.Value))
	}
	return lines
}

var codes = []sqlerr.Code{
	sqlerr.Syntax, sqlerr.UnknownColumn, sqlerr.UnknownTable, sqlerr.UnknownFunction, sqlerr.AmbiguousColumn, sqlerr.AmbiguousFunction, sqlerr.DuplicateAlias,
	sqlerr.DuplicateObject, sqlerr.Grouping, sqlerr.Windowing, sqlerr.DatatypeMismatch, sqlerr.CannotCoerce, sqlerr.InvalidReference, sqlerr.Unsupported,
	sqlerr.DivisionByZero, sqlerr.OutOfRange, sqlerr.InvalidText, sqlerr.InvalidDatetime, sqlerr.DatetimeOverflow, sqlerr.InvalidParameter, sqlerr.InvalidRegex,
	sqlerr.InvalidUTF8, sqlerr.NotNull, sqlerr.UniqueViolation, sqlerr.CheckViolation, sqlerr.Cardinality, sqlerr.StatementTooLarge, sqlerr.MemoryLimit, sqlerr.DiskFull, sqlerr.TooManyQueries, sqlerr.Canceled,
	sqlerr.Timeout, sqlerr.FileNotFound, sqlerr.FileCorrupt, sqlerr.FileChanged, sqlerr.FileDenied, sqlerr.IO, sqlerr.InvalidPlan, sqlerr.NoWorker,
	sqlerr.WorkerLost, sqlerr.VersionMismatch, sqlerr.Draining, sqlerr.Unauthenticated, sqlerr.ObjectNotInState, sqlerr.UnknownSetting, sqlerr.FunctionFailed, sqlerr.Internal,
}

func sample(code sqlerr.Code) *sqlerr.Error {
	return &sqlerr.Error{Code: code, Pos: sqlerr.Pos{Start: 7, End: 9}, Message: "a message", Hint: "a hint"}
}

func workerErrors(w *writer) {
	for _, code := range codes {
		w.lines("errors/"+string(code)+".txt", rpcError(rpcerr.ToWorker(sample(code)))...)
	}
	long := &sqlerr.Error{Code: sqlerr.InvalidText, Message: strings.Repeat("ä", 4000), Hint: strings.Repeat("h", 4000)}
	d := rpcerr.WorkerDetail(long, &workerv1.TaskRef{Stage: 1, Task: 2}, strings.Repeat("w", 4000))
	w.lines("limits/error_detail.txt", fmt.Sprintf("message %d hint %d worker %d bytes", len(d.GetMessage()), len(d.GetHint()), len(d.GetWorker())))
}

func apiErrors(w *writer) {
	for _, code := range codes {
		w.lines("errors/"+string(code)+".txt", rpcError(rpcerr.ToAPI(sample(code), "q1", 3))...)
	}
	w.lines("limits/error_message.txt", fmt.Sprint(len(rpcerr.Message(&sqlerr.Error{Message: strings.Repeat("m", 9000)}))))
}

// apiVersions are the headers of the API and how a version is written in them.
func apiVersions(w *writer) {
	w.lines("headers/version.txt", strings.ToLower(identity.HeaderAPI), identity.APIVersion{Major: 1, Minor: 12}.String())
	w.lines("headers/minimum.txt", strings.ToLower(identity.HeaderAPIMinimum))
	w.lines("limits/request_headers.txt", fmt.Sprint(httpserve.MaxHeaderBytes))
}

func workerLimits(w *writer) {
	for name, n := range map[string]int{
		"message_body": arrowwire.MaxBody, "message_read": arrowwire.ReadLimit, "request_headers": httpserve.MaxHeaderBytes,
		"frame": httpserve.FrameBytes, "streams": httpserve.MaxStreams, "request": worker.MaxRequest,
	} {
		w.lines("limits/"+name+".txt", fmt.Sprint(n))
	}
	w.lines("limits/plan_depth.txt", fmt.Sprint(deepest(1<<10, func(n int) *planv1.Fragment {
		node := &planv1.Node{Node: &planv1.Node_ConstantRows{ConstantRows: &planv1.ConstantRows{}}}
		for range n {
			node = &planv1.Node{Node: &planv1.Node_Limit{Limit: &planv1.Limit{Input: node}}}
		}
		return fragment(node, 1)
	})))
	w.lines("limits/expression_depth.txt", fmt.Sprint(deepest(1<<11, func(n int) *planv1.Fragment {
		x := &planv1.Expression{Expression: &planv1.Expression_Literal{Literal: &planv1.Value{Type: &planv1.Type{Kind: planv1.TypeKind_TYPE_KIND_BOOL}, Value: &planv1.Value_Bool{Bool: true}}}}
		for range n {
			x = &planv1.Expression{Expression: &planv1.Expression_Not{Not: &planv1.Not{Operand: x}}}
		}
		node := &planv1.Node{Node: &planv1.Node_ConstantRows{ConstantRows: &planv1.ConstantRows{}}}
		return fragment(&planv1.Node{Node: &planv1.Node_Filter{Filter: &planv1.Filter{Input: node, Condition: x}}}, 1)
	})))
	w.lines("limits/partitions.txt", fmt.Sprint(deepest(1<<12, func(n int) *planv1.Fragment {
		return fragment(&planv1.Node{Node: &planv1.Node_ConstantRows{ConstantRows: &planv1.ConstantRows{}}}, n)
	})))
}

func fragment(root *planv1.Node, partitions int) *planv1.Fragment {
	return &planv1.Fragment{Root: root, Output: &planv1.Output{Kind: planv1.ExchangeKind_EXCHANGE_KIND_ROBIN, Partitions: uint32(partitions), Consumers: 1}}
}

// deepest is the greatest number, up to most, whose plan is taken.
func deepest(most int, plan func(int) *planv1.Fragment) int {
	return sort.Search(most, func(n int) bool {
		_, _, err := codec.Decode(plan(n+1), nil)
		return err != nil
	})
}

// stream is a stream of rows as it goes over the wire, and what a reader says of one that is not whole.
func stream(ctx context.Context, w *writer) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, {Name: "s", Type: arrow.BinaryTypes.String}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	b.Field(0).(*array.Int64Builder).AppendValues([]int64{1, 0, 3}, []bool{true, false, true})
	b.Field(1).(*array.StringBuilder).AppendValues([]string{"a", "", "ccc"}, nil)
	rec := b.NewRecordBatch()
	defer rec.Release()

	encoder := arrowwire.NewEncoder(schema)
	var whole [][]byte
	add := func(ms []*arrowwire.Message, err error) {
		w.fail(err)
		for _, m := range ms {
			var buf bytes.Buffer
			w.fail(arrowwire.NewCodec().MarshalWrite(ctx, &buf, m))
			m.Release()
			whole = append(whole, buf.Bytes())
		}
	}
	one := func(m *arrowwire.Message, err error) ([]*arrowwire.Message, error) {
		return []*arrowwire.Message{m}, err
	}
	add(one(encoder.Schema()))
	add(encoder.Batch(rec))
	end := func(rows, batches int64) []byte {
		m, err := arrowwire.End(rows, batches)
		w.fail(err)
		var buf bytes.Buffer
		w.fail(arrowwire.NewCodec().MarshalWrite(ctx, &buf, m))
		return buf.Bytes()
	}
	whole = append(whole, end(3, 1))
	for i, name := range []string{"schema", "batch", "end"} {
		w.lines("stream/"+name+".txt", hex.EncodeToString(whole[i]))
	}
	unknown := protoBytes(w, &workerv1.StreamFrame{})
	for name, messages := range map[string][][]byte{
		"whole": whole, "without_end": whole[:2], "end_without_batch": {whole[0], whole[2]},
		"end_of_other_rows": {whole[0], whole[1], end(4, 1)}, "end_of_other_batches": {whole[0], whole[1], end(3, 2)},
		"end_of_no_frame": {whole[0], whole[1], unknown}, "without_schema": whole[1:],
	} {
		w.lines("stream/read_"+name+".txt", read(ctx, messages))
	}
}

func protoBytes(w *writer, m proto.Message) []byte {
	b, err := proto.Marshal(m)
	w.fail(err)
	return b
}

// read is what a reader makes of a stream.
func read(ctx context.Context, messages [][]byte) string {
	messages = slices.Clone(messages)
	r, err := arrowwire.NewReader(func(m *arrowwire.Message) error {
		if len(messages) == 0 {
			return io.EOF
		}
		next := messages[0]
		messages = messages[1:]
		return arrowwire.NewCodec().UnmarshalRead(ctx, bytes.NewBuffer(slices.Clone(next)), m)
	})
	if err != nil {
		return "refused"
	}
	defer r.Close()
	rows := int64(0)
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			return fmt.Sprintf("complete, %d rows", rows)
		}
		if err != nil {
			return fmt.Sprintf("refused after %d rows", rows)
		}
		rows += rec.NumRows()
	}
}

// answers are what servers of the releases answered. They are no computation of this build, but frozen with its release.
func answers(w *writer) {
	const dir = "services/internal/recorded/testdata"
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(filepath.Join(dir, path))
		w.file("answers/"+path, b)
		return err
	})
	if err != nil {
		w.fail(err)
	}
}
