package arrowwire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// EndOfStream is what ends an Arrow IPC stream.
var EndOfStream = []byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}

// A Relay hands a stream's messages on as Arrow IPC bytes without decoding their rows, and checks that the stream is complete.
type Relay struct {
	recv    func(*Message) error
	rows    int64
	batches int64
	began   bool // the schema has come
	ended   bool
}

// NewRelay relays the stream whose messages recv gives; recv reports the transport's end as io.EOF.
func NewRelay(recv func(*Message) error) *Relay { return &Relay{recv: recv} }

// Rows is how many rows have been handed on.
func (r *Relay) Rows() int64 { return r.rows }

// Next is the next message as an Arrow IPC stream has it, the schema first, and the rows in it; io.EOF once the end message has
// come and its counts agree.
func (r *Relay) Next() (encapsulated []byte, rows int64, err error) {
	if r.ended {
		return nil, 0, io.EOF
	}
	var m Message
	if err := r.recv(&m); err != nil {
		if errors.Is(err, io.EOF) {
			err = ErrTruncated
		}
		return nil, 0, err
	}
	defer m.Release()
	if len(m.Header) == 0 && r.began {
		if err := checkEnd(m.App, r.rows, r.batches); err != nil {
			return nil, 0, err
		}
		r.ended = true
		return nil, 0, io.EOF
	}
	k, rows, err := verify(m.Header, m.Size())
	if err != nil {
		return nil, 0, err
	}
	if r.began == (k == kindSchema) {
		return nil, 0, errors.New("a stream begins with its schema, and has no other")
	}
	r.began = true
	if k == kindBatch {
		r.rows += rows
		r.batches++
	}
	encapsulated, err = m.Encapsulated()
	return encapsulated, rows, err
}

// Encapsulated is a schema or batch as an Arrow IPC stream has it: with its length before it.
func (m *Message) Encapsulated() ([]byte, error) {
	padded := (len(m.Header) + 7) &^ 7
	out := make([]byte, 8+padded, 8+padded+m.Size())
	binary.LittleEndian.PutUint32(out, 0xffffffff)
	binary.LittleEndian.PutUint32(out[4:], uint32(padded))
	copy(out[8:], m.Header)
	if m.payload == nil {
		return append(out, m.Body()...), nil
	}
	buf := bytes.NewBuffer(out)
	if err := m.payload.SerializeBody(buf); err != nil {
		return nil, fmt.Errorf("encode record batch: %w", err)
	}
	return buf.Bytes(), nil
}
