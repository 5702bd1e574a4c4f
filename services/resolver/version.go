package resolver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"

	"github.com/fletchdb/fletch/services/internal/httpserve"
)

// WorkerHasVersion asks the worker at url who it is, and tells whether its user's version is want: for resolvers that shall name
// only workers of one version. It takes at most two seconds. An empty want is an error, since an unversioned worker is no version;
// so is a worker that does not answer. The answer is true of the moment only: that no query mixes versions is what the check on
// every call is for.
//
// The worker is called without TLS and secret; Security.WorkerHasVersion is for others.
func WorkerHasVersion(ctx context.Context, url, want string) (bool, error) {
	return Security{}.WorkerHasVersion(ctx, url, want)
}

// Security is what is needed to call workers that ask for certificates or a secret.
type Security httpserve.Security

// WorkerHasVersion is the function of that name, with s's certificates and secret.
func (s Security) WorkerHasVersion(ctx context.Context, url, want string) (bool, error) {
	if want == "" {
		return false, errors.New("an empty version is no version to look for")
	}
	url, err := CheckURL(url)
	if err != nil {
		return false, err
	}
	credentials, err := httpserve.Security(s).Load()
	if err != nil {
		return false, err
	}
	d := httpserve.NewDialer(credentials, credentials.Secret)
	defer d.Close()
	info, err := Info(ctx, d, url)
	if err != nil {
		return false, err
	}
	return info.GetVersion() == want, nil
}

// OfVersion is r's workers of one version: it asks each who it is, all at a time, whenever it resolves. Workers that do not answer
// are left out.
type OfVersion struct {
	Resolver Resolver
	Version  string // not empty
	Security Security
}

// maxAsked bounds how many workers are asked at once.
const maxAsked = 64

// Resolve gives the workers of the version.
func (o OfVersion) Resolve(ctx context.Context) ([]string, error) {
	urls, err := o.Resolver.Resolve(ctx)
	if err != nil {
		return nil, err
	}
	if o.Version == "" {
		return nil, errors.New("an empty version is no version to look for")
	}
	has := make([]bool, len(urls))
	slots := make(chan struct{}, maxAsked)
	var wg sync.WaitGroup
	for i, url := range urls {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			has[i], _ = o.Security.WorkerHasVersion(ctx, url, o.Version)
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	var out []string
	for i, url := range urls {
		if has[i] {
			out = append(out, url)
		}
	}
	return out, nil
}

// SRV is the resolver of a DNS service name, such as _fletch._tcp.workers.example: every target with its port is a worker.
type SRV struct {
	Name   string
	Scheme string // http or https
}

// Resolve looks the name up.
func (s SRV) Resolve(ctx context.Context) ([]string, error) {
	_, targets, err := net.DefaultResolver.LookupSRV(ctx, "", "", s.Name)
	if err != nil {
		return nil, fmt.Errorf("look up workers: %w", err)
	}
	urls := make([]string, len(targets))
	for i, t := range targets {
		urls[i] = s.Scheme + "://" + net.JoinHostPort(strings.TrimSuffix(t.Target, "."), fmt.Sprint(t.Port))
	}
	slices.Sort(urls)
	return urls, nil
}

// Kubernetes is the resolver of a headless service: every pod behind it, ready or not, is a worker.
func Kubernetes(service, namespace string, port int, scheme string) Resolver {
	return DNS{Name: fmt.Sprintf("%s.%s.svc.cluster.local:%d", service, namespace, port), Scheme: scheme}
}
