// Package arrowwire turns Arrow record batches into FlightData messages and back, with one copy on each side, and knows when a
// stream is complete. It must never know what the rows mean.
//
// A stream is: one schema message, record batches of at most MaxBody bytes unless a single row is larger, and an end message
// whose row and batch counts match. A stream that stops before its end message is an error, however cleanly it stopped.
package arrowwire

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"unsafe"

	"connectrpc.com/connect/v2/connectproto"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	workerv1 "github.com/fletchdb/fletch/gen/go/fletch/worker/v1"
)

// MaxBody is the largest body, in bytes, of a message that holds more than one row.
const MaxBody = 4 << 20

// ReadLimit is the largest message that a reader takes, in bytes: a single row may be larger than MaxBody.
const ReadLimit = 64 << 20

// The field numbers of arrow.flight.protocol.FlightData.
const (
	fieldHeader protowire.Number = 2
	fieldApp    protowire.Number = 3
	fieldBody   protowire.Number = 1000
)

// A Message is a FlightData that is encoded and decoded without an intermediate copy of its body. On the wire it is
// arrow.flight.protocol.FlightData.
type Message struct {
	Header []byte // Arrow IPC message, without length prefix; empty in an end message
	App    []byte // a StreamFrame, or empty
	Rows   int64  // of a record batch being sent; not on the wire

	payload *ipc.Payload // body of a message being sent
	size    int          // its bytes
	body    *memory.Buffer
}

// Size is the bytes of the body.
func (m *Message) Size() int {
	if m.body != nil {
		return m.body.Len()
	}
	return m.size
}

// Body is the body of a message that was received, valid until Release.
func (m *Message) Body() []byte {
	if m.body == nil {
		return nil
	}
	return m.body.Bytes()
}

// Release gives the body back. It may be called more than once.
func (m *Message) Release() {
	if m.payload != nil {
		m.payload.Release()
		m.payload = nil
	}
	if m.body != nil {
		m.body.Release()
		m.body = nil
	}
}

// An Encoder makes the messages of one stream.
type Encoder struct {
	schema *arrow.Schema
}

// NewEncoder makes messages of batches with this schema, which has no dictionary columns.
func NewEncoder(schema *arrow.Schema) *Encoder { return &Encoder{schema} }

// Schema is the stream's first message.
func (e *Encoder) Schema() (*Message, error) {
	p := ipc.GetSchemaPayload(e.schema, memory.DefaultAllocator)
	return newMessage(&p, 0)
}

// Batch makes the messages of a record batch: one, or more where it is larger than MaxBody. It retains what it needs of rec.
func (e *Encoder) Batch(rec arrow.RecordBatch) ([]*Message, error) {
	p, err := ipc.GetRecordBatchPayload(rec)
	if err != nil {
		return nil, fmt.Errorf("encode record batch: %w", err)
	}
	m, err := newMessage(&p, rec.NumRows())
	if err != nil {
		return nil, err
	}
	if m.size <= MaxBody || rec.NumRows() < 2 {
		return []*Message{m}, nil
	}
	parts := min(rec.NumRows(), int64(m.size/MaxBody)+1)
	m.Release()
	var out []*Message
	for i := range parts {
		slice := rec.NewSlice(rec.NumRows()*i/parts, rec.NumRows()*(i+1)/parts)
		ms, err := e.Batch(slice)
		slice.Release()
		if err != nil {
			release(out)
			return nil, err
		}
		out = append(out, ms...)
	}
	return out, nil
}

func release(ms []*Message) {
	for _, m := range ms {
		m.Release()
	}
}

func newMessage(p *ipc.Payload, rows int64) (*Message, error) {
	meta := p.Meta()
	defer meta.Release()
	msg := ipc.NewMessage(meta, memory.NewBufferBytes([]byte{}))
	defer msg.Release()
	return &Message{Header: meta.Bytes(), Rows: rows, payload: p, size: int(msg.BodyLen())}, nil
}

