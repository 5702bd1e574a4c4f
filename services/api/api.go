// Package api is what both ends of the API share: which version each speaks, on every call. It must never know a query.
package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"sync"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"connectrpc.com/connect/v2/connectproto"

	apiv1 "github.com/fletchdb/fletch/gen/go/fletch/api/v1"
	"github.com/fletchdb/fletch/gen/go/fletch/api/v1/apiv1connect"
	"github.com/fletchdb/fletch/services/internal/identity"
)

// Headers are the header names that API clients send and see.
func Headers() []string {
	return []string{identity.HeaderAPI, identity.HeaderAPIMinimum, identity.HeaderWantVersion}
}

// CodeVersion is the code of the refusal of a client whose API version is not served.
const CodeVersion = "api_version"

// Server makes the interceptor of a server: every answer carries the API version and the least that is served, and a client
// below that is refused with an error that names both. A client that says no version is served, and so is one of a later minor
// version: what it does not find it hears of itself. called is told of each call, with the version as Label gives it.
func Server(called func(procedure, version string)) connect.ServerInterceptor {
	return versions{identity.APIMinimum(), identity.API()}.interceptor(called)
}

// versions are what a server serves.
type versions struct{ least, own identity.APIVersion }

func (v versions) interceptor(called func(procedure, version string)) connect.ServerInterceptor {
	return func(next connect.ServerFunc) connect.ServerFunc {
		return func(ctx context.Context, spec connect.Spec, stream connect.ServerStream) error {
			info, ok := connect.CallInfoForServerContext(ctx)
			if !ok {
				return next(ctx, spec, stream)
			}
			info.ResponseHeader().Set(identity.HeaderAPI, v.own.String())
			info.ResponseHeader().Set(identity.HeaderAPIMinimum, v.least.String())
			said := info.RequestHeader().Get(identity.HeaderAPI)
			called(spec.Procedure, Label(said))
			if said != "" && spec.Procedure != apiv1connect.VersionServiceGetVersionProcedure {
				if err := v.check(said); err != nil {
					return err
				}
			}
			return next(ctx, spec, stream)
		}
	}
}

// check refuses a client that says it speaks what is not served.
func (v versions) check(said string) error {
	is, ok := identity.ParseAPI(said)
	switch {
	case !ok:
		return refusal(connect.CodeInvalidArgument, "send MAJOR.MINOR, such as "+v.own.String()+", or leave it out", "the header fletch-api-version is not MAJOR.MINOR")
	case is.Major != v.own.Major:
		return v.otherMajor(fmt.Sprintf("the client speaks API version %s", is))
	case is.Minor < v.least.Minor:
		return refusal(connect.CodeFailedPrecondition, fmt.Sprintf("upgrade the client to a release with API version %s or later", v.least),
			fmt.Sprintf("the client speaks API version %s, this server serves %s to %s", is, v.least, v.own))
	}
	return nil
}

// otherMajor refuses a client of a major version that is not served, and names those that are.
func (v versions) otherMajor(who string) error {
	return refusal(connect.CodeFailedPrecondition, fmt.Sprintf("use a client of API version %d.%d to %d.x", v.own.Major, v.least.Minor, v.own.Major),
		fmt.Sprintf("%s, this server serves major version %d only", who, v.own.Major))
}

func refusal(code connect.Code, hint, message string) error {
	err := connect.NewError(code, message)
	if detail, e := connectproto.NewErrorDetail(&apiv1.ErrorDetail{Code: CodeVersion, Hint: hint}); e == nil {
		err = err.WithDetail(detail)
	}
	return err
}

// packageMajor is the major version in the path of a call of Fletch's API.
var packageMajor = regexp.MustCompile(`^/fletch\.api\.v([1-9][0-9]{0,4})\.`)

// elsewhere answers what no service does. A call of another major version than is served is refused with those that are, in the
// caller's own protocol, and not as if nobody had ever heard of it.
func elsewhere() http.Handler {
	own := versions{identity.APIMinimum(), identity.API()}
	writer := connecthttp.NewErrorWriter()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m := packageMajor.FindStringSubmatch(r.URL.Path)
		if m == nil || m[1] == strconv.FormatUint(uint64(own.own.Major), 10) || !writer.IsSupported(r) {
			http.NotFound(w, r)
			return
		}
		w.Header().Set(identity.HeaderAPI, own.own.String())
		w.Header().Set(identity.HeaderAPIMinimum, own.least.String())
		_ = writer.Write(w, r, own.otherMajor("the call is of API version "+m[1])) // to a caller who may have left
	})
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
			info.RequestHeader().Set("User-Agent", "fletch/"+identity.Release())
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
		n.notice(difference(said))
	}
	return err
}

// difference says what to expect of a server of another version.
func difference(said string) string {
	own := identity.API()
	v, ok := identity.ParseAPI(said)
	switch {
	case !ok || v.Major != own.Major:
		return fmt.Sprintf("this client speaks API version %s, the server %.16q", own, said)
	case v.Minor < own.Minor:
		return fmt.Sprintf("this client speaks API version %s, the server %s: what came since is missing until the server is upgraded", own, v)
	}
	return fmt.Sprintf("this client speaks API version %s, the server %s: what came since is not shown until this client is upgraded", own, v)
}
