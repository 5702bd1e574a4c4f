// Package arrowwire turns Arrow record batches into FlightData messages and back, with one copy on each side, and knows when a
// stream is complete. It must never know what the rows mean.
//
// A stream is: one schema message, record batches of at most MaxBody bytes unless a single row is larger, and an end message
// whose row and batch counts match. A stream that stops before its end message is an error, however cleanly it stopped.
package arrowwire

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

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

// headSize is at least the bytes that appendHead appends.
func (m *Message) headSize() int { return len(m.Header) + len(m.App) + 4*binary.MaxVarintLen32 + 8 }

// appendHead appends all of the encoded message that stands before its body.
func (m *Message) appendHead(head []byte) []byte {
	if len(m.Header) > 0 {
		head = protowire.AppendBytes(protowire.AppendTag(head, fieldHeader, protowire.BytesType), m.Header)
	}
	if len(m.App) > 0 {
		head = protowire.AppendBytes(protowire.AppendTag(head, fieldApp, protowire.BytesType), m.App)
	}
	if size := m.Size(); size > 0 {
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

// UnmarshalRead reads msg. A *Message gets copies, its body in a buffer that Release recycles.
func (c Codec) UnmarshalRead(ctx context.Context, src io.Reader, msg any) error {
	m, ok := msg.(*Message)
	if !ok {
		return c.BinaryCodec.UnmarshalRead(ctx, src, msg)
	}
	var data []byte
	if b, ok := src.(interface {
		Len() int
		Next(int) []byte
	}); ok {
		data = b.Next(b.Len())
	} else {
		var err error
		if data, err = io.ReadAll(src); err != nil {
			return err
		}
	}
	return m.decode(data)
}

// decode reads an encoded message into *m, which holds nothing yet.
func (m *Message) decode(data []byte) error {
	*m = Message{}
	if err := m.decodeFields(data); err != nil {
		m.Release()
		return fmt.Errorf("decode FlightData: %w", err)
	}
	return nil
}

func (m *Message) decodeFields(data []byte) error {
	for len(data) > 0 {
		number, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			return protowire.ParseError(n)
		}
		data = data[n:]
		if kind != protowire.BytesType {
			if n = protowire.ConsumeFieldValue(number, kind, data); n < 0 {
				return protowire.ParseError(n)
			}
			data = data[n:]
			continue
		}
		value, n := protowire.ConsumeBytes(data)
		if n < 0 {
			return protowire.ParseError(n)
		}
		data = data[n:]
		switch number {
		case fieldHeader:
			m.Header = append([]byte(nil), value...)
		case fieldApp:
			m.App = append([]byte(nil), value...)
		case fieldBody:
			if m.body != nil {
				m.body.Release()
			}
			buf := pool.get(len(value))
			copy(buf, value)
			m.body = memory.NewBufferWithAllocator(buf, &pool)
		}
	}
	return nil
}

// pool recycles bodies. It is an arrow allocator only so that the last Release of a body finds its way back.
var pool bodies

type bodies struct{ classes [8]sync.Pool }

// smallest is the size of the first class, in bytes; each has twice the one before. Shorter bodies than half of it are not worth
// keeping, and would hold too much memory each.
const smallest = 64 << 10

func (p *bodies) get(n int) []byte {
	if n < smallest/2 {
		return make([]byte, n)
	}
	for i := range p.classes {
		if size := smallest << i; n <= size {
			if b, ok := p.classes[i].Get().(*[]byte); ok {
				return (*b)[:n]
			}
			return make([]byte, n, size)
		}
	}
	return make([]byte, n)
}

// Allocate gives n bytes.
func (p *bodies) Allocate(n int) []byte { return p.get(n) }

// Reallocate gives n bytes that begin as b does.
func (p *bodies) Reallocate(n int, b []byte) []byte {
	if n <= cap(b) {
		return b[:n]
	}
	grown := p.get(n)
	copy(grown, b)
	p.Free(b)
	return grown
}

// Free takes b back.
func (p *bodies) Free(b []byte) {
	for i := range p.classes {
		if cap(b) == smallest<<i {
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
