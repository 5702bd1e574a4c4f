package httpserve

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

// impatient gives the other side of every call d to take each thing that is written and to send each thing that is read; then
// the call is cut off: over HTTP/2 the stream, over HTTP/1.1 the connection. A handler that takes long in between is not held
// to anything.
func impatient(next http.Handler, d time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := &call{ResponseWriter: w, control: http.NewResponseController(w), patience: d, http2: r.ProtoMajor == 2}
		defer c.end()
		if r.ProtoMajor == 1 {
			_ = c.control.EnableFullDuplex() // else no refusal is sent before the whole body has come
		}
		if r.Body != nil && r.Body != http.NoBody {
			b := &body{ReadCloser: r.Body, call: c, keep: r.ProtoMajor == 1}
			if b.keep {
				defer b.drain()
			}
			r.Body = b
		}
		next.ServeHTTP(c, r.WithContext(context.WithValue(r.Context(), callKey{}, c)))
	})
}

type callKey struct{}

// CutOff breaks the answer to the call that ctx belongs to, grace after done is closed: a write that waits for a reader who does
// not read then fails. The returned function, to be called before the handler returns, ends that.
func CutOff(ctx, done context.Context, grace time.Duration) (stop func()) {
	c, ok := ctx.Value(callKey{}).(*call)
	if !ok {
		return func() {}
	}
	var (
		mu    sync.Mutex
		timer *time.Timer
		over  bool
	)
	forget := context.AfterFunc(done, func() {
		mu.Lock()
		defer mu.Unlock()
		if !over {
			timer = time.AfterFunc(grace, func() { c.fail(c.control.SetWriteDeadline) })
		}
	})
	return func() {
		forget()
		mu.Lock()
		defer mu.Unlock()
		over = true
		if timer != nil {
			timer.Stop()
		}
	}
}

// call is a ResponseWriter with a timer of its own. net/http's deadlines would do, but a write deadline ends an HTTP/2 stream when
// it passes, whether or not a write is waiting, and setting and clearing it costs a hand-over to the connection's goroutine
// each.
type call struct {
	http.ResponseWriter
	control  *http.ResponseController
	patience time.Duration
	http2    bool
	written  bool        // something was, since the last Flush
	writing  *time.Timer // runs during a Write or a Flush

	mu    sync.Mutex
	ended bool // the handler has returned: control must not be used any more
}

// Unwrap is for http.ResponseController.
func (c *call) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c *call) Write(p []byte) (int, error) {
	c.start(&c.writing, c.control.SetWriteDeadline)
	defer c.writing.Stop()
	c.written = true
	return c.ResponseWriter.Write(p)
}

// Flush sends what is buffered.
func (c *call) Flush() {
	c.start(&c.writing, c.control.SetWriteDeadline)
	defer c.writing.Stop()
	c.written = false
	_ = c.control.Flush()
}

// start starts a timer that fails what waits.
func (c *call) start(t **time.Timer, deadline func(time.Time) error) {
	if *t == nil {
		*t = time.AfterFunc(c.patience, func() { c.fail(deadline) })
	} else {
		(*t).Reset(c.patience)
	}
}

// fail sets a deadline that has passed.
func (c *call) fail(deadline func(time.Time) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ended {
		_ = deadline(time.Unix(1, 0))
	}
}

// end leaves what net/http still has to send, and to read of a request that nobody wanted, to its own deadlines.
func (c *call) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	if c.http2 && !c.written {
		return // nothing waits; and if the stream was reset, nobody would stop a deadline's timer, which holds all there was of the call
	}
	_ = c.control.SetWriteDeadline(time.Now().Add(c.patience))
	_ = c.control.SetReadDeadline(time.Now().Add(c.patience))
}

// body is a request's body with the same patience.
type body struct {
	io.ReadCloser
	call    *call
	reading *time.Timer // runs during a Read
	keep    bool        // Close leaves it to drain
	ended   bool        // it was read to its end
}

func (b *body) Read(p []byte) (int, error) {
	b.call.start(&b.reading, b.call.control.SetReadDeadline)
	defer b.reading.Stop()
	n, err := b.ReadCloser.Read(p)
	b.ended = b.ended || errors.Is(err, io.EOF)
	return n, err
}

// maxDrained is how much of a body that nobody wanted is read for the sake of the connection.
const maxDrained = 8 << 20

// drain reads what nobody wanted of the body, once the answer is sent. With full duplex, net/http cannot be left to do that after
// the handler has returned: it meets the body's end while it waits for the next request already, and panics.
func (b *body) drain() {
	if b.ended {
		return
	}
	b.call.Flush()
	if _, err := io.CopyN(io.Discard, b, maxDrained); err == nil {
		panic(http.ErrAbortHandler) // ends the connection
	}
}

// Close tells that nobody wants the rest. Over HTTP/1.1 it would wait for that rest, and keep the answer waiting behind it: there
// drain sees to it.
func (b *body) Close() error {
	if b.keep {
		return nil
	}
	return b.ReadCloser.Close()
}
