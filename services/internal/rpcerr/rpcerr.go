// Package rpcerr carries the engine's errors over the wire and back, so that code, position and message are the same after
// any number of hops. It knows both ends' error details; it must never decide what to do about an error.
package rpcerr

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connectproto"
	"google.golang.org/protobuf/proto"

	"github.com/fletchdb/fletch/engine/sqlerr"
	apiv1 "github.com/fletchdb/fletch/gen/go/fletch/api/v1"
	identityv1 "github.com/fletchdb/fletch/gen/go/fletch/identity/v1"
	workerv1 "github.com/fletchdb/fletch/gen/go/fletch/worker/v1"
)

// Bounds of what an error says, in bytes. Message and details travel in HTTP trailers, together in at most 4 KiB: the message
// there stands once percent-encoded and twice in base64, the rest once in base64.
const (
	maxMessage = 768 // percent-encoded
	maxHint    = 384
	maxName    = 128
)

// A MismatchError says that the callee is not the process that was meant. Nothing ran there.
type MismatchError struct{ Need, Have *identityv1.Identity }

func (e *MismatchError) Error() string { return "the worker is not the one that was meant" }

// A DrainingError says that the callee takes no new attempt. Nothing ran there.
type DrainingError struct{ Have *identityv1.Identity }

func (e *DrainingError) Error() string { return "the worker is draining" }

// ConnectCode is the RPC code that stands for an engine error code.
func ConnectCode(code sqlerr.Code) connect.Code {
	switch code {
	case sqlerr.Internal, sqlerr.IO, sqlerr.FileCorrupt:
		return connect.CodeInternal
	case sqlerr.MemoryLimit, sqlerr.TooManyQueries, sqlerr.DiskFull:
		return connect.CodeResourceExhausted
	case sqlerr.Canceled:
		return connect.CodeCanceled
	case sqlerr.Timeout:
		return connect.CodeDeadlineExceeded
	case sqlerr.FileNotFound:
		return connect.CodeNotFound
	case sqlerr.FileDenied:
		return connect.CodePermissionDenied
	case sqlerr.NoWorker, sqlerr.WorkerLost, sqlerr.Draining:
		return connect.CodeUnavailable
	case sqlerr.FileChanged:
		return connect.CodeAborted
	case sqlerr.VersionMismatch, sqlerr.ObjectNotInState:
		return connect.CodeFailedPrecondition
	case sqlerr.Unauthenticated:
		return connect.CodeUnauthenticated
	case sqlerr.Unsupported:
		return connect.CodeUnimplemented
	}
	return connect.CodeInvalidArgument
}

// Of is err as an engine error: what is one already, a context's end, or an internal error.
func Of(err error) *sqlerr.Error {
	var e *sqlerr.Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, context.DeadlineExceeded):
		return &sqlerr.Error{Code: sqlerr.Timeout, Message: "canceling statement due to statement timeout", Err: err}
	case errors.Is(err, context.Canceled):
		return &sqlerr.Error{Code: sqlerr.Canceled, Message: "canceling statement due to user request", Err: err}
	}
	return &sqlerr.Error{Code: sqlerr.Internal, Message: "internal error: " + err.Error(), Err: err}
}

// WorkerDetail is the detail of an error between coordinator and workers. task may be nil and worker empty.
func WorkerDetail(e *sqlerr.Error, task *workerv1.TaskRef, worker string) *workerv1.ErrorDetail {
	d := &workerv1.ErrorDetail{
		Code: clip(string(e.Code), maxName), Message: Message(e), Hint: clip(e.Hint, maxHint), Task: task, Worker: clip(worker, maxName),
	}
	if !e.Pos.IsZero() {
		d.Position = &workerv1.Position{Start: uint32(max(0, e.Pos.Start)), End: uint32(max(0, e.Pos.End))}
	}
	return d
}

// FromWorkerDetail is the engine error in a detail.
func FromWorkerDetail(d *workerv1.ErrorDetail) *sqlerr.Error {
	e := &sqlerr.Error{Code: sqlerr.Code(d.GetCode()), Message: d.GetMessage(), Hint: d.GetHint()}
	if p := d.GetPosition(); p != nil {
		e.Pos = sqlerr.Pos{Start: position(p.GetStart()), End: position(p.GetEnd())}
	}
	return e
}

func position(p uint32) int32 { return int32(min(p, 1<<30)) }