// End is the last message of a stream.
func End(rows, batches int64) (*Message, error) {
	frame := &workerv1.StreamFrame{Frame: &workerv1.StreamFrame_End{End: &workerv1.StreamEnd{Rows: uint64(rows), Batches: uint64(batches)}}}
	app, err := proto.Marshal(frame)
	if err != nil {
		return nil, fmt.Errorf("encode end of stream: %w", err)
	}
	return &Message{App: app}, nil
}

// Start is the first message of a stream that is sent to a task.
func Start(start *workerv1.SupplyStart) (*Message, error) {
	app, err := proto.Marshal(&workerv1.StreamFrame{Frame: &workerv1.StreamFrame_Start{Start: start}})
	if err != nil {
		return nil, fmt.Errorf("encode start of stream: %w", err)
	}
	return &Message{App: app}, nil
}

// ReadStart reads the first message of such a stream.
func ReadStart(recv func(*Message) error) (*workerv1.SupplyStart, error) {
	var m Message
	if err := recv(&m); err != nil {
		return nil, err
	}
	defer m.Release()
	var frame workerv1.StreamFrame
	if err := proto.Unmarshal(m.App, &frame); err != nil {
		return nil, fmt.Errorf("decode start of stream: %w", err)
	}
	if frame.GetStart() == nil || len(m.Header) > 0 {
		return nil, errors.New("decode start of stream: it does not say what it is for")
	}
	return frame.GetStart(), nil
}

// Codec is connect's binary protobuf codec but for *Message, which it reads and writes itself.
type Codec struct{ *connectproto.BinaryCodec }

// NewCodec is a Codec. It goes under the name "proto".
func NewCodec() Codec { return Codec{connectproto.NewBinaryCodec()} }

// MarshalWrite writes msg.
func (c Codec) MarshalWrite(ctx context.Context, dst io.Writer, msg any) error {
	m, ok := msg.(*Message)
	if !ok {
		return c.BinaryCodec.MarshalWrite(ctx, dst, msg)
	}
	head := m.appendHead(make([]byte, 0, m.headSize()))
	if g, ok := dst.(interface{ Grow(int) }); ok {
		g.Grow(len(head) + m.Size())
	}
	if _, err := dst.Write(head); err != nil {
		return err
	}
	return m.writeBody(dst)
}

// alignment is where in an encoded message its body begins, in bytes: at a multiple. A reader can then use the body where it came
// to lie.
const alignment = 64

// headSize is at least the bytes that appendHead appends.
func (m *Message) headSize() int {
	return len(m.Header) + len(m.App) + 4*binary.MaxVarintLen32 + 8 + alignment
}

// appendHead appends to nothing all of the encoded message that stands before its body. The header is filled up by zeros, which
// its readers do not look at, until the body is aligned.
func (m *Message) appendHead(head []byte) []byte {
	size := m.Size()
	if len(m.Header) > 0 {
		behind := 0
		if len(m.App) > 0 {
			behind += protowire.SizeTag(fieldApp) + protowire.SizeBytes(len(m.App))
		}
		behind += protowire.SizeTag(fieldBody) + protowire.SizeVarint(uint64(size))
		padded := len(m.Header)
		for size > 0 && (protowire.SizeTag(fieldHeader)+protowire.SizeBytes(padded)+behind)%alignment != 0 {
			padded++
		}
		head = protowire.AppendVarint(protowire.AppendTag(head, fieldHeader, protowire.BytesType), uint64(padded))
		head = append(head, m.Header...)
		head = append(head, make([]byte, padded-len(m.Header))...)
	}
	if len(m.App) > 0 {
		head = protowire.AppendBytes(protowire.AppendTag(head, fieldApp, protowire.BytesType), m.App)
	}
	if size > 0 {
		head = protowire.AppendVarint(protowire.AppendTag(head, fieldBody, protowire.BytesType), uint64(size))
	}
	return head
}

func (m *Message) writeBody(dst io.Writer) error {
	switch {
	case m.Size() == 0:
		return nil
	case m.body != nil:
		_, err := dst.Write(m.body.Bytes())
		return err
	}
	n := counter{w: dst}
	if err := m.payload.SerializeBody(&n); err != nil {
		return err
	}
	if n.n != m.size {
		return fmt.Errorf("record batch body has %d bytes, its header says %d", n.n, m.size)
	}
	return nil
}

