package worker

import (
	"context"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/fletchdb/fletch/engine/arrowio"
	"github.com/fletchdb/fletch/engine/budget"
	"github.com/fletchdb/fletch/engine/exec"
	"github.com/fletchdb/fletch/engine/hash"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/vector"
)

// aheadBytes is how far a task with one reader runs ahead of it. A task with several never waits for one of them, since the
// others might wait for the rows behind: what is not read yet counts in the query's memory.
const aheadBytes = 8 << 20

// An outlet is one partition's rows on their way to one consumer.
type outlet struct {
	task     *task
	consumer uint32
	claimed  bool // under task.mu

	mu      sync.Mutex
	queue   []arrow.RecordBatch
	queued  int64 // bytes in queue, reserved from memory
	rows    int64
	bytes   int64
	done    bool
	err     error // how the task ended
	closed  bool  // the reader left
	changed chan struct{}
	taken   chan struct{}
}

// put takes one reference of rec. It waits for the reader only if this is the task's one outlet.
func (o *outlet) put(ctx context.Context, rec arrow.RecordBatch, size int64, memory *budget.User) error {
	for {
		o.mu.Lock()
		if o.closed {
			o.mu.Unlock()
			rec.Release()
			return nil
		}
		if len(o.task.outlets) > 1 || o.queued < aheadBytes {
			if err := memory.Reserve(size); err != nil {
				o.mu.Unlock()
				rec.Release()
				return err
			}
			o.queue = append(o.queue, rec)
			o.queued += size
			o.rows += rec.NumRows()
			o.bytes += size
			o.mu.Unlock()
			signal(o.changed)
			return nil
		}
		o.mu.Unlock()
		select {
		case <-o.taken:
		case <-ctx.Done():
			rec.Release()
			return context.Cause(ctx)
		}
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// next gives the next batch, which is the caller's to release; nil at the end of a task that ended well.
func (o *outlet) next(ctx context.Context) (arrow.RecordBatch, error) {
	for {
		o.mu.Lock()
		if len(o.queue) > 0 && o.err == nil {
			rec := o.queue[0]
			o.queue[0] = nil
			o.queue = o.queue[1:]
			size := recordBytes(rec)
			o.queued -= size
			o.mu.Unlock()
			o.task.release(size)
			signal(o.taken)
			return rec, nil
		}
		done, err := o.done, o.err
		o.mu.Unlock()
		if done {
			return nil, err
		}
		select {
		case <-o.changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-o.task.attempt.ctx.Done():
			return nil, context.Cause(o.task.attempt.ctx)
		}
	}
}

func (o *outlet) finish(err error) {
	o.mu.Lock()
	o.done, o.err = true, err
	o.mu.Unlock()
	signal(o.changed)
}

func (o *outlet) totals() (rows, bytes int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.rows, o.bytes
}

// close says that the reader is done, whether or not it has read everything. When all readers are, the task need not go on.
func (o *outlet) close() {
	if !o.drop() {
		return
	}
	t := o.task
	t.mu.Lock()
	t.open--
	last := t.open == 0
	t.mu.Unlock()
	if last {
		t.cancel(errUnread)
	}
}

// drop lets go of what is queued, and tells whether this call was the first.
func (o *outlet) drop() bool {
	o.mu.Lock()
	first := !o.closed
	o.closed = true
	queue, size := o.queue, o.queued
	o.queue, o.queued = nil, 0
	o.mu.Unlock()
	for _, rec := range queue {
		rec.Release()
	}
	o.task.release(size)
	signal(o.taken)
	return first
}

func recordBytes(rec arrow.RecordBatch) int64 {
	var n int64
	for _, c := range rec.Columns() {
		n += int64(c.Data().SizeInBytes())
	}
	return n
}

// A deal is the sink of a task: it deals rows to the outlets as Arrow batches.
type deal struct {
	task   *task
	memory *budget.User
}

func newDeal(t *task) *deal {
	d := &deal{task: t, memory: t.env.Budget.User("Exchange")}
	t.mu.Lock()
	t.exchange = d.memory
	t.mu.Unlock()
	return d
}

// release gives back memory of batches that have left an outlet.
func (t *task) release(size int64) {
	t.mu.Lock()
	memory := t.exchange
	t.mu.Unlock()
	if memory != nil && size > 0 {
		memory.Release(size)
	}
}

// Batches that are given to readers have about this many rows or bytes: large enough to be cheap to send, small enough for caches.
const (
	dealRows  = 32 << 10
	dealBytes = 1 << 20
)

// dealing is one goroutine's part of a deal: rows that wait, per partition, until they make a batch.
type dealing struct {
	deal  *deal
	parts []*arrowio.Builder
	split *hash.Splitter // nil: one partition
	turn  int
}

func (d *deal) NewLocal() (exec.Local, error) {
	t := d.task
	l := &dealing{deal: d}
	n := 1
	if t.out.Kind == physical.Hash {
		n = t.out.Partitions
	}
	if n > 1 {
		l.split = hash.NewSplitter(t.out.Keys, n)
	}
	for range n {
		b, err := arrowio.NewBuilder(t.root.Schema(), t.form())
		if err != nil {
			return nil, err
		}
		l.parts = append(l.parts, b)
	}
	return l, nil
}

func (l *dealing) Push(ctx context.Context, b *vector.Batch) error {
	if l.split == nil {
		return l.add(ctx, 0, b)
	}
	live := *b
	for p, sel := range l.split.Split(b) {
		if len(sel) == 0 {
			continue
		}
		live.Sel = sel
		if err := l.add(ctx, p, &live); err != nil {
			return err
		}
	}
	return nil
}

func (l *dealing) add(ctx context.Context, partition int, b *vector.Batch) error {
	part := l.parts[partition]
	if err := part.Append(b); err != nil {
		return err
	}
	if part.Rows() < dealRows && part.Bytes() < dealBytes {
		return nil
	}
	return l.emit(ctx, partition)
}

// emit gives the rows that wait for a partition to every consumer of it.
func (l *dealing) emit(ctx context.Context, partition int) error {
	if l.parts[partition].Rows() == 0 {
		return nil
	}
	rec := l.parts[partition].Finish()
	defer rec.Release()
	t := l.deal.task
	if t.out.Kind == physical.Robin {
		l.turn = (l.turn + 1) % t.out.Partitions
		partition = l.turn
	}
	size := recordBytes(rec)
	for _, o := range t.outlets[partition*t.out.Consumers:][:t.out.Consumers] {
		rec.Retain()
		if err := o.put(ctx, rec, size, l.deal.memory); err != nil {
			return err
		}
	}
	return nil
}

func (d *deal) Combine(ctx context.Context, local exec.Local) error {
	l := local.(*dealing)
	for p := range l.parts {
		if err := l.emit(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

func (d *deal) Finalize(context.Context) error { return nil }

func (d *deal) Close() error { return nil }
