package arrowwire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"unsafe"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	identityv1 "github.com/fletchdb/fletch/gen/go/fletch/identity/v1"
	workerv1 "github.com/fletchdb/fletch/gen/go/fletch/worker/v1"
	"github.com/fletchdb/fletch/gen/go/fletch/worker/v1/workerv1connect"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// columns are values of every Arrow type that leaves the engine.
var columns = []struct {
	of   arrow.DataType
	json string
}{
	{arrow.Null, `[null, null, null, null]`},
	{arrow.FixedWidthTypes.Boolean, `[true, null, false, true]`},
	{arrow.PrimitiveTypes.Int8, `[-128, null, 127, 0]`},
	{arrow.PrimitiveTypes.Int16, `[-32768, null, 32767, 0]`},
	{arrow.PrimitiveTypes.Int32, `[-2147483648, null, 2147483647, 0]`},
	{arrow.PrimitiveTypes.Int64, `[-9007199254740993, null, 9007199254740993, 0]`},
	{arrow.PrimitiveTypes.Uint8, `[255, null, 1, 0]`},
	{arrow.PrimitiveTypes.Uint16, `[65535, null, 1, 0]`},
	{arrow.PrimitiveTypes.Uint32, `[4294967295, null, 1, 0]`},
	{arrow.PrimitiveTypes.Uint64, `[9007199254740993, null, 1, 0]`},
	{arrow.PrimitiveTypes.Float32, `[1.5, null, -0.25, 0]`},
	{arrow.PrimitiveTypes.Float64, `[1.5, null, -0.25, 0]`},
	{&arrow.Decimal64Type{Precision: 15, Scale: 2}, `["1234567890123.45", null, "-0.01", "0.00"]`},
	{&arrow.Decimal128Type{Precision: 38, Scale: 2}, `["123456789012345678901234567890123456.78", null, "-0.01", "0.00"]`},
	{arrow.BinaryTypes.String, `["one", null, "", "fünf und mehr"]`},
	{arrow.BinaryTypes.Binary, `["AAEC", null, "", "/w=="]`},
	{arrow.FixedWidthTypes.Date32, `["1998-12-01", null, "1970-01-01", "0001-01-01"]`},
	{arrow.FixedWidthTypes.Time64us, `["23:59:59.999999", null, "00:00:00", "12:30:00"]`},
	{&arrow.TimestampType{Unit: arrow.Microsecond}, `["1998-12-01 01:02:03.000004", null, "1970-01-01", "1900-01-01"]`},
	{arrow.FixedWidthTypes.Timestamp_us, `["1998-12-01 01:02:03.000004Z", null, "1970-01-01 00:00:00Z", "1900-01-01 00:00:00Z"]`},
	{arrow.FixedWidthTypes.MonthDayNanoInterval, `[{"months": 1, "days": -2, "nanoseconds": 3000}, null, {"months": 0, "days": 0, "nanoseconds": 0}, {"months": 12, "days": 0, "nanoseconds": 0}]`},
	{&arrow.FixedSizeBinaryType{ByteWidth: 16}, `["AAECAwQFBgcICQoLDA0ODw==", null, "AAAAAAAAAAAAAAAAAAAAAA==", "/////////////////////w=="]`},
}

// everything is a batch of four rows with all of them.
func everything(tb testing.TB, mem memory.Allocator) arrow.RecordBatch {
	tb.Helper()
	var fields []arrow.Field
	var arrays []arrow.Array
	for _, c := range columns {
		a, _, err := array.FromJSON(mem, c.of, strings.NewReader(c.json))
		if err != nil {
			tb.Fatalf("%v: %v", c.of, err)
		}
		defer a.Release()
		fields = append(fields, arrow.Field{Name: c.of.String(), Type: c.of, Nullable: true})
		arrays = append(arrays, a)
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), arrays, 4)
}

// numbers is a batch of one column of int64: from, from + 1, …
func numbers(mem memory.Allocator, from, n int64) arrow.RecordBatch {
	b := array.NewInt64Builder(mem)
	defer b.Release()
	for i := range n {
		b.Append(from + i)
	}
	a := b.NewArray()
	defer a.Release()
	return array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil), []arrow.Array{a}, n)
}

