// Package history tells of queries from the events that were recorded of them: those of this process from memory, those of event logs
// by an index of its own. It must never know how a query runs, and it changes no log.
package history

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect/v2"
	"google.golang.org/protobuf/proto"

	apiv1 "github.com/fletchdb/fletch/gen/go/fletch/api/v1"
	"github.com/fletchdb/fletch/gen/go/fletch/api/v1/apiv1connect"
	"github.com/fletchdb/fletch/services/api"
)

// Bounds of a page.
const (
	pageRows  = 100
	pageLimit = 10_000
	// listed is how much of a statement a list shows, in bytes.
	listed = 1 << 10
)

// A Key is a query's place in the order of all: by when it was accepted, then by its id.
type Key struct {
	at int64 // microseconds since 1970
	id string
}

func (k Key) compare(o Key) int { return cmp.Or(cmp.Compare(k.at, o.at), strings.Compare(k.id, o.id)) }

// bytes sort as keys do.
func (k Key) bytes() []byte {
	return append(binary.BigEndian.AppendUint64(nil, uint64(k.at)^1<<63), k.id...)
}

func keyOf(b []byte) (k Key, ok bool) {
	if len(b) < 9 || len(b) > 8+maxID {
		return k, false
	}
	return Key{int64(binary.BigEndian.Uint64(b) ^ 1<<63), string(b[8:])}, true
}

// maxID is the longest id of a query, in bytes.
const maxID = 64

// An entry is a query in a list.
type entry struct {
	key     Key
	summary *apiv1.QuerySummary
}

// A Source has queries. Its methods may be called from any goroutine.
type Source interface {
	// list gives the last n queries before a key, or fewer where there are no more, that f lets through, descending.
	list(ctx context.Context, before *Key, f *filter, n int) ([]entry, error)
	// knows tells whether the source has a query.
	knows(id string) bool
	// get gives what was recorded of a query, nil if the source does not know it.
	get(ctx context.Context, id string) (*recording, error)
}

// A recording is all that was recorded of a query.
type recording struct {
	id       string
	events   []Event
	status   apiv1.QueryStatus // what has become of it, where no event says so
	recorder *apiv1.Recorder
	instance string
	live     bool // it is of this process
}

// An Event is something that was recorded of a query.
type Event struct {
	At      time.Time
	Kind    string
	Message proto.Message // of fletch.eventlog.v1; nil of a kind that this build does not know
}

// filter is what a list is asked for.
type filter struct {
	text          string // lower case
	statuses      []apiv1.QueryStatus
	since, until  int64 // microseconds; 0 is none
	workerVersion *string
	instance      string
	code          string
	others        []Source // which have told of what they know
}

// told tells whether another source has a query.
func (f *filter) told(id string) bool {
	return slices.ContainsFunc(f.others, func(s Source) bool { return s.knows(id) })
}

func filterOf(req *apiv1.ListQueriesRequest) *filter {
	f := &filter{text: strings.ToLower(req.GetText()), statuses: req.GetStatuses(), workerVersion: req.WorkerVersion, instance: req.GetInstanceId(), code: req.GetErrorCode()} //nolint:protogetter // absent is not empty
	if t := req.GetSince(); t != nil {
		f.since = t.AsTime().UnixMicro()
	}
	if t := req.GetUntil(); t != nil {
		f.until = t.AsTime().UnixMicro()
	}
	return f
}

// takes tells whether a query is asked for.
func (f *filter) takes(k Key, status apiv1.QueryStatus, version, instance, code []byte) bool {
	return k.at >= f.since && (f.until == 0 || k.at < f.until) && (len(f.statuses) == 0 || slices.Contains(f.statuses, status)) &&
		(f.workerVersion == nil || *f.workerVersion == string(version)) && (f.instance == "" || f.instance == string(instance)) && (f.code == "" || f.code == string(code))
}

// A Service is HistoryService over sources. Where two of them know a query, the first one is asked.
type Service struct{ sources []Source }

var _ apiv1connect.HistoryServiceHandler = (*Service)(nil)

// NewService serves what sources have.
func NewService(sources ...Source) *Service { return &Service{sources} }

// ListQueries gives a page of queries, the last first.
func (s *Service) ListQueries(ctx context.Context, req *apiv1.ListQueriesRequest) (*apiv1.ListQueriesResponse, error) {
	if err := api.Strict(req); err != nil {
		return nil, err
	}
	n := int(req.GetPageSize())
	if n == 0 {
		n = pageRows
	}
	if n > pageLimit {
		return nil, connect.Errorf(connect.CodeInvalidArgument, "page_size is at most %d, not %d", pageLimit, n)
	}
	var before *Key
	if token := req.GetPageToken(); token != "" {
		b, err := base64.RawURLEncoding.DecodeString(token)
		k, ok := keyOf(b)
		if err != nil || !ok {
			return nil, connect.NewError(connect.CodeInvalidArgument, "page_token is none that a server gave")
		}
		before = &k
	}
	f := filterOf(req)
	var found []entry
	for i, source := range s.sources {
		f.others = s.sources[:i]
		part, err := source.list(ctx, before, f, n+1)
		if err != nil {
			return nil, failed(err)
		}
		found = append(found, part...)
	}
	if len(s.sources) > 1 {
		slices.SortFunc(found, func(a, b entry) int { return b.key.compare(a.key) })
	}
	out := &apiv1.ListQueriesResponse{}
	for i, e := range found {
		if i == n {
			out.NextPageToken = base64.RawURLEncoding.EncodeToString(found[n-1].key.bytes())
			break
		}
		out.Queries = append(out.Queries, e.summary)
	}
	return out, nil
}

// GetQuery gives all of one query.
func (s *Service) GetQuery(ctx context.Context, req *apiv1.GetQueryRequest) (*apiv1.GetQueryResponse, error) {
	if err := api.Strict(req); err != nil {
		return nil, err
	}
	for _, source := range s.sources {
		r, err := source.get(ctx, req.GetQueryId())
		if err != nil {
			return nil, failed(err)
		}
		if r != nil {
			return r.response(req.GetEvents()), nil
		}
	}
	return nil, connect.NewError(connect.CodeNotFound, "no such query is known here: it may be of another server, or its part of the event log was deleted")
}

// failed is the error of a source, which is never the caller's fault.
func failed(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return connect.NewError(connect.CodeInternal, err.Error())
}

// shortened is a summary as a list shows it.
func shortened(m *apiv1.QuerySummary) *apiv1.QuerySummary {
	if len(m.GetStatement()) > listed {
		m.Statement = strings.ToValidUTF8(m.GetStatement()[:listed], "")
	}
	return m
}