type counter struct {
	w io.Writer
	n int
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += n
	return n, err
}

// UnmarshalRead reads msg. A *Message gets a copy of its header and, in memory that Release recycles, its body.
//
// connect reads a message into a buffer of its own pool, hands it over here, and keeps nothing of it but the buffer itself, for
// the next message. So a large body is not copied: the message takes the memory of the buffer, which gets other memory.
func (c Codec) UnmarshalRead(ctx context.Context, src io.Reader, msg any) error {
	m, ok := msg.(*Message)
	if !ok {
		return c.BinaryCodec.UnmarshalRead(ctx, src, msg)
	}
	b, ok := src.(*bytes.Buffer)
	if !ok {
		data, err := io.ReadAll(src)
		if err != nil {
			return err
		}
		return m.decode(data, nil)
	}
	data := b.Bytes()
	err := m.decode(data, func() { *b = *bytes.NewBuffer(bodies.get(len(data) + bytes.MinRead)[:0]) })
	b.Reset()
	return err
}

// decode reads an encoded message into *m, which holds nothing yet. It calls take before it keeps a part of data, and copies all
// if take is nil.
func (m *Message) decode(data []byte, take func()) error {
	*m = Message{}
	var body []byte
	for rest := data; len(rest) > 0; {
		number, wireType, n := protowire.ConsumeTag(rest)
		if n < 0 {
			return fmt.Errorf("decode FlightData: %w", protowire.ParseError(n))
		}
		size := protowire.ConsumeFieldValue(number, wireType, rest[n:])
		if size < 0 {
			return fmt.Errorf("decode FlightData: %w", protowire.ParseError(size))
		}
		field := rest[n : n+size]
		rest = rest[n+size:]
		if wireType != protowire.BytesType {
			continue
		}
		value, _ := protowire.ConsumeBytes(field)
		switch number {
		case fieldHeader:
			m.Header = bytes.Clone(value)
		case fieldApp:
			m.App = bytes.Clone(value)
		case fieldBody:
			body = value
		}
	}
	switch {
	case body == nil:
	case take != nil && len(body) >= smallest/2 && uintptr(unsafe.Pointer(unsafe.SliceData(body)))%8 == 0:
		m.body = memory.NewBufferWithAllocator(body[:len(body):len(body)], taken{data})
		take()
	default:
		own := bodies.get(len(body))
		copy(own, body)
		m.body = memory.NewBufferWithAllocator(own, taken{own})
	}
	return nil
}

// taken is the memory that a body lies in. It is an arrow allocator only so that the body's last Release finds its way back.
type taken struct{ memory []byte }

// Allocate gives n bytes.
func (taken) Allocate(n int) []byte { return make([]byte, n) }

// Reallocate gives n bytes that begin as b does.
func (taken) Reallocate(n int, b []byte) []byte {
	grown := make([]byte, n)
	copy(grown, b)
	return grown
}

// Free gives the memory back to the pool, whatever part of it the body is.
func (t taken) Free([]byte) { bodies.put(t.memory) }

// bodies recycles the memory of bodies.
var bodies pool

type pool struct{ classes [8]sync.Pool }

// smallest is the size of the first class, in bytes; each has twice the one before, and each a little more for the head of a
// message. Shorter bodies than half of it are not worth keeping, and would hold too much memory each.
const (
	smallest = 64 << 10
	slack    = 8 << 10
)

func (p *pool) get(n int) []byte {
	if n < smallest/2 {
		return make([]byte, n)
	}
	for i := range p.classes {
		if size := smallest<<i + slack; n <= size {
			if b, ok := p.classes[i].Get().(*[]byte); ok {
				return (*b)[:n]
			}
			return make([]byte, n, size)
		}
	}
	return make([]byte, n)
}

