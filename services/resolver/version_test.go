package resolver_test

import (
	"context"
	"slices"
	"testing"

	"github.com/fletchdb/fletch/services/internal/clustertest"
	"github.com/fletchdb/fletch/services/resolver"
	"github.com/fletchdb/fletch/services/worker"
)

func TestWorkerHasVersion(t *testing.T) {
	v1 := clustertest.Worker(t, worker.WithVersion("v1"))
	bare := clustertest.Worker(t)
	for _, tc := range []struct {
		name, url, want string
		has, fails      bool
	}{
		{"its version", v1.URL(), "v1", true, false},
		{"another", v1.URL(), "v2", false, false},
		{"a prefix", v1.URL(), "v", false, false},
		{"a worker without one", bare.URL(), "v1", false, false},
		{"no version", bare.URL(), "", false, true},
		{"no URL", "127.0.0.1", "v1", false, true},
		{"nobody there", "http://127.0.0.1:1", "v1", false, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			has, err := resolver.WorkerHasVersion(context.Background(), tc.url, tc.want)
			if has != tc.has || (err != nil) != tc.fails {
				t.Errorf("%v, %v", has, err)
			}
		})
	}
}

func TestOfVersion(t *testing.T) {
	v1, v2, other := clustertest.Worker(t, worker.WithVersion("v1")), clustertest.Worker(t, worker.WithVersion("v2")), clustertest.Worker(t, worker.WithVersion("v1"))
	all := resolver.Static{v1.URL(), v2.URL(), other.URL(), "http://127.0.0.1:1"}
	got, err := resolver.OfVersion{Resolver: all, Version: "v1"}.Resolve(context.Background())
	if err != nil || !slices.Equal(got, []string{v1.URL(), other.URL()}) {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := (resolver.OfVersion{Resolver: all}).Resolve(context.Background()); err == nil {
		t.Error("no version is a version")
	}
}