// stream is the messages of batches as they are on the wire, the schema first, the end last.
func stream(tb testing.TB, batches ...arrow.RecordBatch) [][]byte {
	tb.Helper()
	e := NewEncoder(batches[0].Schema())
	var out [][]byte
	add := func(m *Message, err error) {
		if err != nil {
			tb.Fatal(err)
		}
		defer m.Release()
		var b bytes.Buffer
		if err := NewCodec().MarshalWrite(context.Background(), &b, m); err != nil {
			tb.Fatal(err)
		}
		out = append(out, b.Bytes())
	}
	add(e.Schema())
	var rows, count int64
	for _, rec := range batches {
		ms, err := e.Batch(rec)
		for _, m := range ms {
			rows += m.Rows
			count++
			add(m, err)
		}
	}
	add(End(rows, count))
	return out
}

// replay gives messages as a transport does: each through a buffer that the next one overwrites, and io.EOF after the last.
func replay(messages [][]byte) func(*Message) error {
	i, shared := 0, new(bytes.Buffer)
	return func(m *Message) error {
		if i == len(messages) {
			return io.EOF
		}
		shared.Reset()
		shared.Write(messages[i])
		i++
		err := NewCodec().UnmarshalRead(context.Background(), shared, m)
		b := shared.Bytes()[:0]
		for j := range b[:min(cap(b), 1<<16)] {
			b[:cap(b)][j] = 0xdb // what connect's pool does to a buffer that was given back
		}
		return err
	}
}

// rows reads a stream to its end and compares it with want.
func rows(t *testing.T, recv func(*Message) error, want ...arrow.RecordBatch) {
	t.Helper()
	r, err := NewReader(recv)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for i := 0; ; i++ {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) && i == len(want) {
			return
		}
		if err != nil || i == len(want) {
			t.Fatalf("batch %d of %d: %v, %v", i, len(want), rec, err)
		}
		if !array.RecordEqual(rec, want[i]) {
			t.Fatalf("batch %d: got %v, want %v", i, rec, want[i])
		}
	}
}

func TestRoundTrip(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	all := everything(t, mem)
	defer all.Release()
	tail, none, noNulls := all.NewSlice(1, 4), all.NewSlice(2, 2), all.NewSlice(2, 4)
	defer tail.Release()
	defer none.Release()
	defer noNulls.Release()
	for _, tc := range []struct {
		name    string
		batches []arrow.RecordBatch
	}{
		{"whole", []arrow.RecordBatch{all}},
		{"from the middle", []arrow.RecordBatch{tail}},
		{"no rows", []arrow.RecordBatch{none}},
		{"no nulls", []arrow.RecordBatch{noNulls}},
		{"several", []arrow.RecordBatch{all, none, tail, noNulls, all}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			messages := stream(t, tc.batches...)
			rows(t, replay(messages), tc.batches...)

			// The relay gives the bytes of an Arrow IPC stream with the same rows.
			var b bytes.Buffer
			relay, total := NewRelay(replay(messages)), int64(0)
			for {
				m, n, err := relay.Next()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				total += n
				b.Write(m)
			}
			b.Write(EndOfStream)
			in, err := ipc.NewReader(&b)
			if err != nil {
				t.Fatal(err)
			}
			defer in.Release()
			want := int64(0)
			for _, w := range tc.batches {
				want += w.NumRows()
				if !in.Next() || !array.RecordEqual(in.RecordBatch(), w) {
					t.Fatalf("relayed %v, want %v: %v", in.RecordBatch(), w, in.Err())
				}
			}
			if in.Next() || total != want || relay.Rows() != want {
				t.Errorf("relayed %d and %d rows, want %d", total, relay.Rows(), want)
			}
		})
	}
}

