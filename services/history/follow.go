package history

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"path/filepath"
	"time"

	bolt "go.etcd.io/bbolt"
	"google.golang.org/protobuf/proto"

	apiv1 "github.com/fletchdb/fletch/gen/go/fletch/api/v1"
	eventlogv1 "github.com/fletchdb/fletch/gen/go/fletch/eventlog/v1"
	"github.com/fletchdb/fletch/services/eventlog"
)

// follow reads what came to the log since it was last read, if that is a while ago.
func (x *Index) follow(ctx context.Context) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if time.Since(x.read) < freshFor {
		return x.failed
	}
	x.failed = x.catchUp(ctx)
	x.read = time.Now()
	if ctx.Err() != nil {
		x.read = time.Time{} // it says nothing of the log
	}
	return x.failed
}

// Refresh reads the log, however short a time ago it was read.
func (x *Index) Refresh(ctx context.Context) error {
	x.mu.Lock()
	x.read = time.Time{}
	x.mu.Unlock()
	return x.follow(ctx)
}

func (x *Index) catchUp(ctx context.Context) error {
	log, err := eventlog.List(x.dir)
	if errors.Is(err, eventlog.ErrNoLog) {
		log, err = &eventlog.Log{}, nil // nothing was written yet, or everything was deleted
	}
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for i := range log.Instances {
		for _, s := range log.Instances[i].Segments {
			there[filepath.Base(s.Path)] = true
		}
		if err := x.instance(ctx, &log.Instances[i]); err != nil {
			return err
		}
	}
	return x.forget(there)
}

// A place is how far a segment was read.
type place struct {
	offset int64
	closed bool // no more comes, and every query that began here has its last status
}

func (p place) encode() []byte {
	b := binary.AppendUvarint(nil, uint64(p.offset))
	if p.closed {
		return append(b, 1)
	}
	return append(b, 0)
}

func decodePlace(b []byte) (p place) {
	v, n := binary.Uvarint(b)
	if n > 0 && n < len(b) {
		p = place{int64(v), b[n] == 1}
	}
	return p
}

// instance reads on in what one coordinator wrote.
func (x *Index) instance(ctx context.Context, i *eventlog.Instance) error {
	last := i.Segments[len(i.Segments)-1]
	var at place
	if err := x.db.View(func(tx *bolt.Tx) error {
		at = decodePlace(tx.Bucket(bucketSegments).Get([]byte(filepath.Base(last.Path))))
		return nil
	}); err != nil {
		return err
	}
	if at.closed && at.offset == last.Size {
		return nil
	}
	running := last.Running() // before it is read: a writer that is not there now adds nothing behind what is read
	for s := range i.Segments {
		if err := x.segment(ctx, &i.Segments[s]); err != nil {
			return err
		}
	}
	if running {
		return nil
	}
	if err := x.settle(i); err != nil {
		return err
	}
	return x.db.Update(func(tx *bolt.Tx) error {
		return tx.Bucket(bucketSegments).Put([]byte(filepath.Base(last.Path)), place{last.Size, true}.encode())
	})
}

