package coordinator

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/services/rollout"
)

// The first of a queue asks again after retryLeast, then after twice as long each time up to retryMost, half of it by chance: two
// coordinators that want the same workers shall not keep taking them half each.
const (
	retryLeast = 20 * time.Millisecond
	retryMost  = time.Second
)

// A line is the queries that wait until the workers of their cohort have room: each cohort's in the order in which they came. Only the
// first of a cohort's asks its workers again; the others wait for it.
type line struct {
	timeout time.Duration

	mu      sync.Mutex
	waiting map[rollout.Key][]*query
	moved   chan struct{} // closed and made anew when a query leaves, or ends
}

func newLine(timeout time.Duration) *line {
	return &line{timeout: timeout, waiting: map[rollout.Key][]*query{}, moved: make(chan struct{})}
}

// wait waits until q may try its cohort: at once if nobody waits for it and busy is not set, which says that the workers had no room
// just now. It keeps its place until leave.
func (l *line) wait(ctx context.Context, q *query, k rollout.Key, busy bool) (waited bool, err error) {
	l.mu.Lock()
	if !slices.Contains(l.waiting[k], q) {
		l.remove(q) // of another cohort's
		if !busy && len(l.waiting[k]) == 0 {
			l.mu.Unlock()
			return false, nil
		}
		l.waiting[k] = append(l.waiting[k], q)
		if q.queuedAt.IsZero() {
			q.queuedAt = time.Now()
		}
	} else if !busy {
		first := l.waiting[k][0] == q
		if first {
			l.mu.Unlock()
			return false, nil // it has waited already
		}
	}
	began := time.Now()
	if busy {
		q.tries++
	}
	back := min(retryMost, retryLeast<<min(q.tries, 8))
	pause := time.NewTimer(back/2 + rand.N(back/2+1))
	defer pause.Stop()
	limit := time.NewTimer(time.Until(q.queuedAt.Add(l.timeout)))
	defer limit.Stop()
	defer func() { q.waited(time.Since(began)) }()
	rested := !busy
	for {
		at := slices.Index(l.waiting[k], q)
		all := len(l.waiting[k])
		moved := l.moved
		l.mu.Unlock()
		q.at(at + 1)
		if at == 0 && rested {
			return true, nil
		}
		select {
		case <-moved:
			rested = true // somebody may have made room
		case <-pause.C:
			rested = true
		case <-limit.C:
			return true, sqlerr.Newf(sqlerr.TooManyQueries, sqlerr.Pos{}, "no worker had room for the query within %s; %d queries wait", l.timeout, all).
				WithHint("run it again later, add workers, or raise their --max-queries or this server's --queue-timeout")
		case <-ctx.Done():
			return true, context.Cause(ctx)
		}
		l.mu.Lock()
	}
}

// leave takes q out of the line, if it is there: it has got what it waited for, or wants it no more.
func (l *line) leave(q *query) {
	l.mu.Lock()
	gone := l.remove(q)
	l.mu.Unlock()
	if gone {
		q.at(0)
		l.freed()
	}
}

// remove takes q out of the line. l.mu is held.
func (l *line) remove(q *query) (was bool) {
	for k, all := range l.waiting {
		i := slices.Index(all, q)
		if i < 0 {
			continue
		}
		was = true
		if l.waiting[k] = slices.Delete(all, i, i+1); len(l.waiting[k]) == 0 {
			delete(l.waiting, k)
		}
	}
	return was
}

// freed says that there may be room.
func (l *line) freed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.moved)
	l.moved = make(chan struct{})
}

// at notes q's place in the queue, 0 for none.
func (q *query) at(position int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.position = position
}
