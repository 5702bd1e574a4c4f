package arrowwire

import (
	"context"
	"errors"

	"connectrpc.com/connect/v2"
	"github.com/apache/arrow-go/v18/arrow"
)

type streamKey struct{}

// RawStream is a server interceptor that makes the stream of a call available to NewWriter.
func RawStream(next connect.ServerFunc) connect.ServerFunc {
	return func(ctx context.Context, spec connect.Spec, stream connect.ServerStream) error {
		return next(context.WithValue(ctx, streamKey{}, stream), spec, stream)
	}
}

// Receive gives the messages of a call's body, which RawStream has seen; io.EOF at their end.
func Receive(ctx context.Context) (func(*Message) error, error) {
	stream, ok := ctx.Value(streamKey{}).(connect.ServerStream)
	if !ok {
		return nil, errors.New("a stream outside a call")
	}
	return func(m *Message) error { return stream.Receive(m) }, nil
}

// A Writer sends one stream on a call. It is for one goroutine.
type Writer struct {
	stream        Sender
	encoder       *Encoder
	rows, batches int64
}

// NewWriter begins a stream on the call that ctx belongs to, which RawStream has seen, by sending the schema. The schema has no
// dictionary columns.
func NewWriter(ctx context.Context, schema *arrow.Schema) (*Writer, error) {
	stream, ok := ctx.Value(streamKey{}).(connect.ServerStream)
	if !ok {
		return nil, errors.New("a stream outside a call")
	}
	return NewWriterTo(stream, schema)
}

// A Sender takes messages: either side of a call.
type Sender interface{ Send(msg any) error }

// NewWriterTo is NewWriter on a stream that the caller has.
func NewWriterTo(stream Sender, schema *arrow.Schema) (*Writer, error) {
	w := &Writer{stream: stream, encoder: NewEncoder(schema)}
	m, err := w.encoder.Schema()
	if err != nil {
		return nil, err
	}
	defer m.Release()
	return w, stream.Send(m)
}

// Write sends rec, in as many messages as MaxBody asks for, and returns when the connection has taken them: at the reader's pace.
func (w *Writer) Write(rec arrow.RecordBatch) error {
	messages, err := w.encoder.Batch(rec)
	if err != nil {
		return err
	}
	defer release(messages)
	for _, m := range messages {
		w.rows += m.Rows
		w.batches++
		if err := w.stream.Send(m); err != nil {
			return err
		}
	}
	return nil
}

// End sends the end message: the stream is complete.
func (w *Writer) End() error {
	m, err := End(w.rows, w.batches)
	if err != nil {
		return err
	}
	return w.stream.Send(m)
}
