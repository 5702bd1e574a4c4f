package coordinator

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	"connectrpc.com/connect/v2"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/fletchdb/fletch/engine/sqlerr"
	apiv1 "github.com/fletchdb/fletch/gen/go/fletch/api/v1"
	"github.com/fletchdb/fletch/services/internal/rpcerr"
)

// Bounds of Fetch: rows and bytes of a page, and how many queries wait for their next page.
const (
	pageRows  = 1000
	pageLimit = 10_000
	pageBytes = 4 << 20
	maxPaged  = 1000
)

// pages is the queries whose result somebody fetches page by page.
type pages struct {
	c *Coordinator

	mu     sync.Mutex
	cursor map[string]*cursor // by the token of the next page and of the last one given
}

func newPages(c *Coordinator) *pages { return &pages{c: c, cursor: map[string]*cursor{}} }

// A cursor is a running query and where its reader is.
type cursor struct {
	query *query
	sink  *rowSink

	mu      sync.Mutex // held while a page is made
	idle    *time.Timer
	pending []*structpb.ListValue
	current string               // token that gives last
	last    *apiv1.FetchResponse // the page given last; asked for again it is given again
	next    string               // token that gives the page after last; empty at the end
}

// Fetch gives a page.
func (s *queryService) Fetch(ctx context.Context, req *apiv1.FetchRequest) (*apiv1.FetchResponse, error) {
	if err := known(req); err != nil {
		return nil, err
	}
	size := int(req.GetPageSize())
	if size == 0 {
		size = pageRows
	}
	if size > pageLimit {
		return nil, rpcerr.ToAPI(sqlerr.Newf(sqlerr.InvalidParameter, sqlerr.Pos{}, "page_size is at most %d, not %d", pageLimit, size), "", 0)
	}
	p := s.coordinator.pages
	switch {
	case req.GetPageToken() != "" && req.GetStatement() != "":
		return nil, rpcerr.ToAPI(sqlerr.New(sqlerr.InvalidParameter, sqlerr.Pos{}, "give a statement or a page_token, not both"), "", 0)
	case req.GetPageToken() != "":
		return p.more(ctx, req.GetPageToken(), size)
	}
	return p.first(ctx, req, size)
}

// first starts a statement and gives its first page. The query outlives the call, if there are more pages.
func (p *pages) first(ctx context.Context, req *apiv1.FetchRequest, size int) (*apiv1.FetchResponse, error) {
	running, q, err := p.c.start(context.WithoutCancel(ctx), req.GetStatement(), req.GetOptions())
	if err != nil {
		return nil, rpcerr.ToAPI(err, "", 0)
	}
	cur := &cursor{query: q, sink: newRowSink(running)}
	go func() {
		defer p.c.finish(q)
		end, err := p.c.run(running, q, cur.sink)
		cur.sink.finish(end, err)
	}()
	cur.mu.Lock()
	defer cur.mu.Unlock()
	page, err := p.page(ctx, cur, size)
	if err != nil {
		q.cancel(context.Canceled) // nobody has a token of it
		return nil, rpcerr.ToAPI(err, q.id, 0)
	}
	return page, nil
}

// more gives the page of a token: the next one, or the last one again.
func (p *pages) more(ctx context.Context, token string, size int) (*apiv1.FetchResponse, error) {
	p.mu.Lock()
	cur := p.cursor[token]
	p.mu.Unlock()
	if cur == nil {
		return nil, errNoPage
	}
	cur.mu.Lock()
	defer cur.mu.Unlock()
	switch token {
	case cur.current:
		p.wait(cur)
		return cur.last, nil
	case cur.next:
		page, err := p.page(ctx, cur, size)
		if err == nil {
			return page, nil
		}
		if ctx.Err() != nil {
			p.wait(cur)
		} else {
			p.forget(cur)
		}
		return nil, rpcerr.ToAPI(err, cur.query.id, cur.sink.given)
	}
	return nil, errNoPage
}