// ToWorker makes the error that a worker's handler returns.
func ToWorker(err error) error {
	if err == nil {
		return nil
	}
	if rpc := refusal(err); rpc != nil {
		return rpc
	}
	e := Of(err)
	return with(connect.NewError(ConnectCode(e.Code), Message(e)).WithCause(err), WorkerDetail(e, nil, ""))
}

// refusal is the RPC error that a handler made itself, nil if there is none. One that an engine error has for its cause is not: it
// came of a call to somebody else.
func refusal(err error) *connect.Error {
	var e *sqlerr.Error
	var rpc *connect.Error
	if !errors.As(err, &e) && errors.As(err, &rpc) && !rpc.IsRemote() {
		return rpc
	}
	return nil
}

// FromWorker reads the error of a call to a worker at url. What the worker said is a *sqlerr.Error with its code and position;
// a refusal that ran nothing has a *MismatchError or *DrainingError as its cause; what says that the worker or the way to it
// is gone has code worker_lost.
func FromWorker(ctx context.Context, url string, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var rpc *connect.Error
	if !errors.As(err, &rpc) {
		return Lost(url, err)
	}
	for _, d := range rpc.Details() {
		switch m := decode(d).(type) {
		case *workerv1.ErrorDetail:
			return FromWorkerDetail(m)
		case *identityv1.VersionMismatch:
			return &sqlerr.Error{Code: sqlerr.VersionMismatch, Message: url + ": " + rpc.Message(), Err: &MismatchError{m.GetNeed(), m.GetHave()}}
		case *identityv1.Draining:
			return &sqlerr.Error{Code: sqlerr.Draining, Message: "worker " + url + " is draining", Err: &DrainingError{m.GetHave()}}
		}
	}
	if !rpc.IsRemote() && (errors.Is(err, io.ErrUnexpectedEOF) || strings.Contains(rpc.Message(), "incomplete envelope")) {
		return Lost(url, err) // this side says that the stream broke off, and calls it an invalid argument
	}
	switch rpc.Code() {
	case connect.CodeUnauthenticated, connect.CodePermissionDenied:
		return sqlerr.Newf(sqlerr.Unauthenticated, sqlerr.Pos{}, "worker %s refused the call: %s", url, rpc.Message()).WithHint("give both sides the same --secret-file")
	case connect.CodeInvalidArgument:
		return sqlerr.Newf(sqlerr.InvalidPlan, sqlerr.Pos{}, "worker %s: %s", url, rpc.Message())
	case connect.CodeResourceExhausted:
		return sqlerr.Newf(sqlerr.TooManyQueries, sqlerr.Pos{}, "worker %s: %s", url, rpc.Message())
	}
	return Lost(url, err)
}

// Lost says that the worker at url, or the way to it, is gone.
func Lost(url string, err error) *sqlerr.Error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return &sqlerr.Error{
		Code: sqlerr.WorkerLost, Message: "lost worker " + url + ": " + Happened(err), Hint: "see whether its process runs, and what it logged last; then run the statement again", Err: err,
	}
}

// Broke tells whether a call failed as its connection did, after it was made.
func Broke(err error) bool {
	text := err.Error()
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, net.ErrClosed) ||
		strings.Contains(text, "incomplete envelope") || strings.Contains(text, "EOF") || strings.Contains(text, "GOAWAY") ||
		strings.Contains(text, "stream error") || strings.Contains(text, "connection lost")
}

// Happened says in words what broke a call to a worker, where it is one of the common things.
func Happened(err error) string {
	var dns *net.DNSError
	var timeout interface{ Timeout() bool }
	text := err.Error()
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nobody listens there"
	case errors.As(err, &dns):
		return "its name has no address: " + clip(dns.Err, 128)
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "no way leads there"
	case errors.Is(err, context.DeadlineExceeded), connect.CodeOf(err) == connect.CodeDeadlineExceeded, errors.As(err, &timeout) && timeout.Timeout():
		return "it did not answer in time"
	case Broke(err):
		return "the connection to it broke"
	case connect.CodeOf(err) == connect.CodeUnimplemented:
		return "a server that is no worker listens there"
	}
	return clip(text, 256)
}