// put takes back what get gave, or any other memory, which then nobody else may hold.
func (p *pool) put(b []byte) {
	if cap(b) >= 2*smallest<<len(p.classes) {
		return // too much to keep
	}
	for i := len(p.classes) - 1; i >= 0; i-- {
		if cap(b) >= smallest<<i+slack {
			b = b[:0]
			p.classes[i].Put(&b)
			return
		}
	}
}

// ErrTruncated says that a stream stopped before its end message.
var ErrTruncated = errors.New("the stream stopped before its end message")

// A Reader decodes one stream. It is for one goroutine.
type Reader struct {
	recv    func(*Message) error
	ipc     *ipc.Reader
	current *ipc.Message
	rows    int64
	batches int64
	bytes   int64
	ended   bool
	err     error
}

// NewReader reads the stream whose messages recv gives; recv reports the transport's end as io.EOF. It reads the schema.
// What comes is not trusted: a malformed message is an error, but offsets and codes inside a batch are the caller's to check.
func NewReader(recv func(*Message) error) (_ *Reader, err error) {
	r := &Reader{recv: recv}
	defer guard(&err)
	r.ipc, err = ipc.NewReaderFromMessageReader(messages{r})
	if r.err != nil {
		err = r.err
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// Schema is the stream's schema.
func (r *Reader) Schema() *arrow.Schema { return r.ipc.Schema() }

// Bytes is the bytes of bodies that have come.
func (r *Reader) Bytes() int64 { return r.bytes }

// Next is the next batch, valid until the call after it; io.EOF once the end message has come and its counts agree.
func (r *Reader) Next() (rec arrow.RecordBatch, err error) {
	defer guard(&err)
	if r.ipc.Next() {
		rec = r.ipc.RecordBatch()
		r.rows += rec.NumRows()
		r.batches++
		return rec, nil
	}
	switch {
	case r.err != nil:
		return nil, r.err
	case r.ended:
		return nil, io.EOF
	case r.ipc.Err() != nil:
		return nil, fmt.Errorf("decode record batch: %w", r.ipc.Err())
	}
	return nil, ErrTruncated
}

// Close gives back what the reader holds.
func (r *Reader) Close() {
	if r.ipc != nil {
		r.ipc.Release()
	}
	if r.current != nil {
		r.current.Release()
		r.current = nil
	}
}

func guard(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("decode record batch: %v", p)
	}
}

// messages is the stream as arrow's ipc wants it.
type messages struct{ r *Reader }

func (messages) Retain()  {}
func (messages) Release() {}

func (s messages) Message() (*ipc.Message, error) {
	r := s.r
	if r.current != nil {
		r.current.Release()
		r.current = nil
	}
	if r.ended || r.err != nil {
		return nil, io.EOF
	}
	var m Message
	if err := r.recv(&m); err != nil {
		if errors.Is(err, io.EOF) {
			err = ErrTruncated
		}
		r.err = err
		return nil, err
	}
	defer m.Release()
	if len(m.Header) == 0 {
		if r.err = checkEnd(m.App, r.rows, r.batches); r.err != nil {
			return nil, r.err
		}
		r.ended = true
		return nil, io.EOF
	}
	if _, _, r.err = verify(m.Header, m.Size()); r.err != nil {
		return nil, r.err
	}
	body := m.body
	if body == nil {
		body = memory.NewBufferBytes([]byte{})
	}
	r.bytes += int64(body.Len())
	r.current = ipc.NewMessage(memory.NewBufferBytes(m.Header), body)
	return r.current, nil
}

// checkEnd compares the end message of a stream with what came.
func checkEnd(app []byte, rows, batches int64) error {
	var frame workerv1.StreamFrame
	if err := proto.Unmarshal(app, &frame); err != nil {
		return fmt.Errorf("decode end of stream: %w", err)
	}
	end := frame.GetEnd()
	if end == nil {
		return errors.New("decode end of stream: a frame that this build does not know")
	}
	if end.GetRows() != uint64(rows) || end.GetBatches() != uint64(batches) {
		return fmt.Errorf("the stream ends after %d rows in %d batches, but %d in %d came", end.GetRows(), end.GetBatches(), rows, batches)
	}
	return nil
}
