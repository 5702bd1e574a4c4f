package history

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
	"google.golang.org/protobuf/proto"

	apiv1 "github.com/fletchdb/fletch/gen/go/fletch/api/v1"
	eventlogv1 "github.com/fletchdb/fletch/gen/go/fletch/eventlog/v1"
	"github.com/fletchdb/fletch/services/eventlog"
)

// How the index follows its log.
const (
	freshFor   = 250 * time.Millisecond // how old what it has read may be when it is asked
	batchLines = 20_000                 // between two writes
	// eventLimit is how many events of one query are read.
	eventLimit = 200_000
)

// The buckets of an index. Bytes after a query's place are its id.
var (
	bucketAbout    = []byte("about")    // form of the index
	bucketQueries  = []byte("queries")  // by Key: an item
	bucketIDs      = []byte("ids")      // by id: its Key
	bucketOpen     = []byte("open")     // by instance and id: its Key; queries without an end
	bucketSegments = []byte("segments") // by name: how far it is read
	bucketBegan    = []byte("began")    // by segment's name and Key: which queries began there
)

// form is of the index's own layout. An index of another form is made anew.
const form = "1"

// An Index is a log's queries in the order of their beginnings, in a file of its own in the cache folder. The log is only read. Its
// methods may be called from any goroutine.
type Index struct {
	dir string
	db  *bolt.DB

	mu     sync.Mutex // held while the log is followed
	read   time.Time  // when it was last
	failed error      // why it could not be
}

// OpenIndex opens the index of the log in dir in the folder cache, which is made if it is not there: the one that is there or, where
// another process has that, the next. An index that is damaged, or of another form, is made anew.
func OpenIndex(dir, cache string) (*Index, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open the index of the event log: %w", err)
	}
	if err := os.MkdirAll(cache, 0o700); err != nil {
		return nil, fmt.Errorf("open the index of the event log: %w", err)
	}
	sum := sha256.Sum256([]byte(absolute))
	for n := range 16 {
		path := filepath.Join(cache, fmt.Sprintf("%s-%d.index", hex.EncodeToString(sum[:8]), n))
		db, err := openForm(path)
		if errors.Is(err, bolterrors.ErrTimeout) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("open the index of the event log in %s: %w", path, err)
		}
		return &Index{dir: dir, db: db}, nil
	}
	return nil, fmt.Errorf("open the index of the event log: 16 processes have one in %s", cache)
}

func openForm(path string) (*bolt.DB, error) {
	db, err := bolt.Open(path, 0o600, &bolt.Options{Timeout: 100 * time.Millisecond, NoFreelistSync: true})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return nil, err
	}
	other := err != nil
	if err == nil {
		err = db.View(func(tx *bolt.Tx) error {
			b := tx.Bucket(bucketAbout)
			other = b != nil && string(b.Get([]byte("form"))) != form
			return nil
		})
	}
	if other { // it is a cache: nothing is lost
		if db != nil {
			err = db.Close()
		}
		if err = errors.Join(err, os.Remove(path)); err != nil && db != nil {
			return nil, err
		}
		db, err = bolt.Open(path, 0o600, &bolt.Options{Timeout: 100 * time.Millisecond, NoFreelistSync: true})
	}
	if err != nil {
		return nil, err
	}
	err = db.Update(func(tx *bolt.Tx) error {
		for _, name := range [][]byte{bucketAbout, bucketQueries, bucketIDs, bucketOpen, bucketSegments, bucketBegan} {
			if _, err := tx.CreateBucketIfNotExists(name); err != nil {
				return err
			}
		}
		return tx.Bucket(bucketAbout).Put([]byte("form"), []byte(form))
	})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// Close gives the index's file back.
func (x *Index) Close() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.db.Close()
}

// An item is what the index has of a query: first what filters look at, then where its events are, then the summary.
type item struct {
	status    apiv1.QueryStatus
	version   []byte // of workers
	instance  []byte
	code      []byte
	segment   []byte // name of the file with its first event
	offset    int64
	statement []byte // lower case, whole
	summary   []byte // encoded
}

func (i *item) encode() []byte {
	b := binary.AppendUvarint(nil, uint64(i.status))
	for _, s := range [][]byte{i.version, i.instance, i.code, i.segment} {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	b = binary.AppendUvarint(b, uint64(i.offset))
	b = binary.AppendUvarint(b, uint64(len(i.statement)))
	b = append(b, i.statement...)
	return append(b, i.summary...)
}

var errDamaged = errors.New("the index is damaged: delete it")

// decodeItem reads what encode wrote. Its slices are parts of b.
func decodeItem(b []byte) (i item, err error) {
	number := func() uint64 {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			err = errDamaged
			b = nil
			return 0
		}
		b = b[n:]
		return v
	}
	text := func() []byte {
		n := number()
		if n > uint64(len(b)) {
			err = errDamaged
			n = 0
		}
		s := b[:n]
		b = b[n:]
		return s
	}
	i.status = apiv1.QueryStatus(min(number(), 1<<30))
	i.version, i.instance, i.code, i.segment = text(), text(), text(), text()
	i.offset = int64(number() & (1<<62 - 1))
	i.statement = text()
	i.summary = b
	return i, err
}