// APIDetail is the detail of an error to a client.
func APIDetail(e *sqlerr.Error, queryID string, rows uint64) *apiv1.ErrorDetail {
	d := &apiv1.ErrorDetail{Code: clip(string(e.Code), maxName), Hint: clip(e.Hint, maxHint), QueryId: queryID, Rows: rows}
	if !e.Pos.IsZero() {
		d.Position = &apiv1.Position{Start: uint32(max(0, e.Pos.Start)), End: uint32(max(0, e.Pos.End))}
	}
	return d
}

// Message is an error's sentence as it goes over the wire.
func Message(e *sqlerr.Error) string {
	return clipBy(e.Message, maxMessage, func(b byte) int {
		if b < ' ' || b > '~' || b == '%' {
			return len("%20")
		}
		return 1
	})
}

// ToAPI makes the error that a coordinator's handler returns.
func ToAPI(err error, queryID string, rows uint64) error {
	if err == nil {
		return nil
	}
	if rpc := refusal(err); rpc != nil {
		return rpc
	}
	e := Of(err)
	return with(connect.NewError(ConnectCode(e.Code), Message(e)).WithCause(err), APIDetail(e, queryID, rows))
}

// FromAPI reads the error of a call to a coordinator. An error without a detail keeps its text and gets the code that its RPC
// code stands for; unreachable tells that no server answered at all.
func FromAPI(err error) (e *sqlerr.Error, detail *apiv1.ErrorDetail, unreachable bool) {
	var rpc *connect.Error
	if !errors.As(err, &rpc) {
		return Of(err), nil, false
	}
	for _, d := range rpc.Details() {
		if m, ok := decode(d).(*apiv1.ErrorDetail); ok {
			e := &sqlerr.Error{Code: sqlerr.Code(m.GetCode()), Message: rpc.Message(), Hint: m.GetHint(), Err: err}
			if p := m.GetPosition(); p != nil {
				e.Pos = sqlerr.Pos{Start: position(p.GetStart()), End: position(p.GetEnd())}
			}
			return e, m, false
		}
	}
	code := sqlerr.Internal
	switch rpc.Code() {
	case connect.CodeCanceled:
		code = sqlerr.Canceled
	case connect.CodeDeadlineExceeded:
		code = sqlerr.Timeout
	case connect.CodeUnauthenticated, connect.CodePermissionDenied:
		code = sqlerr.Unauthenticated
	case connect.CodeUnavailable:
		code, unreachable = sqlerr.NoWorker, !rpc.IsRemote()
	case connect.CodeInvalidArgument:
		code = sqlerr.InvalidParameter
	}
	return &sqlerr.Error{Code: code, Message: rpc.Message(), Err: err}, nil, unreachable
}

// Draining makes the refusal of a worker that takes no new attempt.
func Draining(self *identityv1.Identity) error {
	return with(connect.NewError(connect.CodeUnavailable, "this worker is draining"), &identityv1.Draining{Have: self})
}

func with(err *connect.Error, m proto.Message) *connect.Error {
	detail, e := connectproto.NewErrorDetail(m)
	if e != nil {
		return err
	}
	return err.WithDetail(detail)
}

func decode(d *connect.ErrorDetail) proto.Message {
	var m proto.Message
	switch d.Type {
	case "fletch.worker.v1.ErrorDetail":
		m = &workerv1.ErrorDetail{}
	case "fletch.api.v1.ErrorDetail":
		m = &apiv1.ErrorDetail{}
	case "fletch.identity.v1.VersionMismatch":
		m = &identityv1.VersionMismatch{}
	case "fletch.identity.v1.Draining":
		m = &identityv1.Draining{}
	default:
		return nil
	}
	if proto.Unmarshal(d.Value, m) != nil {
		return nil
	}
	return m
}

// clip cuts s to n bytes at a character's end.
func clip(s string, n int) string { return clipBy(s, n, func(byte) int { return 1 }) }

// clipBy cuts s at a character's end, so that the sizes of its bytes add up to n at most, and says so by an ellipsis. What was
// cut once is not cut again.
func clipBy(s string, n int, size func(byte) int) string {
	const ellipsis = "…"
	measure := func(s string) (sum int) {
		for _, b := range []byte(s) {
			sum += size(b)
		}
		return sum
	}
	s = strings.ToValidUTF8(s, "?")
	if measure(s) <= n {
		return s
	}
	sum, cut := measure(ellipsis), 0
	for i, r := range s {
		if sum > n {
			break
		}
		cut = i
		sum += measure(string(r))
	}
	return s[:cut] + ellipsis
}
