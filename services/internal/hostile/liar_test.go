package hostile_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/fletchdb/fletch/engine/sqlerr"
	apiv1 "github.com/fletchdb/fletch/gen/go/fletch/api/v1"
	identityv1 "github.com/fletchdb/fletch/gen/go/fletch/identity/v1"
	"github.com/fletchdb/fletch/services/client"
	"github.com/fletchdb/fletch/services/coordinator"
	"github.com/fletchdb/fletch/services/internal/clustertest"
	"github.com/fletchdb/fletch/services/internal/hostile"
	"github.com/fletchdb/fletch/services/worker"
)

// spread has stages on every worker, with exchanges between them.
const (
	spread     = "SELECT l_returnflag, count(*) FROM lineitem JOIN orders ON l_orderkey = o_orderkey GROUP BY 1 ORDER BY 1"
	spreadRows = "[[A 14876] [N 30397] [R 14902]]"
)

func run(ctx context.Context, c *client.Client, statement string, o client.Options) (string, *apiv1.QueryEnd, error) {
	r, err := c.Query(ctx, statement, o)
	if err != nil {
		return "", nil, err
	}
	defer r.Close()
	rows, err := clustertest.Collect(r)
	return fmt.Sprint(rows), r.End, err
}

func startWorker(t *testing.T) *worker.Worker {
	t.Helper()
	return clustertest.Worker(t, worker.WithVersion("v1"), worker.WithReadRoots(clustertest.TPCH(t)))
}

// over is a client of a coordinator over the workers at urls.
func over(t *testing.T, urls ...string) *client.Client {
	t.Helper()
	return connect(t, clustertest.Coordinator(t, urls, coordinator.WithTables(clustertest.TPCH(t))).URL())
}

// all sends frames as they are.
func all(w io.Writer, frames [][]byte) { _, _ = w.Write(bytes.Join(frames, nil)) }