func (x *Index) list(ctx context.Context, before *Key, f *filter, n int) (out []entry, err error) {
	if err := x.follow(ctx); err != nil {
		return nil, err
	}
	text := []byte(f.text)
	err = x.db.View(func(tx *bolt.Tx) error {
		c := tx.Bucket(bucketQueries).Cursor()
		bound := before
		if f.until != 0 && (bound == nil || f.until <= bound.at) {
			bound = &Key{at: f.until}
		}
		k, v := c.Last()
		if bound != nil {
			if k, v = c.Seek(bound.bytes()); k == nil {
				k, v = c.Last()
			}
			for k != nil && bytes.Compare(k, bound.bytes()) >= 0 {
				k, v = c.Prev()
			}
		}
		for rows := 0; k != nil && len(out) < n; k, v = c.Prev() {
			if rows++; rows%1024 == 0 && ctx.Err() != nil {
				return context.Cause(ctx)
			}
			key, ok := keyOf(k)
			i, err := decodeItem(v)
			if !ok || err != nil {
				return errDamaged
			}
			if key.at < f.since {
				return nil
			}
			if !f.takes(key, i.status, i.version, i.instance, i.code) || !bytes.Contains(i.statement, text) || f.told(key.id) {
				continue
			}
			m := &apiv1.QuerySummary{}
			if err := proto.Unmarshal(i.summary, m); err != nil {
				return errDamaged
			}
			m.Status = i.status
			out = append(out, entry{key, m})
		}
		return nil
	})
	return out, err
}

func (x *Index) knows(id string) (known bool) {
	_ = x.db.View(func(tx *bolt.Tx) error {
		known = tx.Bucket(bucketIDs).Get([]byte(id)) != nil
		return nil
	})
	return known
}

func (x *Index) get(ctx context.Context, id string) (*recording, error) {
	if err := x.follow(ctx); err != nil {
		return nil, err
	}
	var found item
	err := x.db.View(func(tx *bolt.Tx) (err error) {
		if key := tx.Bucket(bucketIDs).Get([]byte(id)); key != nil {
			found, err = decodeItem(bytes.Clone(tx.Bucket(bucketQueries).Get(key)))
		}
		return err
	})
	if err != nil || len(found.segment) == 0 {
		return nil, err
	}
	return x.events(ctx, id, &found)
}

// events reads a query's events from the log.
func (x *Index) events(ctx context.Context, id string, i *item) (*recording, error) {
	r := &recording{id: id, instance: string(i.instance), status: i.status}
	log, err := eventlog.List(x.dir)
	if err != nil {
		return nil, err
	}
	for _, instance := range log.Instances {
		if instance.ID != string(i.instance) {
			continue
		}
		for s := range instance.Segments {
			name := filepath.Base(instance.Segments[s].Path)
			if name < string(i.segment) {
				continue
			}
			if started, err := instance.Segments[s].Started(); err == nil && r.recorder == nil {
				r.recorder = &apiv1.Recorder{Release: started.GetRelease(), Build: started.GetBuild(), Protocol: started.GetProtocol(), Api: started.GetApi()}
			}
			offset := int64(0)
			if name == string(i.segment) {
				offset = i.offset
			}
			ended := false
			_, err := readFrom(instance.Segments[s].Path, offset, func(l *eventlog.Line) bool {
				if l.Err != nil && !errors.Is(l.Err, eventlog.ErrNewer) || string(l.Query) != id {
					return ctx.Err() == nil
				}
				e := Event{At: l.Time(), Kind: string(l.Kind)}
				if m, err := l.Decode(); err == nil {
					e.Message = m
				}
				r.events = append(r.events, e)
				ended = e.Kind == eventlog.KindQueryFinished
				return !ended && len(r.events) < eventLimit && ctx.Err() == nil
			})
			if err != nil {
				return nil, err
			}
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			if ended || len(r.events) == eventLimit {
				return r, nil
			}
		}
	}
	return r, nil
}

// readFrom gives the lines of a segment from an offset on to take, until it says no more, and tells where the line after the last whole
// one begins.
func readFrom(path string, offset int64, take func(l *eventlog.Line) bool) (next int64, err error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return offset, nil // deleted since it was listed
	}
	if err != nil {
		return offset, fmt.Errorf("read the event log: %w", err)
	}
	defer func() { _ = f.Close() }()
	if _, err := f.Seek(offset, 0); err != nil {
		return offset, fmt.Errorf("read the event log: %w", err)
	}
	lines := eventlog.ReadLines(f, offset)
	for next = offset; ; {
		var l eventlog.Line
		if err := lines.Next(&l); err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return next, err
		}
		if errors.Is(l.Err, eventlog.ErrTorn) {
			return next, nil // it may be on its way
		}
		next = l.Offset + int64(len(l.Raw)) + 1
		if !take(&l) {
			return next, nil
		}
	}
}

// summaryOf is what a list shows of a query that has begun.
func summaryOf(id, instance string, at time.Time, m *eventlogv1.QueryStarted) *apiv1.QuerySummary {
	r := recording{id: id, instance: instance, status: apiv1.QueryStatus_QUERY_STATUS_RUNNING, events: []Event{{At: at, Message: m}}}
	s := r.response(false).GetQuery()
	return shortened(s)
}

func lower(statement string) []byte { return []byte(strings.ToLower(statement)) }
