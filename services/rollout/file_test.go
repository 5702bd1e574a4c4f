package rollout

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func open(t *testing.T, path string, initial Policy) *Store {
	t.Helper()
	s, err := Open(path, initial)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Two coordinators share a file: what one sets the other reads, what neither has seen is not overwritten.
func TestShared(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rollout.json")
	a, b := open(t, path, Policy{}), open(t, path, Policy{Mode: Pin, Version: "v1"})
	if p, _ := b.Policy(); p.Mode != Pin || p.Revision != 0 {
		t.Errorf("before there is a file: %v", p)
	}
	set, err := a.Set(t.Context(), Policy{Mode: Pin, Version: "v2", Ramp: Ramp{"v3", 20}})
	if err != nil || set.Revision != 1 {
		t.Fatal(set, err)
	}
	if !b.Refresh() || b.Refresh() {
		t.Error("a change is seen once")
	}
	if p, err := b.Policy(); err != nil || p.String() != "pin v2, ramp v3 20%" || p.Revision != 1 || p.Changed.IsZero() {
		t.Errorf("the other one has %v, %v", p, err)
	}
	if _, err := b.Set(t.Context(), Policy{Revision: 1, Held: &Key{Version: "v1", Protocol: 2}}); err != nil {
		t.Fatal(err)
	}
	var conflict *Conflict
	if _, err := a.Set(t.Context(), Policy{Revision: 1}); !errors.As(err, &conflict) || conflict.Now.Revision != 2 || conflict.Now.Held == nil {
		t.Errorf("a policy that nobody saw was overwritten: %v", err)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 2 { // the file and its lock
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// Of many who set at once one succeeds per revision, and the file is whole at every moment.
func TestContended(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rollout.json")
	var wg sync.WaitGroup
	won := make(chan int, 64)
	for i := range 8 {
		wg.Go(func() {
			s := open(t, path, Policy{})
			for range 8 {
				if s.Refresh(); s.broken != nil {
					t.Errorf("the file is broken: %v", s.broken)
				}
				p, _ := s.Policy()
				if set, err := s.Set(t.Context(), Policy{Revision: p.Revision}); err == nil {
					won <- int(set.Revision)
				} else if conflict := (*Conflict)(nil); !errors.As(err, &conflict) {
					t.Errorf("writer %d: %v", i, err)
				}
			}
		})
	}
	wg.Wait()
	close(won)
	seen := map[int]bool{}
	for r := range won {
		if seen[r] {
			t.Errorf("revision %d was given twice", r)
		}
		seen[r] = true
	}
	if !seen[len(seen)] {
		t.Errorf("revisions have gaps: %v", seen)
	}
}

// A file that nobody can follow changes nothing, and is told of; at the start it is an error.
func TestBroken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rollout.json")
	put(t, path, `{"revision": "7", "pin": {"version": "v1"}}`)
	s := open(t, path, Policy{})
	for _, text := range []string{
		"", "{", `{"pin": {}}`, `{"pin": {"version": "v\u0001"}}`, `{"unheard": 1}`, `{"follow": {}, "pin": {"version": "v1"}}`, `{"ramp": {"percent": 5}}`,
		`{"ramp": {"version": "v2", "percent": 101}}`, `{"pin": {"version": "v1"}, "ramp": {"version": "v1", "percent": 1}}`, `{"held": {}}`, `{"revision": -1}`,
		`[]`, strings.Repeat(" ", maxFile+1),
	} {
		put(t, path, text)
		s.Refresh()
		if p, err := s.Policy(); err == nil || p.String() != "pin v1" || p.Revision != 7 {
			t.Errorf("%.40q: %v, %v", text, p, err)
		}
		if _, err := Open(path, Policy{}); err == nil {
			t.Errorf("%.40q: it starts", text)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	s.Refresh()
	if p, err := s.Policy(); err == nil || p.Version != "v1" {
		t.Errorf("a file that went: %v, %v", p, err)
	}
	put(t, path, `{"revision": 7, "pin": {"version": "v1"}}`)
	if !s.Refresh() {
		t.Error("that it is whole again is no news")
	}
	if _, err := s.Policy(); err != nil {
		t.Error(err)
	}
	// Setting a policy mends the file.
	put(t, path, "{")
	s.Refresh()
	if _, err := s.Set(t.Context(), Policy{Revision: 7, Mode: Match}); err != nil {
		t.Fatal(err)
	}
	if p, err := open(t, path, Policy{}).Policy(); err != nil || p.Mode != Match || p.Revision != 8 {
		t.Errorf("%v, %v", p, err)
	}
}

// A disk that hangs holds up whoever reads the file, and no query: the last policy stays in force.
func TestHangingDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rollout.json")
	put(t, path, `{"pin": {"version": "v1"}}`)
	s := open(t, path, Policy{})
	if err := errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600)); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() { s.Refresh() })
	w, err := os.OpenFile(path, os.O_WRONLY, 0) // returns once the file is being read, which has no end before w is closed
	if err != nil {
		t.Fatal(err)
	}
	told := make(chan Policy, 1)
	wg.Go(func() {
		p, _ := s.Policy()
		told <- p
	})
	select {
	case p := <-told:
		if p.Version != "v1" {
			t.Errorf("the policy is %s", p)
		}
	case <-time.After(10 * time.Second):
		t.Error("the policy waits for the disk")
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	wg.Wait()
}

func TestMemory(t *testing.T) {
	s := open(t, "", Policy{Mode: Pin, Version: "v1"})
	if p, err := s.Set(t.Context(), Policy{Mode: Match}); err != nil || p.Revision != 1 || s.Refresh() {
		t.Error(p, err)
	}
	if _, err := Open("", Policy{Mode: Pin}); err == nil {
		t.Error("an empty version is pinned")
	}
	if _, err := Open(filepath.Join(t.TempDir(), "no", "such"), Policy{}); err == nil {
		t.Error("a folder that is not there")
	}
}

// Whoever waits for the lock waits as long as the caller does.
func TestLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rollout.json")
	unlock, err := lock(t.Context(), path+".lock")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := open(t, path, Policy{}).Set(ctx, Policy{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	unlock()
	if _, err := open(t, path, Policy{}).Set(t.Context(), Policy{}); err != nil {
		t.Error(err)
	}
}
