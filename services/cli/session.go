package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/fletchdb/fletch/engine"
	"github.com/fletchdb/fletch/engine/parse"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/services/client"
	"github.com/fletchdb/fletch/services/internal/rpcerr"
)

// A session runs statements one after the other and prints what they give.
type session struct {
	process *process
	on      runner
	to      destination
	stats   bool
	results int // printed so far
}

func (se *session) close() { se.on.close() }

// A runner is where statements run.
type runner interface {
	// start runs a statement and tells shows how far it has come, which may be nil. The result is the caller's to close.
	start(ctx context.Context, statement string, shows *progress) (result, error)
	close()
}

// A result is a statement's rows from wherever it ran. Its schema is nil where the statement gives none; describe notes what is
// known of its run once it has ended.
type result interface {
	Schema() (*arrow.Schema, error)
	Next() (arrow.RecordBatch, error)
	Close()
	describe(st *runStats)
}

// embedded runs statements in this process.
type embedded struct {
	engine  *engine.Engine
	session *engine.Session
	timeout time.Duration
}

func (r *embedded) close() { _ = r.engine.Close() }

func (r *embedded) start(ctx context.Context, statement string, shows *progress) (result, error) {
	ctx, cancel := limited(ctx, r.timeout, 0)
	rows, err := r.session.Query(ctx, statement)
	if err != nil {
		defer cancel()
		return nil, ended(ctx, err)
	}
	shows.follow(func() (float64, string) {
		done, read := rows.Progress()
		return done, spaced(uint64(read)) + " rows read"
	})
	return &embeddedResult{rows, ctx, cancel}, nil
}

type embeddedResult struct {
	*engine.Rows
	ctx    context.Context
	cancel context.CancelFunc
}

func (r *embeddedResult) Next() (arrow.RecordBatch, error) {
	rec, err := r.Rows.Next()
	return rec, ended(r.ctx, err)
}

func (r *embeddedResult) Close() {
	r.Rows.Close()
	r.cancel()
}

// ended is err, or why ctx ended where that is all that err says.
func ended(ctx context.Context, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
	}
	return err
}

// cluster runs statements on a server, in one session there.
type cluster struct {
	client  *client.Client
	options client.Options
	opened  bool
}

func (r *cluster) close() {
	if r.options.SessionID != "" {
		ctx, cancel := context.WithTimeout(context.Background(), serverGrace)
		defer cancel()
		_ = r.client.CloseSession(ctx, r.options.SessionID) // else its idle time closes it
	}
	r.client.Close()
}

func (r *cluster) start(ctx context.Context, statement string, shows *progress) (result, error) {
	if !r.opened {
		id, err := r.client.OpenSession(ctx)
		if err != nil {
			return nil, ended(ctx, err)
		}
		r.opened, r.options.SessionID = true, id
	}
	o := r.options
	if shows != nil {
		o.Progress = shows.query
	}
	ctx, cancel := limited(ctx, o.Timeout, serverGrace)
	res, err := r.client.Query(ctx, statement, o)
	if err != nil {
		defer cancel()
		if errors.Is(err, client.ErrSessionLost) {
			r.opened, r.options.SessionID = false, "" // the next statement begins another
		}
		return nil, ended(ctx, err)
	}
	return &clusterResult{res, ctx, cancel}, nil
}

type clusterResult struct {
	*client.Result
	ctx    context.Context
	cancel context.CancelFunc
}

func (r *clusterResult) Next() (arrow.RecordBatch, error) {
	rec, err := r.Result.Next()
	return rec, ended(r.ctx, err)
}

func (r *clusterResult) Close() {
	r.Result.Close()
	r.cancel()
}

// serverGrace is how much longer than its time-out a statement may take on a server, which says more of it than its silence.
const serverGrace = time.Second

// limited is ctx with a statement's time-out, if it has one.
func limited(ctx context.Context, timeout, grace time.Duration) (context.Context, context.CancelFunc) {
	if timeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, timeout+grace, sqlerr.New(sqlerr.Timeout, sqlerr.Pos{}, "canceling statement due to statement timeout"))
}

