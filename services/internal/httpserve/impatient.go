package httpserve

import (
	"net/http"
	"sync"
	"time"
)

// impatient gives the reader of every answer d to take each thing that is written; then the answer is cut off: over HTTP/2 the
// stream, over HTTP/1.1 the connection. A handler that takes long between two writes is not held to anything.
func impatient(next http.Handler, d time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t := &timed{ResponseWriter: w, control: http.NewResponseController(w), patience: d}
		defer t.end()
		next.ServeHTTP(t, r)
	})
}

// timed is a ResponseWriter with a timer of its own. net/http's write deadline would do, but that ends an HTTP/2 stream when it
// passes, whether or not a write is waiting, and setting and clearing it costs a hand-over to the connection's goroutine each.
type timed struct {
	http.ResponseWriter
	control  *http.ResponseController
	patience time.Duration
	timer    *time.Timer // runs during a Write or a Flush

	mu    sync.Mutex
	ended bool // the handler has returned: control must not be used any more
}

// Unwrap is for http.ResponseController.
func (t *timed) Unwrap() http.ResponseWriter { return t.ResponseWriter }

func (t *timed) Write(p []byte) (int, error) {
	t.start()
	defer t.timer.Stop()
	return t.ResponseWriter.Write(p)
}

// Flush sends what is buffered.
func (t *timed) Flush() {
	t.start()
	defer t.timer.Stop()
	_ = t.control.Flush()
}

func (t *timed) start() {
	if t.timer == nil {
		t.timer = time.AfterFunc(t.patience, t.cut)
	} else {
		t.timer.Reset(t.patience)
	}
}

// cut fails the write that waits.
func (t *timed) cut() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.ended {
		_ = t.control.SetWriteDeadline(time.Unix(1, 0))
	}
}

// end leaves what net/http still has to send to its own deadline.
func (t *timed) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	_ = t.control.SetWriteDeadline(time.Now().Add(t.patience))
}