var errNoPage = connect.NewError(connect.CodeNotFound, "no such page: its query has ended, nobody asked for too long, or a later page was asked for")

// page makes the next page of cur, whose mutex is held. A caller who goes away loses no row: the page can be asked for again.
func (p *pages) page(ctx context.Context, cur *cursor, size int) (*apiv1.FetchResponse, error) {
	if cur.idle != nil {
		cur.idle.Stop()
	}
	out := &apiv1.FetchResponse{QueryId: cur.query.id}
	bytes := 0
	for len(out.Rows) < size {
		if len(cur.pending) == 0 {
			rows, err := cur.sink.take(ctx)
			if errors.Is(err, io.EOF) {
				out.End = cur.sink.end
				break
			}
			if err != nil {
				cur.pending = out.Rows
				return nil, err
			}
			cur.pending = rows
			continue
		}
		more := proto.Size(cur.pending[0]) + 4
		if bytes += more; bytes > pageBytes && len(out.Rows) > 0 {
			break
		}
		out.Rows = append(out.Rows, cur.pending[0])
		cur.pending = cur.pending[1:]
	}
	out.Columns = cur.sink.columns()
	if err := p.advance(cur, out); err != nil {
		return nil, err
	}
	cur.sink.given += uint64(len(out.Rows))
	return out, nil
}

// advance makes out the last page of cur and gives out the token of the page after it, if there is one.
func (p *pages) advance(cur *cursor, out *apiv1.FetchResponse) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if cur.next == "" && out.End == nil && len(p.cursor) >= 2*maxPaged {
		return sqlerr.Newf(sqlerr.TooManyQueries, sqlerr.Pos{}, "%d queries wait for their next page to be fetched", maxPaged)
	}
	delete(p.cursor, cur.current)
	cur.current, cur.last, cur.next = cur.next, out, ""
	if out.End == nil {
		cur.next = newToken()
		out.NextPageToken = cur.next
		p.cursor[cur.next] = cur
	}
	if cur.current != "" || cur.next != "" {
		p.wait(cur)
	}
	return nil
}

func newToken() string {
	var b [18]byte
	_, _ = rand.Read(b[:])
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// wait lets cur's query end when nobody asks for a page for long. cur's mutex is held.
func (p *pages) wait(cur *cursor) {
	if cur.idle == nil {
		cur.idle = time.AfterFunc(p.c.limits.page, func() { p.forget(cur) })
		return
	}
	cur.idle.Reset(p.c.limits.page)
}

func (p *pages) forget(cur *cursor) {
	cur.query.cancel(sqlerr.New(sqlerr.Timeout, sqlerr.Pos{}, "nobody asked for the result's next page for too long"))
	p.mu.Lock()
	defer p.mu.Unlock()
	for token, c := range p.cursor {
		if c == cur {
			delete(p.cursor, token)
		}
	}
}

func (p *pages) close() {
	p.mu.Lock()
	cursors := slices.Collect(maps.Values(p.cursor))
	clear(p.cursor)
	p.mu.Unlock()
	for _, cur := range cursors {
		cur.mu.Lock()
		cur.idle.Stop()
		cur.mu.Unlock()
	}
}

// A rowSink turns a result into rows of JSON values for whoever takes them; it holds one message's rows at a time, so that the
// query waits for its reader.
type rowSink struct {
	ctx  context.Context
	rows chan []*structpb.ListValue

	mu     sync.Mutex
	heads  []*apiv1.Column
	schema []byte
	done   chan struct{}
	end    *apiv1.QueryEnd
	err    error
	given  uint64
}

func newRowSink(ctx context.Context) *rowSink {
	return &rowSink{ctx: ctx, rows: make(chan []*structpb.ListValue), done: make(chan struct{})}
}

func (s *rowSink) Head(columns []*apiv1.Column) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heads = columns
	return nil
}

func (s *rowSink) columns() []*apiv1.Column {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.heads
}

