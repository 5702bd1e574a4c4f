package identity

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connectproto"

	identityv1 "github.com/fletchdb/fletch/gen/go/fletch/identity/v1"
	"github.com/fletchdb/fletch/gen/go/fletch/worker/v1/workerv1connect"
)

// exempt are the calls that need no expected identity: whoever asks does not know yet whom it speaks to.
func exempt(procedure string) bool {
	return procedure == workerv1connect.WorkerServiceWorkerInfoProcedure || strings.HasPrefix(procedure, "/grpc.")
}

// Require makes a server interceptor that refuses, before the body is read, every call that does not mean this very process,
// and puts the process's own identity into every answer, refusals too. refused, which may be nil, is told of each refusal.
func Require(self *identityv1.Identity, refused func(procedure string, need *identityv1.Identity, missing []string)) connect.ServerInterceptor {
	return func(next connect.ServerFunc) connect.ServerFunc {
		return func(ctx context.Context, spec connect.Spec, stream connect.ServerStream) error {
			info, ok := connect.CallInfoForServerContext(ctx)
			if !ok {
				return connect.NewError(connect.CodeInternal, "call without headers")
			}
			write(info.ResponseHeader(), self)
			if exempt(spec.Procedure) {
				return next(ctx, spec, stream)
			}
			need, missing := read(info.RequestHeader())
			if !enforced || len(missing) == 0 && Same(need, self) {
				return next(ctx, spec, stream)
			}
			if refused != nil {
				refused(spec.Procedure, need, missing)
			}
			return Mismatch(need, self)
		}
	}
}

// Expect makes a client interceptor that tells the callee whom it is meant for, and gives no message to the caller unless
// that very process answered.
func Expect(need *identityv1.Identity) connect.ClientInterceptor {
	return func(next connect.ClientFunc) connect.ClientFunc {
		return func(ctx context.Context, spec connect.Spec) (connect.ClientStream, error) {
			info, ok := connect.CallInfoForClientContext(ctx)
			if !ok {
				return nil, connect.NewError(connect.CodeInternal, "call without headers")
			}
			write(info.RequestHeader(), need)
			stream, err := next(ctx, spec)
			if err != nil {
				return nil, err
			}
			return &checked{ClientStream: stream, info: info, need: need}, nil
		}
	}
}

// checked looks at who answered before it hands on the first message.
type checked struct {
	connect.ClientStream
	info *connect.CallInfo
	need *identityv1.Identity
	seen bool
}

func (c *checked) Receive(msg any) error {
	err := c.ClientStream.Receive(msg)
	if !enforced || c.seen || err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	have, missing := read(c.info.ResponseHeader())
	if len(missing) > 0 || !Same(c.need, have) {
		return Mismatch(c.need, have)
	}
	c.seen = true
	return err
}

// Mismatch is the refusal FAILED_PRECONDITION with a VersionMismatch detail. Its text names both sides.
func Mismatch(need, have *identityv1.Identity) *connect.Error {
	err := connect.Errorf(connect.CodeFailedPrecondition, "the call is meant for worker %s, this is worker %s", Describe(need), Describe(have))
	if detail, e := connectproto.NewErrorDetail(&identityv1.VersionMismatch{Need: need, Have: have}); e == nil {
		err = err.WithDetail(detail)
	}
	return err
}

// Describe is an identity for people: version, protocol, the beginnings of instance and capability digest.
func Describe(id *identityv1.Identity) string {
	short := func(s string) string {
		if s == "" {
			return "none"
		}
		return s[:min(len(s), 8)]
	}
	version := id.GetVersion()
	if version == "" {
		version = "unversioned"
	}
	var b strings.Builder
	b.WriteString(version)
	b.WriteString(" (protocol ")
	if id.GetProtocol() == 0 {
		b.WriteString("none")
	} else {
		b.WriteString(strconv.FormatUint(uint64(id.GetProtocol()), 10))
	}
	b.WriteString(", instance " + short(id.GetInstanceId()) + ", capabilities " + short(id.GetCapabilities()) + ")")
	return b.String()
}
