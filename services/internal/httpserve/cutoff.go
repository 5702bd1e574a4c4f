package httpserve

import (
	"context"
	"net/http"
	"sync"
	"time"
)

type answerKey struct{}

// answer is where a request's answer goes, for CutOff.
type answer struct {
	mu      sync.Mutex
	control *http.ResponseController // nil once the handler has returned
}

// Cuttable lets CutOff work below next.
func Cuttable(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := &answer{control: http.NewResponseController(w)}
		defer func() {
			a.mu.Lock()
			a.control = nil
			a.mu.Unlock()
		}()
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), answerKey{}, a)))
	})
}

// CutOff breaks the answer to the request that ctx belongs to, grace after done is closed: a write that waits for a reader who
// does not read then fails. The returned function, to be called before the handler returns, ends that.
func CutOff(ctx context.Context, done context.Context, grace time.Duration) (stop func()) {
	a, ok := ctx.Value(answerKey{}).(*answer)
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
			timer = time.AfterFunc(grace, a.cut)
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

func (a *answer) cut() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.control != nil {
		_ = a.control.SetWriteDeadline(time.Unix(1, 0))
	}
}