// What was not sent yet can be written as Arrow IPC, too.
func TestEncapsulated(t *testing.T) {
	rec := everything(t, memory.DefaultAllocator)
	defer rec.Release()
	e := NewEncoder(rec.Schema())
	schema, err := e.Schema()
	if err != nil {
		t.Fatal(err)
	}
	batch, err := e.Batch(rec)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	for _, m := range append([]*Message{schema}, batch...) {
		b, err := m.Encapsulated()
		if err != nil {
			t.Fatal(err)
		}
		out.Write(b)
		m.Release()
	}
	out.Write(EndOfStream)
	r, err := ipc.NewReader(&out)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	if !r.Next() || !array.RecordEqual(r.RecordBatch(), rec) || r.Next() || out.Len() > 0 {
		t.Errorf("got %v, %v, and %d bytes are left", r.RecordBatch(), r.Err(), out.Len())
	}
}

func TestBatchesAreSplit(t *testing.T) {
	text := func(lengths ...int) arrow.RecordBatch {
		b := array.NewStringBuilder(memory.DefaultAllocator)
		for _, n := range lengths {
			b.Append(strings.Repeat("x", n))
		}
		return array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "s", Type: arrow.BinaryTypes.String}}, nil), []arrow.Array{b.NewArray()}, int64(len(lengths)))
	}
	const mib = 1 << 20
	for _, tc := range []struct {
		name  string
		batch arrow.RecordBatch
		least int // messages
		alone bool
	}{
		{"exactly the limit", numbers(memory.DefaultAllocator, 0, MaxBody/8), 1, false},
		{"a row more", numbers(memory.DefaultAllocator, 0, MaxBody/8+1), 2, false},
		{"ten times", numbers(memory.DefaultAllocator, 0, 10*MaxBody/8), 10, false},
		{"one long string among many", text(append(slices.Repeat([]int{10}, 1000), 3*mib, 3*mib, 1)...), 2, false},
		{"one row above the limit", text(6 * mib), 1, true},
		{"one such row among others", text(1, 2, 6*mib, 3), 2, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ms, err := NewEncoder(tc.batch.Schema()).Batch(tc.batch)
			if err != nil {
				t.Fatal(err)
			}
			defer release(ms)
			if len(ms) < tc.least {
				t.Errorf("%d messages, want at least %d", len(ms), tc.least)
			}
			var total int64
			for _, m := range ms {
				total += m.Rows
				if m.Size() > MaxBody && (m.Rows != 1 || !tc.alone) {
					t.Errorf("a message of %d rows has %d bytes", m.Rows, m.Size())
				}
			}
			if total != tc.batch.NumRows() {
				t.Errorf("%d rows, want %d", total, tc.batch.NumRows())
			}
			r, err := NewReader(replay(stream(t, tc.batch)))
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			for at := int64(0); at < total; {
				rec, err := r.Next()
				if err != nil {
					t.Fatal(err)
				}
				part := tc.batch.NewSlice(at, at+rec.NumRows())
				if !array.RecordEqual(rec, part) {
					t.Fatalf("other rows from %d", at)
				}
				part.Release()
				at += rec.NumRows()
			}
		})
	}
}