// text runs every statement of a text and stops at the first that fails.
func (se *session) text(ctx context.Context, from source) error {
	rest, err := se.complete(ctx, from)
	if err != nil || rest.statement == "" {
		return err
	}
	return se.run(ctx, rest)
}

// complete runs the statements of a text that a semicolon ends, and gives what is left after them.
func (se *session) complete(ctx context.Context, from source) (rest source, err error) {
	pieces, left := parse.Split(from.statement)
	at := func(offset int, statement string) source {
		return source{file: from.file, line: from.line + strings.Count(from.statement[:offset], "\n"), statement: statement}
	}
	for _, piece := range pieces {
		if err := se.run(ctx, at(int(piece.Pos.Start), piece.Text)); err != nil {
			return source{}, err
		}
	}
	return at(len(from.statement)-len(left), left), nil
}

// run runs one statement, prints its result and tells what was wrong with it.
func (se *session) run(ctx context.Context, from source) error {
	shows := newProgress(se.process)
	st := newStats()
	err := se.execute(ctx, from.statement, shows, st)
	shows.close()
	if err != nil {
		report(se.process, from, err)
		err = &toldError{err}
	}
	if se.stats {
		st.write(se.process.err, err)
	}
	return err
}

func (se *session) execute(ctx context.Context, statement string, shows *progress, st *runStats) error {
	res, err := se.on.start(ctx, statement, shows)
	if err != nil {
		return err
	}
	st.Rows, err = se.print(res, shows, st.began)
	res.Close()
	res.describe(st)
	return err
}

// print writes a result, and what tells that it is incomplete if it breaks off.
func (se *session) print(res result, shows *progress, began time.Time) (rows int64, err error) {
	schema, err := res.Schema()
	if err != nil {
		return 0, err
	}
	if schema == nil || schema.NumFields() == 0 {
		return 0, se.done(res, shows, began)
	}
	if se.results++; se.results > 1 && isBinary(se.to.format) {
		return 0, sqlerr.Newf(sqlerr.InvalidParameter, sqlerr.Pos{}, "--format %s holds one result, this is another", se.to.format).WithHint("run the statements one by one, each to a file of its own")
	}
	to := se.to
	if !to.since.IsZero() {
		to.since = began
	}
	if _, ok := terminal(to.out); ok {
		to.out = &clearing{to.out, shows}
	}
	w := &lazyWriter{to: to, schema: schema}
	for {
		rec, err := res.Next()
		if errors.Is(err, io.EOF) {
			return rows, unwritten(w.Close())
		}
		if err == nil {
			err = unwritten(w.Write(rec))
		}
		if err != nil {
			_ = w.Abort(rpcerr.Of(err).Message)
			return rows, err
		}
		rows += rec.NumRows()
	}
}

// done waits for the end of a statement that has no rows to give, and tells of it at a prompt.
func (se *session) done(res result, shows *progress, began time.Time) error {
	for {
		_, err := res.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	if se.to.since.IsZero() || se.to.format != "table" {
		return nil
	}
	shows.clear()
	_, err := fmt.Fprintf(se.to.out, "(done in %s)\n", elapsed(time.Since(began)))
	return unwritten(err)
}

// unwritten is why a result could not be written.
func unwritten(err error) error {
	var e *sqlerr.Error
	switch {
	case err == nil || errors.As(err, &e):
		return err
	case errors.Is(err, syscall.EPIPE):
		return &sqlerr.Error{Code: sqlerr.Canceled, Message: "whoever read the result has left", Err: err}
	case errors.Is(err, syscall.ENOSPC):
		return &sqlerr.Error{Code: sqlerr.DiskFull, Message: "write the result: no space is left", Err: err}
	}
	return &sqlerr.Error{Code: sqlerr.IO, Message: "write the result: " + err.Error(), Err: err}
}
