package coordinator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/services/resolver"
	"github.com/fletchdb/fletch/services/rollout"
)

func position(q *query) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.position
}

// Who comes first is served first, of each cohort; who waits for another one is not held up.
func TestLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(time.Minute)
		v1, v2 := rollout.Key{Version: "v1"}, rollout.Key{Version: "v2"}
		free := &query{}
		if waited, err := l.wait(t.Context(), free, v1, false); waited || err != nil {
			t.Fatalf("nobody waits, and it waited: %t, %v", waited, err)
		}
		var order []string
		var mu sync.Mutex
		var wg sync.WaitGroup
		room := false
		queries := make([]*query, 3)
		for i := range queries {
			queries[i] = &query{}
			busy := i == 0
			wg.Go(func() {
				for {
					if _, err := l.wait(t.Context(), queries[i], v1, busy); err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					if busy = !room; !busy {
						order = append(order, fmt.Sprint(i))
						mu.Unlock()
						l.leave(queries[i])
						return
					}
					mu.Unlock()
				}
			})
			synctest.Wait()
		}
		for i, q := range queries {
			if position(q) != i+1 {
				t.Errorf("query %d is number %d", i, position(q))
			}
		}
		if waited, err := l.wait(t.Context(), &query{}, v2, false); waited || err != nil {
			t.Errorf("of another cohort: %t, %v", waited, err)
		}
		mu.Lock()
		room = true
		mu.Unlock()
		l.freed()
		wg.Wait()
		if got := strings.Join(order, " "); got != "0 1 2" || len(l.waiting) != 0 {
			t.Errorf("served %s, %d lines left", got, len(l.waiting))
		}
		for i, q := range queries {
			if position(q) != 0 {
				t.Errorf("query %d is still number %d", i, position(q))
			}
		}
	})
}

// Nobody waits longer than the time-out, however often the workers are asked; who leaves lets the next one move up.
func TestLineEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(10 * time.Second)
		k := rollout.Key{Version: "v1"}
		began := time.Now()
		q := &query{}
		var err error
		asked := 0
		for err == nil {
			_, err = l.wait(t.Context(), q, k, true)
			asked++
		}
		if took := time.Since(began); sqlerr.CodeOf(err) != sqlerr.TooManyQueries || took != 10*time.Second || !strings.Contains(err.Error(), "--queue-timeout") {
			t.Errorf("after %s: %v", took, err)
		}
		if asked < 10 || asked > 40 {
			t.Errorf("the workers were asked %d times in 10 s", asked)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		left := errors.New("left")
		done := make(chan error)
		next := &query{}
		go func() {
			_, err := l.wait(ctx, next, k, false)
			l.leave(next)
			done <- err
		}()
		synctest.Wait()
		if position(next) != 2 {
			t.Errorf("number %d", position(next))
		}
		l.leave(q)
		synctest.Wait()
		if err := <-done; err != nil {
			t.Error(err)
		}
		first := &query{}
		go func() {
			_, err := l.wait(ctx, first, k, true)
			l.leave(first)
			done <- err
		}()
		synctest.Wait()
		cancel(left)
		if err := <-done; !errors.Is(err, left) || len(l.waiting) != 0 {
			t.Errorf("%v, %d lines left", err, len(l.waiting))
		}
	})
}

// A refusal is told of in valid UTF-8, wherever it is cut.
func TestLongRefusal(t *testing.T) {
	quiet := slog.New(slog.DiscardHandler)
	c := &Coordinator{log: quiet, poller: resolver.NewPoller(resolver.Static(nil), nil, quiet)}
	q := &query{}
	for n := range 4 {
		e := sqlerr.New(sqlerr.TooManyQueries, sqlerr.Pos{}, strings.Repeat("x", maxRefusalText-n)+"äöü")
		c.refused(q, &workerError{resolver.Worker{URL: "http://w"}, e})
	}
	if end := q.end(nil); len(end.GetRefusals()) != 4 {
		t.Errorf("%d refusals", len(end.GetRefusals()))
	} else if _, err := proto.Marshal(end); err != nil {
		t.Error(err)
	}
}