func encode(tb testing.TB, m *Message, err error) []byte {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
	var b bytes.Buffer
	if err := NewCodec().MarshalWrite(context.Background(), &b, m); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

func TestStreamsThatAreNotComplete(t *testing.T) {
	a, b := numbers(memory.DefaultAllocator, 0, 3), numbers(memory.DefaultAllocator, 3, 4)
	whole := stream(t, a, b)
	schema, first, second, end := whole[0], whole[1], whole[2], whole[3]
	wrong := func(rows, batches int64) []byte {
		m, err := End(rows, batches)
		return encode(t, m, err)
	}
	gone := errors.New("connection reset")
	for _, tc := range []struct {
		name     string
		messages [][]byte
		then     error // instead of a clean end
		want     string
	}{
		{"nothing", nil, nil, ErrTruncated.Error()},
		{"only the schema", whole[:1], nil, ErrTruncated.Error()},
		{"no end message", whole[:3], nil, ErrTruncated.Error()},
		{"a batch is missing", [][]byte{schema, first, end}, nil, "the stream ends after 7 rows in 2 batches, but 3 in 1 came"},
		{"a batch too many", [][]byte{schema, first, second, second, end}, nil, "the stream ends after 7 rows in 2 batches, but 11 in 3 came"},
		{"wrong rows", [][]byte{schema, first, second, wrong(8, 2)}, nil, "the stream ends after 8 rows in 2 batches, but 7 in 2 came"},
		{"wrong batches", [][]byte{schema, first, second, wrong(7, 1)}, nil, "the stream ends after 7 rows in 1 batches, but 7 in 2 came"},
		{"an end of nothing", [][]byte{schema, first, {}}, nil, "decode end of stream: a frame that this build does not know"},
		{"an end of a later kind", [][]byte{schema, first, encode(t, &Message{App: []byte{0x12, 0}}, nil)}, nil, "decode end of stream: a frame that this build does not know"},
		{"an end that is no message", [][]byte{schema, first, encode(t, &Message{App: []byte{0xff}}, nil)}, nil, "decode end of stream"},
		{"the connection breaks", whole[:2], gone, gone.Error()},
		{"a batch before the schema", [][]byte{first, second, end}, nil, "invalid message type"},
		{"a second schema", [][]byte{schema, first, schema, second, end}, nil, "invalid message type"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			recv := func() func(*Message) error {
				next := replay(tc.messages)
				return func(m *Message) error {
					err := next(m)
					if errors.Is(err, io.EOF) && tc.then != nil {
						return tc.then
					}
					return err
				}
			}
			r, err := NewReader(recv())
			for err == nil {
				_, err = r.Next()
			}
			if errors.Is(err, io.EOF) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("reader: got %v, want %s", err, tc.want)
			}
			if r != nil {
				if _, again := r.Next(); again == nil || errors.Is(again, io.EOF) {
					t.Errorf("reader, asked again: %v", again)
				}
				r.Close()
			}
			if strings.Contains(tc.want, "invalid message type") {
				return // the relay does not look at the order
			}
			relay := NewRelay(recv())
			for err = nil; err == nil; {
				_, _, err = relay.Next()
			}
			if errors.Is(err, io.EOF) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("relay: got %v, want %s", err, tc.want)
			}
		})
	}
}

func TestNothingIsReadAfterTheEnd(t *testing.T) {
	rec := numbers(memory.DefaultAllocator, 0, 3)
	whole := stream(t, rec)
	next := replay(append(whole, whole[1]))
	r, err := NewReader(next)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := r.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("got %v, want the end", err)
		}
	}
	var m Message
	defer m.Release()
	if err := next(&m); err != nil {
		t.Errorf("the message after the end was taken: %v", err)
	}
}

// plain are a reader and a writer without the methods that the codec's fast paths look for.
type plain struct {
	io.Reader
	io.Writer
}

func TestCodecWithAndWithoutFastPaths(t *testing.T) {
	rec := everything(t, memory.DefaultAllocator)
	defer rec.Release()
	for _, want := range stream(t, rec) {
		var m Message
		if err := NewCodec().UnmarshalRead(context.Background(), plain{Reader: iotest.OneByteReader(bytes.NewReader(want))}, &m); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := NewCodec().MarshalWrite(context.Background(), plain{Writer: &out}, &m); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(out.Bytes(), want) {
			t.Error("a message that was received is sent on with other bytes")
		}
		m.Release()
		m.Release()
		if m.Body() != nil {
			t.Error("a released message has a body")
		}
	}
	fail := plain{Reader: iotest.ErrReader(io.ErrClosedPipe)}
	if err := NewCodec().UnmarshalRead(context.Background(), fail, new(Message)); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v, want the reader's error", err)
	}
}