func (s *rowSink) Message(encapsulated []byte, n int64) error {
	if s.schema == nil {
		s.schema = encapsulated
		return nil
	}
	if n == 0 {
		return nil
	}
	r, err := ipc.NewReader(io.MultiReader(bytes.NewReader(s.schema), bytes.NewReader(encapsulated)))
	if err != nil {
		return sqlerr.Newf(sqlerr.Internal, sqlerr.Pos{}, "decode result: %w", err)
	}
	defer r.Release()
	for r.Next() {
		rows, err := jsonRows(r.RecordBatch())
		if err != nil {
			return err
		}
		select {
		case s.rows <- rows:
		case <-s.ctx.Done():
			return context.Cause(s.ctx)
		}
	}
	return r.Err()
}

// finish tells how the query ended.
func (s *rowSink) finish(end *apiv1.QueryEnd, err error) {
	s.end, s.err = end, err
	close(s.done)
}

// take gives the next rows; io.EOF at the end of a query that ended well.
func (s *rowSink) take(ctx context.Context) ([]*structpb.ListValue, error) {
	select {
	case rows := <-s.rows:
		return rows, nil
	case <-s.done:
		if s.err != nil {
			return nil, s.err
		}
		return nil, io.EOF
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// jsonRows gives the rows of a batch as FetchResponse.rows has them.
func jsonRows(rec arrow.RecordBatch) ([]*structpb.ListValue, error) {
	rows := make([]*structpb.ListValue, rec.NumRows())
	for i := range rows {
		rows[i] = &structpb.ListValue{Values: make([]*structpb.Value, rec.NumCols())}
	}
	for c, column := range rec.Columns() {
		for i := range rows {
			rows[i].Values[c] = jsonValue(column, i)
		}
	}
	return rows, nil
}

func jsonValue(a arrow.Array, i int) *structpb.Value {
	if a.IsNull(i) {
		return structpb.NewNullValue()
	}
	switch a := a.(type) {
	case *array.Boolean:
		return structpb.NewBoolValue(a.Value(i))
	case *array.Int8:
		return structpb.NewNumberValue(float64(a.Value(i)))
	case *array.Int16:
		return structpb.NewNumberValue(float64(a.Value(i)))
	case *array.Int32:
		return structpb.NewNumberValue(float64(a.Value(i)))
	case *array.Uint8:
		return structpb.NewNumberValue(float64(a.Value(i)))
	case *array.Uint16:
		return structpb.NewNumberValue(float64(a.Value(i)))
	case *array.Uint32:
		return structpb.NewNumberValue(float64(a.Value(i)))
	case *array.Int64:
		return structpb.NewStringValue(strconv.FormatInt(a.Value(i), 10))
	case *array.Uint64:
		return structpb.NewStringValue(strconv.FormatUint(a.Value(i), 10))
	case *array.Float32:
		return jsonFloat(float64(a.Value(i)))
	case *array.Float64:
		return jsonFloat(a.Value(i))
	case *array.Decimal128:
		return structpb.NewStringValue(a.Value(i).ToString(a.DataType().(*arrow.Decimal128Type).Scale))
	case *array.Binary:
		return structpb.NewStringValue(base64.StdEncoding.EncodeToString(a.Value(i)))
	case *array.Timestamp:
		t := a.Value(i).ToTime(a.DataType().(*arrow.TimestampType).Unit)
		layout := "2006-01-02T15:04:05.999999"
		if a.DataType().(*arrow.TimestampType).TimeZone != "" {
			layout += "Z"
		}
		return structpb.NewStringValue(t.Format(layout))
	}
	return structpb.NewStringValue(a.ValueStr(i))
}

func jsonFloat(f float64) *structpb.Value {
	switch {
	case math.IsNaN(f):
		return structpb.NewStringValue("NaN")
	case math.IsInf(f, 1):
		return structpb.NewStringValue("Infinity")
	case math.IsInf(f, -1):
		return structpb.NewStringValue("-Infinity")
	}
	return structpb.NewNumberValue(f)
}
