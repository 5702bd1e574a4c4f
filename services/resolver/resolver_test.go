package resolver_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/fletchdb/fletch/services/internal/clustertest"
	"github.com/fletchdb/fletch/services/internal/httpserve"
	"github.com/fletchdb/fletch/services/resolver"
	"github.com/fletchdb/fletch/services/worker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "workers")
	for _, tc := range []struct {
		text, fails string
		want        []string
	}{
		{"", "", nil},
		{"# ours\n\nhttp://a:1\n  https://b:2/  \n", "", []string{"http://a:1", "https://b:2"}},
		{"http://a:1\nb:2\n", "line 2", nil},
		{"http://a:1/path\n", "line 1", nil},
	} {
		if err := os.WriteFile(path, []byte(tc.text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := resolver.File(path).Resolve(t.Context())
		if tc.fails == "" && (err != nil || !slices.Equal(got, tc.want)) || tc.fails != "" && (err == nil || !strings.Contains(err.Error(), tc.fails)) {
			t.Errorf("%q: %v, %v", tc.text, got, err)
		}
	}
	if _, err := resolver.File(path + "x").Resolve(t.Context()); err == nil {
		t.Error("a file that is not there")
	}
}

func TestDNS(t *testing.T) {
	got, err := resolver.DNS{Name: "localhost:8471", Scheme: "http"}.Resolve(t.Context())
	if err != nil || !slices.Contains(got, "http://127.0.0.1:8471") {
		t.Errorf("%v, %v", got, err)
	}
	for _, name := range []string{"localhost", "no-such-host.invalid:1"} {
		if got, err := (resolver.DNS{Name: name, Scheme: "http"}).Resolve(t.Context()); err == nil {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestCheckURL(t *testing.T) {
	for in, want := range map[string]string{
		"http://127.0.0.1:8471": "http://127.0.0.1:8471", "https://w/": "https://w", "HTTP://w:1": "http://w:1",
		"": "", "w:1": "", "ftp://w": "", "http://": "", "http://w/x": "", "http://w?x": "", "http://u@w": "", "http://w#x": "", "http://w\n": "",
	} {
		if got, err := resolver.CheckURL(in); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
}

// list is a resolver whose answer a test changes.
type list struct {
	mu   sync.Mutex
	urls []string
	err  error
}

func (l *list) set(err error, urls ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.urls, l.err = urls, err
}

func (l *list) Resolve(context.Context) ([]string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.urls, l.err
}

// The view follows the list, keeps what it knew where there is none, and no worker waits for one that hangs.
func TestPoller(t *testing.T) {
	first, second := clustertest.Worker(t, worker.WithVersion("v1")), clustertest.Worker(t, worker.WithVersion("v2"))
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	hangs := "http://" + silent.Addr().String()

	dialer := httpserve.NewDialer(&httpserve.Credentials{}, "")
	l := &list{urls: []string{first.URL()}}
	p := resolver.NewPoller(l, dialer, slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.Run(ctx)
	}()
	defer func() {
		stop()
		<-done
		dialer.Close()
	}()
	view := func() (out map[string]resolver.Worker) {
		workers, _ := p.Workers(t.Context())
		out = map[string]resolver.Worker{}
		for _, w := range workers {
			out[w.URL] = w
		}
		return out
	}
	await := func(what string, limit time.Duration, ok func(map[string]resolver.Worker) bool) {
		t.Helper()
		over := time.After(limit)
		for {
			changed := p.Changed()
			if ok(view()) {
				return
			}
			select {
			case <-changed:
			case <-over:
				t.Fatalf("waited in vain until %s: %v", what, view())
			}
		}
	}
	await("the first is known", 5*time.Second, func(v map[string]resolver.Worker) bool { return len(v) == 1 && v[first.URL()].Ready() })

	l.set(nil, first.URL(), hangs, second.URL())
	await("the second is known beside one that hangs", 1900*time.Millisecond, func(v map[string]resolver.Worker) bool {
		return v[second.URL()].Err == nil && v[second.URL()].Identity.GetVersion() == "v2" && v[second.URL()].Ready()
	})
	await("the one that hangs is known as such", 5*time.Second, func(v map[string]resolver.Worker) bool {
		w, ok := v[hangs]
		return ok && w.Err != nil && !w.Ready()
	})

	l.set(errors.New("no list today"))
	p.Suspect(second.URL(), second.Instance(), errors.New("it broke"))
	await("the second answered again without a list", 5*time.Second, func(v map[string]resolver.Worker) bool { return v[second.URL()].Err == nil })
	await("a resolver that fails is told of", 5*time.Second, func(map[string]resolver.Worker) bool {
		_, err := p.Workers(t.Context())
		return err != nil
	})
	p.Suspect(first.URL(), "another instance", errors.New("it broke"))
	if w := view()[first.URL()]; w.Err != nil {
		t.Errorf("a worker that was replaced is suspected: %v", w.Err)
	}

	l.set(nil, second.URL())
	await("only the second is left", 5*time.Second, func(v map[string]resolver.Worker) bool { return len(v) == 1 && v[second.URL()].Ready() })
}