func TestCodecOfOtherMessages(t *testing.T) {
	want := &identityv1.Identity{Version: "1.2.3", Protocol: 7}
	var b bytes.Buffer
	if err := NewCodec().MarshalWrite(context.Background(), &b, want); err != nil {
		t.Fatal(err)
	}
	var got identityv1.Identity
	if err := NewCodec().UnmarshalRead(context.Background(), &b, &got); err != nil || !proto.Equal(&got, want) {
		t.Errorf("got %v, %v", &got, err)
	}
	if name := NewCodec().Name(); name != "proto" {
		t.Errorf("the codec goes by %q", name)
	}
}

// On the wire a Message is Flight's own FlightData, both ways.
func TestWireIsFlightData(t *testing.T) {
	rec := everything(t, memory.DefaultAllocator)
	defer rec.Release()
	for i, b := range stream(t, rec) {
		var theirs flight.FlightData
		if err := proto.Unmarshal(b, &theirs); err != nil {
			t.Fatal(err)
		}
		if unknown := theirs.ProtoReflect().GetUnknown(); len(unknown) > 0 {
			t.Errorf("message %d holds unknown fields % x", i, unknown)
		}
		theirs.FlightDescriptor = &flight.FlightDescriptor{Path: []string{"of no interest"}}
		again, err := proto.Marshal(&theirs)
		if err != nil {
			t.Fatal(err)
		}
		again = protowire.AppendVarint(protowire.AppendTag(again, 77, protowire.VarintType), 5)
		var ours Message
		if err := NewCodec().UnmarshalRead(context.Background(), bytes.NewBuffer(again), &ours); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(ours.Header, theirs.DataHeader) || !bytes.Equal(ours.App, theirs.AppMetadata) || !bytes.Equal(ours.Body(), theirs.DataBody) {
			t.Errorf("message %d was read as another", i)
		}
		ours.Release()
	}
}

// connect recycles the buffers that it gives to a codec: neither side may keep a part of one, nor put its own memory into one.
func TestCodecSharesNoMemory(t *testing.T) {
	rec := numbers(memory.DefaultAllocator, 0, 1000)
	defer rec.Release()
	e := NewEncoder(rec.Schema())
	ms, err := e.Batch(rec)
	if err != nil {
		t.Fatal(err)
	}
	defer release(ms)
	var out bytes.Buffer
	if err := NewCodec().MarshalWrite(context.Background(), &out, ms[0]); err != nil {
		t.Fatal(err)
	}
	wire := bytes.Clone(out.Bytes())
	clear(out.Bytes())
	if got := rec.Column(0).(*array.Int64).Value(999); got != 999 {
		t.Fatalf("the batch shares memory with the connection's buffer: %d", got)
	}
	var m Message
	in := bytes.NewBuffer(bytes.Clone(wire))
	kept := in.Bytes()
	if err := NewCodec().UnmarshalRead(context.Background(), in, &m); err != nil {
		t.Fatal(err)
	}
	defer m.Release()
	header, body := bytes.Clone(m.Header), bytes.Clone(m.Body())
	clear(kept)
	if !bytes.Equal(m.Header, header) || !bytes.Equal(m.Body(), body) {
		t.Error("the message shares memory with the connection's buffer")
	}
	if in.Len() != 0 {
		t.Errorf("%d bytes were left in the buffer", in.Len())
	}
}

