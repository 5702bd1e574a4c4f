// Package api is what both ends of the API share: which version each speaks, on every call. It must never know a query.
package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"connectrpc.com/connect/v2"

	"github.com/fletchdb/fletch/gen/go/fletch/api/v1/apiv1connect"
	"github.com/fletchdb/fletch/services/internal/identity"
)

// Headers are the header names that API clients send and see.
func Headers() []string { return []string{identity.HeaderAPI, identity.HeaderAPIMinimum} }

// Server makes the interceptor of a server: every answer carries the API version and the least that is served, and a client
// below that is refused with an error that names both. A client that says no version is served. called is told of each call, with
// the version as Label gives it.
func Server(called func(procedure, version string)) connect.ServerInterceptor {
	return func(next connect.ServerFunc) connect.ServerFunc {
		return func(ctx context.Context, spec connect.Spec, stream connect.ServerStream) error {
			info, ok := connect.CallInfoForServerContext(ctx)
			if !ok {
				return next(ctx, spec, stream)
			}
			info.ResponseHeader().Set(identity.HeaderAPI, identity.API().String())
			info.ResponseHeader().Set(identity.HeaderAPIMinimum, identity.APIMinimum().String())
			said := info.RequestHeader().Get(identity.HeaderAPI)
			called(spec.Procedure, Label(said))
			if said != "" && spec.Procedure != apiv1connect.VersionServiceGetVersionProcedure {
				if err := check(said); err != nil {
					return err
				}
			}
			return next(ctx, spec, stream)
		}
	}
}

// Label is what a client said of its version, as one of few values, since clients may say anything: the version itself up to this
// build's, else "newer" (of the major version that is served), "other" (of none that is), "invalid", or "none".
func Label(said string) string {
	v, ok := identity.ParseAPI(said)
	own := identity.API()
	switch {
	case said == "":
		return "none"
	case !ok:
		return "invalid"
	case v.Major != own.Major:
		return "other"
	case v.Minor > own.Minor:
		return "newer"
	}
	return v.String()
}

func check(said string) error {
	v, ok := identity.ParseAPI(said)
	least, own := identity.APIMinimum(), identity.API()
	switch {
	case !ok:
		return connect.NewError(connect.CodeInvalidArgument, "the header fletch-api-version is not MAJOR.MINOR")
	case v.Major != own.Major:
		return connect.Errorf(connect.CodeFailedPrecondition, "the client speaks API version %s, this server speaks major version %d only: use a client of that major version", v, own.Major)
	case v.Minor < least.Minor:
		return connect.Errorf(connect.CodeFailedPrecondition, "the client speaks API version %s, this server serves %s to %s: upgrade the client", v, least, own)
	}
	return nil
}

// Client makes the interceptor of a client: it says the client's API version, and calls differ, once, with a sentence for people
// when a server's is another.
func Client(differ func(string)) connect.ClientInterceptor {
	var once sync.Once
	return func(next connect.ClientFunc) connect.ClientFunc {
		return func(ctx context.Context, spec connect.Spec) (connect.ClientStream, error) {
			info, ok := connect.CallInfoForClientContext(ctx)
			if !ok {
				return next(ctx, spec)
			}
			info.RequestHeader().Set(identity.HeaderAPI, identity.API().String())
			stream, err := next(ctx, spec)
			if err != nil {
				return nil, err
			}
			return &noticing{ClientStream: stream, info: info, notice: func(said string) {
				once.Do(func() { differ(said) })
			}}, nil
		}
	}
}

type noticing struct {
	connect.ClientStream
	info   *connect.CallInfo
	notice func(string)
	seen   bool
}

func (n *noticing) Receive(msg any) error {
	err := n.ClientStream.Receive(msg)
	if n.seen || err != nil && errors.Is(err, io.EOF) {
		return err
	}
	n.seen = true
	if said := n.info.ResponseHeader().Get(identity.HeaderAPI); said != "" && said != identity.API().String() {
		n.notice(fmt.Sprintf("this client speaks API version %s, the server speaks %.16q: some things may be missing until both are the same release", identity.API(), said))
	}
	return err
}
