package history

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	apiv1 "github.com/fletchdb/fletch/gen/go/fletch/api/v1"
	eventlogv1 "github.com/fletchdb/fletch/gen/go/fletch/eventlog/v1"
	"github.com/fletchdb/fletch/services/eventlog"
)

// What Recent keeps of queries that have ended: so many, and events of so many bytes.
const (
	recentQueries = 1000
	recentBytes   = 64 << 20
)

// Recent is the queries of this process in memory: those that run, and the last that ended. Its methods may be called from any
// goroutine.
type Recent struct {
	instance string
	recorder *apiv1.Recorder

	mu      sync.Mutex
	queries map[string]*recent
	ended   []*recent // oldest first
	bytes   int       // of ended
}

type recent struct {
	recording
	key   Key
	bytes int
}

// NewRecent keeps the queries of an instance.
func NewRecent(instance string, recorder *apiv1.Recorder) *Recent {
	return &Recent{instance: instance, recorder: recorder, queries: map[string]*recent{}}
}

// Append keeps an event of a query; one of no query is none of a query's history.
func (r *Recent) Append(query string, m proto.Message) {
	if query == "" {
		return
	}
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	q := r.queries[query]
	if q == nil {
		q = &recent{key: Key{now.UnixMicro(), query}}
		q.live = true
		q.id, q.instance, q.recorder, q.status = query, r.instance, r.recorder, apiv1.QueryStatus_QUERY_STATUS_RUNNING
		r.queries[query] = q
	}
	q.events = append(q.events, Event{now, eventlog.KindOf(m), m})
	q.bytes += proto.Size(m)
	if _, end := m.(*eventlogv1.QueryFinished); !end {
		return
	}
	r.ended = append(r.ended, q)
	r.bytes += q.bytes
	for len(r.ended) > recentQueries || r.bytes > recentBytes {
		delete(r.queries, r.ended[0].id)
		r.bytes -= r.ended[0].bytes
		r.ended[0] = nil
		r.ended = r.ended[1:]
	}
}

// snapshot is a recording that nobody changes.
func (q *recent) snapshot() *recording {
	r := q.recording
	r.events = slices.Clip(slices.Clone(q.events))
	return &r
}

func (r *Recent) knows(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.queries[id] != nil
}

func (r *Recent) get(_ context.Context, id string) (*recording, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if q := r.queries[id]; q != nil {
		return q.snapshot(), nil
	}
	return nil, nil
}

func (r *Recent) list(_ context.Context, before *Key, f *filter, n int) ([]entry, error) {
	r.mu.Lock()
	var all []*recent
	for _, q := range r.queries {
		if before == nil || q.key.compare(*before) < 0 {
			all = append(all, q)
		}
	}
	slices.SortFunc(all, func(a, b *recent) int { return b.key.compare(a.key) })
	snapshots := make([]*recording, len(all))
	for i, q := range all {
		snapshots[i] = q.snapshot()
	}
	r.mu.Unlock()
	var out []entry
	for i, s := range snapshots {
		if len(out) == n {
			break
		}
		m := s.response(false).GetQuery()
		if f.takes(all[i].key, m.GetStatus(), []byte(m.GetCohort().GetVersion()), []byte(r.instance), []byte(m.GetErrorCode())) && strings.Contains(strings.ToLower(m.GetStatement()), f.text) {
			out = append(out, entry{all[i].key, shortened(m)})
		}
	}
	return out, nil
}