// A large body is not copied: the message takes the connection's buffer, which gets other memory.
func TestLargeBodiesAreTaken(t *testing.T) {
	rec := numbers(memory.DefaultAllocator, 0, 100_000)
	defer rec.Release()
	wire := stream(t, rec)[1]
	in := new(bytes.Buffer)
	in.Write(wire)
	before := in.Bytes()
	var m Message
	if err := NewCodec().UnmarshalRead(context.Background(), in, &m); err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(wire, m.Body())
	if at%alignment != 0 || &before[at] != &m.Body()[0] {
		t.Errorf("the body stood at %d and is not where it was", at)
	}
	if in.Len() != 0 || in.Cap() < len(wire)+bytes.MinRead {
		t.Errorf("the buffer is left with %d of %d bytes", in.Len(), in.Cap())
	}
	body := bytes.Clone(m.Body())
	for range 3 {
		in.Write(bytes.Repeat([]byte{0xdb}, len(wire)))
		if !bytes.Equal(m.Body(), body) {
			t.Fatal("the buffer is still that of the message")
		}
		in.Reset()
	}
	m.Release()

	// A body that is not aligned is copied to where it is.
	var odd bytes.Buffer
	odd.Write(protowire.AppendBytes(protowire.AppendTag(nil, fieldApp, protowire.BytesType), []byte("x")))
	odd.Write(wire)
	if err := NewCodec().UnmarshalRead(context.Background(), &odd, &m); err != nil {
		t.Fatal(err)
	}
	defer m.Release()
	if p := uintptr(unsafe.Pointer(&m.Body()[0])); p%8 != 0 || !bytes.Equal(m.Body(), body) {
		t.Errorf("a body at %x", p)
	}

	// Of two bodies the last counts, and only one lies in the memory that is given back.
	var twice bytes.Buffer
	twice.Write(wire)
	twice.Write(wire)
	var both Message
	if err := NewCodec().UnmarshalRead(context.Background(), &twice, &both); err != nil || !bytes.Equal(both.Body(), body) {
		t.Errorf("two bodies: %v", err)
	}
	both.Release()
}

// What the codec relies on: connect hands over a buffer of its own, and does not look at it afterwards.
func TestConnectHandsOverItsBuffer(t *testing.T) {
	const batches, n = 30, 50_000
	codec := &watching{Codec: NewCodec()}
	srv := connect.NewServer(RawStream)
	workerv1connect.RegisterWorkerServiceHandler(srv, producer{batches: batches, rows: n})
	mux := http.NewServeMux()
	connecthttp.Mount(mux, srv, connecthttp.WithCodecs(NewCodec()), connecthttp.WithCompressors())
	server := httptest.NewServer(mux)
	defer server.Close()
	for _, option := range []connecthttp.Option{connecthttp.WithGRPCWeb(), nil} {
		options := []connecthttp.Option{connecthttp.WithCodecs(codec), connecthttp.WithCompressors(), connecthttp.WithReadMaxBytes(ReadLimit)}
		if option != nil {
			options = append(options, option)
		}
		client := connect.NewClient(connecthttp.NewTransport(server.Client(), server.URL, options...))
		// Two streams at a time, of which every batch is kept to the end.
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() {
				stream, err := client.CallServerStream(t.Context(), connect.Spec{
					StreamType: connect.StreamTypeServer, Procedure: workerv1connect.WorkerServiceExecuteTaskProcedure,
				}, &workerv1.ExecuteTaskRequest{})
				if err != nil {
					t.Error(err)
					return
				}
				defer func() { _ = stream.Close() }()
				r, err := NewReader(func(m *Message) error { return stream.Receive(m) })
				if err != nil {
					t.Error(err)
					return
				}
				defer r.Close()
				var kept []arrow.RecordBatch
				for {
					rec, err := r.Next()
					if err != nil {
						if !errors.Is(err, io.EOF) {
							t.Error(err)
						}
						break
					}
					rec.Retain()
					kept = append(kept, rec)
				}
				if len(kept) != batches {
					t.Errorf("%d batches came", len(kept))
				}
				for i, rec := range kept {
					for k, v := range rec.Column(0).(*array.Int64).Int64Values() {
						if v != int64(i*n+k) {
							t.Errorf("row %d of batch %d is %d", k, i, v)
							break
						}
					}
					rec.Release()
				}
			})
		}
		all.Wait()
	}
	if codec.large.Load() != 4*batches || codec.buffers.Load() != 4*batches {
		t.Errorf("of %d large messages %d came in a buffer of connect's", codec.large.Load(), codec.buffers.Load())
	}
}

// watching counts what a codec is given.
type watching struct {
	Codec
	large, buffers atomic.Int64
}

func (c *watching) UnmarshalRead(ctx context.Context, src io.Reader, msg any) error {
	if b, ok := src.(interface{ Len() int }); ok && b.Len() > smallest {
		c.large.Add(1)
		if _, ok := src.(*bytes.Buffer); ok {
			c.buffers.Add(1)
		}
	}
	return c.Codec.UnmarshalRead(ctx, src, msg)
}