// What comes from a worker that lies about a stream is never taken for rows: the query runs on another, or fails and names it.
func TestStreamsThatLie(t *testing.T) {
	t.Parallel()
	behind, good := startWorker(t), startWorker(t)
	for _, tc := range []struct {
		name string
		lie  func(w io.Writer, r *http.Request, frames [][]byte) string
	}{
		{"nothing", func(io.Writer, *http.Request, [][]byte) string { return "0" }},
		{"no end", func(w io.Writer, _ *http.Request, frames [][]byte) string {
			all(w, frames[:len(frames)-1])
			return "0"
		}},
		{"cut between messages", func(w io.Writer, _ *http.Request, frames [][]byte) string {
			all(w, frames[:len(frames)-1])
			return ""
		}},
		{"an end in the middle of a message", func(w io.Writer, _ *http.Request, frames [][]byte) string {
			whole := bytes.Join(frames, nil)
			_, _ = w.Write(whole[:len(whole)-len(frames[len(frames)-1])-1])
			return "0"
		}},
		{"a batch twice", func(w io.Writer, _ *http.Request, frames [][]byte) string {
			all(w, frames[:len(frames)-1])
			all(w, frames[max(0, len(frames)-2):])
			return "0"
		}},
		{"a batch less", func(w io.Writer, _ *http.Request, frames [][]byte) string {
			if len(frames) < 3 {
				return ""
			}
			all(w, frames[:1])
			all(w, frames[2:])
			return "0"
		}},
		{"two schemas", func(w io.Writer, _ *http.Request, frames [][]byte) string {
			all(w, frames[:1])
			all(w, frames)
			return "0"
		}},
		{"rows without a schema", func(w io.Writer, _ *http.Request, frames [][]byte) string {
			all(w, frames[1:])
			return "0"
		}},
		{"a message that says it has 4 GiB", func(w io.Writer, _ *http.Request, frames [][]byte) string {
			all(w, frames[:1])
			_, _ = w.Write([]byte{0, 0xff, 0xff, 0xff, 0xff})
			all(w, frames[1:])
			return "0"
		}},
		{"a message longer than what is in it", func(w io.Writer, _ *http.Request, frames [][]byte) string {
			for _, f := range frames {
				_, _ = w.Write(hostile.Frame(append(bytes.Clone(f[5:]), make([]byte, 1<<10)...)))
			}
			return "0"
		}},
		{"messages cut short, their lengths adjusted", func(w io.Writer, _ *http.Request, frames [][]byte) string {
			for _, f := range frames {
				_, _ = w.Write(hostile.Frame(f[5 : 5+(len(f)-5)*2/3]))
			}
			return "0"
		}},
		{"another language", func(w io.Writer, _ *http.Request, _ [][]byte) string {
			_, _ = io.WriteString(w, strings.Repeat("<html>", 1000))
			return "0"
		}},
		{"a status that nobody knows", func(w io.Writer, _ *http.Request, frames [][]byte) string {
			all(w, frames[:len(frames)-1])
			return "99"
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			liar := hostile.Liar{Stream: tc.lie}.Serve(t, behind.URL())
			begin := time.Now()
			rows, _, err := run(t.Context(), over(t, liar), spread, client.Options{})
			if err == nil || !strings.Contains(err.Error(), liar) && !strings.Contains(err.Error(), behind.URL()) {
				t.Errorf("with no other worker: %s, %v", rows, err)
			}
			rows, end, err := run(t.Context(), over(t, good.URL(), liar), spread, client.Options{})
			if err != nil || rows != spreadRows || end.GetAttempts() != 2 {
				t.Errorf("with another worker: %s, %v, %v", rows, end, err)
			}
			if took := time.Since(begin); took > 20*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
}

// A worker that never ends a stream is ended with its query, whoever reads it, and what it sends costs nobody memory.
func TestStreamsWithoutEnd(t *testing.T) {
	t.Parallel()
	behind := startWorker(t)
	left := make(chan struct{}, 100)
	for _, tc := range []struct {
		name string
		lie  func(w io.Writer, r *http.Request, frames [][]byte) string
	}{
		{"the same rows again and again", func(w io.Writer, r *http.Request, frames [][]byte) string {
			all(w, frames[:1])
			for r.Context().Err() == nil {
				if len(frames) > 2 {
					all(w, frames[1:2])
				}
				all(w, frames[1:len(frames)-1])
			}
			left <- struct{}{}
			return ""
		}},
		{"silence", func(w io.Writer, r *http.Request, frames [][]byte) string {
			all(w, frames[:1])
			_ = http.NewResponseController(w.(http.ResponseWriter)).Flush()
			<-r.Context().Done()
			left <- struct{}{}
			return ""
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			liar := hostile.Liar{Stream: tc.lie}.Serve(t, behind.URL())
			for who, c := range map[string]*client.Client{"read by the coordinator": over(t, liar), "read by another worker": over(t, startWorker(t).URL(), liar)} {
				before := heap()
				var p peak
				stop := p.watch()
				begin := time.Now()
				_, _, err := run(t.Context(), c, spread, client.Options{Timeout: time.Second})
				stop()
				if code := sqlerr.CodeOf(err); code != sqlerr.Timeout {
					t.Errorf("%s: %v (%s)", who, err, code)
				}
				if took := time.Since(begin); took > 10*time.Second {
					t.Errorf("%s: it took %s", who, took)
				}
				<-left
				if grown := p.bytes.Load() - before; grown > 128<<20 {
					t.Errorf("%s: the heap grew by %d MiB", who, grown>>20)
				}
			}
		})
	}
}

// Workers that answer late, change their mind or live in another hour hold up nobody.
func TestWorkersThatAreOdd(t *testing.T) {
	t.Parallel()
	var turns atomic.Int64
	odd := func(change func(*http.Request, *identityv1.WorkerInfoResponse)) hostile.Liar {
		return hostile.Liar{Info: change}
	}
	for _, tc := range []struct {
		name string
		liar hostile.Liar
		both bool // it is a good worker all the same
	}{
		{"it says who it is after 10 s", odd(func(r *http.Request, _ *identityv1.WorkerInfoResponse) {
			select {
			case <-time.After(10 * time.Second):
			case <-r.Context().Done():
			}
		}), false},
		{"it is ready and drains in turn", odd(func(_ *http.Request, i *identityv1.WorkerInfoResponse) {
			i.State = identityv1.WorkerState(1 + turns.Add(1)%2)
		}), true},
		{"it is another one each time", odd(func(_ *http.Request, i *identityv1.WorkerInfoResponse) {
			i.InstanceId = fmt.Sprintf("%032x", turns.Add(1))
		}), false},
		{"it is ready, and takes nothing", hostile.Liar{Watch: func() bool { return false }}, false},
		{"it takes every other attempt", hostile.Liar{Watch: func() bool { return turns.Add(1)%2 == 0 }}, true},
		{"its clock is an hour ahead", odd(func(_ *http.Request, i *identityv1.WorkerInfoResponse) {
			i.StartedAt = timestamppb.New(i.GetStartedAt().AsTime().Add(time.Hour))
		}), true},
		{"its clock is an hour behind", odd(func(_ *http.Request, i *identityv1.WorkerInfoResponse) {
			i.StartedAt = timestamppb.New(i.GetStartedAt().AsTime().Add(-time.Hour))
		}), true},
		{"it has never heard of clocks", odd(func(_ *http.Request, i *identityv1.WorkerInfoResponse) { i.StartedAt = nil }), true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			good := startWorker(t)
			liar := tc.liar.Serve(t, startWorker(t).URL())
			c := over(t, good.URL(), liar)
			begin := time.Now()
			for range 20 {
				rows, end, err := run(t.Context(), c, spread, client.Options{})
				if err != nil || rows != spreadRows || end.GetAttempts() != 1 {
					t.Fatalf("%s, %v, %v", rows, end, err)
				}
				for _, w := range end.GetWorkers() {
					if w.GetUrl() == liar && !tc.both {
						t.Errorf("it was used: %v", end)
					}
				}
			}
			if took := time.Since(begin); took > 16*time.Second { // a first answer is waited for at most two seconds; a loaded machine
				t.Errorf("it took %s", took)
			}
			if _, err := c.Workers(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// What a worker says of itself is shown as valid UTF-8, wherever it is cut: one cannot hide the others.
func TestUnreadableNames(t *testing.T) {
	var urls []string
	for _, change := range []func(*identityv1.WorkerInfoResponse){
		func(i *identityv1.WorkerInfoResponse) { i.Version = strings.Repeat("ä", 1000) },
		func(i *identityv1.WorkerInfoResponse) { i.Version = "x" + strings.Repeat("ä", 1000) },
		func(i *identityv1.WorkerInfoResponse) { i.Version, i.Build = "", strings.Repeat("ä", 20) },
	} {
		liar := hostile.Liar{Info: func(_ *http.Request, i *identityv1.WorkerInfoResponse) { change(i) }}
		urls = append(urls, liar.Serve(t, startWorker(t).URL()))
	}
	c := over(t, urls...)
	if workers, err := c.Workers(t.Context()); err != nil || len(workers) != len(urls) {
		t.Errorf("%v, %v", workers, err)
	}
	if r, err := c.Rollout(t.Context()); err != nil || len(r.GetCohorts()) != 1 {
		t.Errorf("%v, %v", r, err)
	}
}