// segment reads on in a segment, a batch of lines at a time.
func (x *Index) segment(ctx context.Context, s *eventlog.Segment) error {
	name := filepath.Base(s.Path)
	// Most segments have nothing new, and a write is a wait for the disk.
	var at place
	if err := x.db.View(func(tx *bolt.Tx) error {
		at = decodePlace(tx.Bucket(bucketSegments).Get([]byte(name)))
		return nil
	}); err != nil || at.offset >= s.Size {
		return err
	}
	for {
		more := false
		err := x.db.Update(func(tx *bolt.Tx) error {
			at := decodePlace(tx.Bucket(bucketSegments).Get([]byte(name)))
			if at.offset >= s.Size {
				return nil
			}
			w := writing{tx: tx, segment: name, instance: s.Instance}
			lines := 0
			next, err := readFrom(s.Path, at.offset, func(l *eventlog.Line) bool {
				lines++
				w.line(l)
				more = lines == batchLines
				return !more && w.err == nil
			})
			if err = errors.Join(err, w.err); err != nil {
				return err
			}
			return tx.Bucket(bucketSegments).Put([]byte(name), place{offset: next}.encode())
		})
		if err != nil || !more {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// writing takes lines into the index.
type writing struct {
	tx                *bolt.Tx
	segment, instance string
	err               error
}

// line takes what a list shows. What is damaged is nobody's here: settle says whose it may have been.
func (w *writing) line(l *eventlog.Line) {
	newer := errors.Is(l.Err, eventlog.ErrNewer)
	if l.Err != nil && !newer || len(l.Query) == 0 {
		return
	}
	id := string(l.Query)
	known := w.tx.Bucket(bucketIDs).Get(l.Query)
	switch kind := string(l.Kind); {
	case known == nil:
		// Its first event, whatever it is: what came before may be damaged, or of a newer release.
		i := &item{status: apiv1.QueryStatus_QUERY_STATUS_RUNNING, instance: []byte(w.instance), segment: []byte(w.segment), offset: l.Offset}
		var started *eventlogv1.QueryStarted
		if m, err := l.Decode(); err == nil {
			started, _ = m.(*eventlogv1.QueryStarted)
		}
		if newer {
			i.status = apiv1.QueryStatus_QUERY_STATUS_NEWER
		}
		summary := summaryOf(id, w.instance, l.Time(), started)
		i.statement = lower(started.GetStatement())
		key := Key{l.Time().UnixMicro(), id}.bytes()
		w.put(w.tx.Bucket(bucketIDs), l.Query, key)
		w.put(w.tx.Bucket(bucketBegan), began(w.segment, key), nil)
		w.put(w.tx.Bucket(bucketOpen), openKey(w.instance, id), key)
		w.store(key, i, summary)
		if kind == eventlog.KindQueryFinished {
			w.finish(l, key, newer)
		}
	case kind == eventlog.KindQueryFinished:
		w.finish(l, bytes.Clone(known), newer)
	case newer:
		w.change(bytes.Clone(known), func(i *item, _ *apiv1.QuerySummary) { i.status = apiv1.QueryStatus_QUERY_STATUS_NEWER })
	}
}

// finish takes a query's end.
func (w *writing) finish(l *eventlog.Line, key []byte, newer bool) {
	w.change(key, func(i *item, m *apiv1.QuerySummary) {
		i.status = apiv1.QueryStatus_QUERY_STATUS_NEWER
		message, err := l.Decode()
		end, ok := message.(*eventlogv1.QueryFinished)
		if newer || err != nil || !ok {
			return
		}
		finish(m, end)
		i.status, i.version, i.code = m.GetStatus(), []byte(m.GetCohort().GetVersion()), []byte(m.GetErrorCode())
	})
	if err := w.tx.Bucket(bucketOpen).Delete(openKey(w.instance, string(l.Query))); err != nil {
		w.err = errors.Join(w.err, err)
	}
}

// change rewrites a query.
func (w *writing) change(key []byte, f func(i *item, m *apiv1.QuerySummary)) {
	i, err := decodeItem(w.tx.Bucket(bucketQueries).Get(key))
	m := &apiv1.QuerySummary{}
	if err = errors.Join(err, proto.Unmarshal(i.summary, m)); err != nil {
		w.err = errDamaged
		return
	}
	f(&i, m)
	w.store(key, &i, m)
}

func (w *writing) store(key []byte, i *item, m *apiv1.QuerySummary) {
	summary, err := proto.Marshal(m)
	if err != nil {
		w.err = err
		return
	}
	i.summary = summary
	w.put(w.tx.Bucket(bucketQueries), key, i.encode())
}

func (w *writing) put(b *bolt.Bucket, key, value []byte) {
	if err := b.Put(key, value); err != nil {
		w.err = errors.Join(w.err, err)
	}
}

func began(segment string, key []byte) []byte { return append([]byte(segment+"\x00"), key...) }

func openKey(instance, id string) []byte { return []byte(instance + "\x00" + id) }

// statuses are what a log's states are in the API. A query with an end has the end's own.
var statuses = map[eventlog.State]apiv1.QueryStatus{
	eventlog.Running: apiv1.QueryStatus_QUERY_STATUS_RUNNING, eventlog.Crashed: apiv1.QueryStatus_QUERY_STATUS_CRASHED,
	eventlog.Torn: apiv1.QueryStatus_QUERY_STATUS_TORN, eventlog.Corrupt: apiv1.QueryStatus_QUERY_STATUS_CORRUPT,
	eventlog.Newer: apiv1.QueryStatus_QUERY_STATUS_NEWER, eventlog.Lost: apiv1.QueryStatus_QUERY_STATUS_LOST,
}

// settle says what became of the queries of an ended coordinator that have no end. The reader of the log knows, if it reads everything.
func (x *Index) settle(i *eventlog.Instance) error {
	prefix := openKey(i.ID, "")
	open := map[string][]byte{} // by id: its key
	if err := x.db.View(func(tx *bolt.Tx) error {
		c := tx.Bucket(bucketOpen).Cursor()
		for k, key := c.Seek(prefix); bytes.HasPrefix(k, prefix); k, key = c.Next() {
			open[string(k[len(prefix):])] = bytes.Clone(key)
		}
		return nil
	}); err != nil || len(open) == 0 {
		return err
	}
	became := map[string]eventlog.State{}
	cohorts := map[string]*apiv1.Cohort{}
	_, err := i.Walk(eventlog.Visitor{
		Query: func(id string, state eventlog.State) error {
			if open[id] != nil {
				became[id] = state
			}
			return nil
		},
		Line: func(_ *eventlog.Segment, l *eventlog.Line) error {
			if l.Err == nil && string(l.Kind) == eventlog.KindAttemptStarted && open[string(l.Query)] != nil {
				if m, err := l.Decode(); err == nil {
					if a, ok := m.(*eventlogv1.AttemptStarted); ok && a.GetCohort() != nil {
						cohorts[string(l.Query)] = cohortOf(a.GetCohort())
					}
				}
			}
			return nil
		},
	})
	if err != nil {
		return err
	}
	return x.db.Update(func(tx *bolt.Tx) error {
		w := writing{tx: tx, instance: i.ID}
		for id, key := range open {
			w.change(key, func(item *item, m *apiv1.QuerySummary) {
				if status, ok := statuses[became[id]]; ok {
					item.status = status
				}
				if c := cohorts[id]; c != nil {
					m.Cohort, item.version = c, []byte(c.GetVersion())
				}
			})
			if err := tx.Bucket(bucketOpen).Delete(openKey(i.ID, id)); err != nil {
				w.err = errors.Join(w.err, err)
			}
		}
		return w.err
	})
}

// forget drops the queries that began in segments which are not there any more.
func (x *Index) forget(there map[string]bool) error {
	var gone []string
	if err := x.db.View(func(tx *bolt.Tx) error {
		return tx.Bucket(bucketSegments).ForEach(func(k, _ []byte) error {
			if !there[string(k)] {
				gone = append(gone, string(k))
			}
			return nil
		})
	}); err != nil || len(gone) == 0 {
		return err
	}
	return x.db.Update(func(tx *bolt.Tx) error {
		for _, name := range gone {
			var keys [][]byte
			prefix := began(name, nil)
			c := tx.Bucket(bucketBegan).Cursor()
			for k, _ := c.Seek(prefix); bytes.HasPrefix(k, prefix); k, _ = c.Next() {
				keys = append(keys, bytes.Clone(k))
			}
			for _, k := range keys {
				key := k[len(prefix):]
				i, err := decodeItem(tx.Bucket(bucketQueries).Get(key))
				if err != nil {
					return err
				}
				id := string(key[min(8, len(key)):])
				if err := errors.Join(tx.Bucket(bucketOpen).Delete(openKey(string(i.instance), id)), tx.Bucket(bucketBegan).Delete(k), tx.Bucket(bucketIDs).Delete([]byte(id)), tx.Bucket(bucketQueries).Delete(key)); err != nil {
					return err
				}
			}
			if err := tx.Bucket(bucketSegments).Delete([]byte(name)); err != nil {
				return err
			}
		}
		return nil
	})
}