// A producer streams batches of numbers that go on from one to the next.
type producer struct {
	workerv1connect.UnimplementedWorkerServiceHandler
	batches, rows int64
}

func (p producer) ExecuteTask(ctx context.Context, _ *workerv1.ExecuteTaskRequest, _ workerv1connect.WorkerServiceExecuteTaskServerStream) error {
	first := numbers(memory.DefaultAllocator, 0, 0)
	w, err := NewWriter(ctx, first.Schema())
	if err != nil {
		return err
	}
	for i := range p.batches {
		rec := numbers(memory.DefaultAllocator, i*p.rows, p.rows)
		err := w.Write(rec)
		rec.Release()
		if err != nil {
			return err
		}
	}
	return w.End()
}

// A body goes back to the pool with the last Release of what was made of it, and not before.
func TestBodiesAreNotRecycledEarly(t *testing.T) {
	const n = 10_000
	var batches []arrow.RecordBatch
	for i := range int64(40) {
		batches = append(batches, numbers(memory.DefaultAllocator, i*n, n))
	}
	r, err := NewReader(replay(stream(t, batches...)))
	if err != nil {
		t.Fatal(err)
	}
	var kept []arrow.RecordBatch
	for range 20 {
		rec, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		part := rec.NewSlice(n/2, n)
		kept = append(kept, part)
	}
	for range 20 {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	}
	r.Close()
	seen := map[*byte]bool{}
	for i, rec := range kept {
		memory := unsafe.SliceData(rec.Column(0).Data().Buffers()[1].Buf())
		if seen[memory] {
			t.Errorf("batch %d has the memory of another", i)
		}
		seen[memory] = true
		if got, want := rec.Column(0).(*array.Int64).Value(0), int64(i)*n+n/2; got != want {
			t.Errorf("batch %d was overwritten: got %d, want %d", i, got, want)
		}
		rec.Release()
	}
}

func TestPoolSizes(t *testing.T) {
	var p pool
	for _, n := range []int{0, 1, smallest/2 - 1, smallest / 2, smallest, smallest + slack, smallest + slack + 1, MaxBody, MaxBody + slack + 1, 8 << 20, 9 << 20, ReadLimit} {
		b := p.get(n)
		if len(b) != n {
			t.Errorf("asked for %d bytes, got %d", n, len(b))
		}
		p.put(b)
		p.put(make([]byte, 0, n)) // of another's making
		if b = p.get(n); len(b) != n {
			t.Errorf("asked for %d bytes again, got %d", n, len(b))
		}
	}
	p.put(nil)
	var m taken
	if b := m.Reallocate(3, append(m.Allocate(1)[:0], 'a')); string(b) != "a\x00\x00" {
		t.Errorf("memory that grew is %q", b)
	}
}

func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// drain reads a stream as far as it goes, by both readers.
func drain(messages [][]byte) (err error) {
	relay := NewRelay(replay(messages))
	for err = nil; err == nil; {
		_, _, err = relay.Next()
	}
	r, err := NewReader(replay(messages))
	for err == nil {
		_, err = r.Next()
	}
	if r != nil {
		r.Close()
	}
	return err
}

// Whatever number stands in a header instead of the right one, reading ends, and takes no memory that was not sent.
func TestHeadersWithWrongNumbers(t *testing.T) {
	rec := everything(t, memory.DefaultAllocator)
	defer rec.Release()
	whole := stream(t, rec)
	usual := allocated(func() { _ = drain(whole) })
	for which := range 2 {
		var m Message
		if err := m.decode(whole[which], nil); err != nil {
			t.Fatal(err)
		}
		for at := 0; at+4 <= len(m.Header); at += 2 {
			for _, word := range [][]byte{{0xff, 0xff, 0xff, 0xff}, {0xff, 0xff, 0xff, 0x7f}, {0, 0, 0, 1}, {0, 0, 0, 0}, {1, 0, 0, 0}, {0, 0xff}} {
				header := bytes.Clone(m.Header)
				copy(header[at:], word)
				messages := slices.Clone(whole)
				messages[which] = encode(t, &Message{Header: header, body: m.body}, nil)
				if took := allocated(func() { _ = drain(messages) }); took > 4*usual+1<<20 {
					t.Fatalf("message %d with % x at %d took %d bytes, the right one %d", which, word, at, took, usual)
				}
			}
		}
		m.Release()
	}
}

func TestHeadersThatAreRefused(t *testing.T) {
	rec := numbers(memory.DefaultAllocator, 0, 1000)
	defer rec.Release()
	whole := stream(t, rec)
	var batch Message
	if err := batch.decode(whole[1], nil); err != nil {
		t.Fatal(err)
	}
	defer batch.Release()
	packed, err := ipc.GetRecordBatchPayload(rec, ipc.WithLZ4())
	if err != nil {
		t.Fatal(err)
	}
	compressed, err := newMessage(&packed, 1000)
	if err != nil {
		t.Fatal(err)
	}
	big := ipc.GetSchemaPayload(rec.Schema().WithEndianness(1), memory.DefaultAllocator)
	bigEndian, err := newMessage(&big, 0)
	if err != nil {
		t.Fatal(err)
	}
	deep := arrow.PrimitiveTypes.Int8
	for range maxNesting + 2 {
		deep = arrow.ListOf(deep)
	}
	nested := ipc.GetSchemaPayload(arrow.NewSchema([]arrow.Field{{Name: "deep", Type: deep}}, nil), memory.DefaultAllocator)
	tooDeep, err := newMessage(&nested, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name    string
		message *Message
		want    string
	}{
		{"cut", &Message{Header: batch.Header[:len(batch.Header)/2], body: batch.body}, "decode record batch"},
		{"one byte", &Message{Header: []byte{1}, body: batch.body}, "malformed header"},
		{"no body", &Message{Header: batch.Header}, "announces a body of 8000 bytes, 0 came"},
		{"a short body", &Message{Header: batch.Header, body: memory.NewBufferBytes(batch.Body()[:4000])}, "announces a body of 8000 bytes, 4000 came"},
		{"compressed", compressed, "its body is compressed"},
		{"big-endian", bigEndian, "it is big-endian"},
		{"nested", tooDeep, "types nested more than 32 deep"},
		{"huge", &Message{Header: make([]byte, maxHeader+1)}, "it has 8388609 bytes"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := drain([][]byte{whole[0], encode(t, tc.message, nil), whole[2]})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}

func TestMessagesThatAreNoFlightData(t *testing.T) {
	for _, tc := range []struct{ name, wire string }{
		{"cut in a tag", "\x80"},
		{"cut in a length", "\x12\x80"},
		{"cut in a value", "\x12\x05abc"},
		{"cut in a number", "\x08\x80"},
		{"the body is cut", "\xc2\x3e\x05abc"},
		{"two bodies, the second cut", "\xc2\x3e\x01a\xc2\x3e\x05abc"},
		{"field 0", "\x00\x00"},
		{"an open group", "\x0b\x08\x01"},
	} {
		var m Message
		if err := NewCodec().UnmarshalRead(context.Background(), strings.NewReader(tc.wire), &m); err == nil || m.Body() != nil {
			t.Errorf("%s: got %+v, %v", tc.name, m, err)
		}
	}
}

// A stream may be cut anywhere, and any byte may be another: no panic, and never more rows than the end message says.
func TestFlippedBytes(t *testing.T) {
	rec := everything(t, memory.DefaultAllocator)
	defer rec.Release()
	whole := stream(t, rec)
	random := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		messages := make([][]byte, len(whole))
		for i, m := range whole {
			messages[i] = bytes.Clone(m)
		}
		for range 1 + random.IntN(3) {
			m := messages[random.IntN(len(messages))]
			m[random.IntN(len(m))] ^= 1 << random.IntN(8)
		}
		_ = drain(messages)
	}
}
