package coordinator_test

import (
	"context"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"google.golang.org/protobuf/proto"

	"github.com/fletchdb/fletch/engine/sqlerr"
	identityv1 "github.com/fletchdb/fletch/gen/go/fletch/identity/v1"
	"github.com/fletchdb/fletch/services/client"
	"github.com/fletchdb/fletch/services/coordinator"
	"github.com/fletchdb/fletch/services/internal/clustertest"
	"github.com/fletchdb/fletch/services/internal/httpserve"
	"github.com/fletchdb/fletch/services/resolver"
)

// Statements that take minutes: one that gives rows all the time, one that gives none before its end, and one that keeps much in
// memory.
var long = map[string]string{
	"rows":   "SELECT a.*, b.l_comment FROM lineitem a, lineitem b",
	"silent": "SELECT count(*) FROM lineitem a, lineitem b WHERE a.l_comment < b.l_comment",
	"memory": "SELECT a.l_comment, b.l_orderkey, count(*) FROM lineitem a, lineitem b GROUP BY 1, 2",
}

// load adds up what workers hold.
func load(t *testing.T, urls ...string) *identityv1.Load {
	t.Helper()
	dialer := httpserve.NewDialer(&httpserve.Credentials{}, "")
	defer dialer.Close()
	sum := &identityv1.Load{}
	for _, url := range urls {
		info, err := resolver.Info(context.WithoutCancel(t.Context()), dialer, url)
		if err != nil {
			t.Fatal(err)
		}
		sum.Attempts += info.GetLoad().GetAttempts()
		sum.Tasks += info.GetLoad().GetTasks()
		sum.MemoryUsed += info.GetLoad().GetMemoryUsed()
	}
	return sum
}

// idle waits until workers hold nothing of any query: a second, and what a loaded machine may take on top.
func idle(t *testing.T, urls ...string) {
	t.Helper()
	begin := time.Now()
	until(t, func() bool { return proto.Equal(load(t, urls...), &identityv1.Load{}) })
	if took := time.Since(begin); took > 3*time.Second {
		t.Errorf("it took %s until all was given back", took)
	}
}

// busy waits until workers run something.
func busy(t *testing.T, urls ...string) {
	t.Helper()
	until(t, func() bool { return load(t, urls...).GetTasks() > 0 })
}

// Whatever ends a query – its client leaves, somebody cancels it, its time is over, its server stops – a second later no worker
// holds anything of it. It makes no difference whether the client reads.
func TestEveryEndReachesEveryTask(t *testing.T) {
	ends := map[string]struct {
		timeout time.Duration
		end     func(t *testing.T, c *client.Client, r *client.Result, leave, stop func())
		want    sqlerr.Code
	}{
		"the client leaves": {0, func(_ *testing.T, _ *client.Client, _ *client.Result, leave, _ func()) { leave() }, ""},
		"cancelled": {0, func(t *testing.T, c *client.Client, r *client.Result, _, _ func()) {
			begin := time.Now()
			if err := c.Cancel(t.Context(), r.QueryID); err != nil {
				t.Error(err)
			}
			if took := time.Since(begin); took > time.Second {
				t.Errorf("Cancel took %s", took)
			}
		}, sqlerr.Canceled},
		"statement time-out": {300 * time.Millisecond, func(*testing.T, *client.Client, *client.Result, func(), func()) {}, sqlerr.Timeout},
		"the server stops":   {0, func(_ *testing.T, _ *client.Client, _ *client.Result, _, stop func()) { stop() }, sqlerr.Draining},
	}
	for name, statement := range long {
		for how, end := range ends {
			for _, reads := range []bool{true, false} {
				if !reads && name != "rows" {
					continue
				}
				t.Run(name+"/"+how+map[bool]string{true: "", false: "/without reading"}[reads], func(t *testing.T) {
					urls := []string{startWorker(t, "v1").URL(), startWorker(t, "v1").URL()}
					co, err := coordinator.New(resolver.Static(urls), coordinator.WithTables(clustertest.TPCH(t)), coordinator.WithLogger(clustertest.Logger(t)), coordinator.WithStop(0))
					if err != nil {
						t.Fatal(err)
					}
					serving, stop := context.WithCancel(context.Background())
					served := make(chan error, 1)
					go func() { served <- co.Serve(serving) }()
					defer func() {
						stop()
						if err := <-served; err != nil {
							t.Error(err)
						}
					}()
					c := connectTo(t, co.URL())
					ctx, leave := context.WithCancel(t.Context())
					defer leave()
					r, err := c.Query(ctx, statement, client.Options{Timeout: end.timeout})
					if err != nil {
						t.Fatal(err)
					}
					defer r.Close()
					if end.timeout == 0 {
						busy(t, urls...)
					}
					failed := make(chan error, 1)
					if reads {
						go func() {
							_, err := clustertest.Collect(discarding{r})
							failed <- err
						}()
					}
					end.end(t, c, r, leave, stop)
					if reads {
						if err := <-failed; end.want != "" && sqlerr.CodeOf(err) != end.want {
							t.Errorf("the client is told %v", err)
						}
					} else if end.timeout > 0 {
						<-time.After(end.timeout)
					}
					idle(t, urls...)
					if !reads && end.want != "" {
						if _, err := clustertest.Collect(discarding{r}); err == nil {
							t.Error("the result looks complete")
						}
					}
				})
			}
		}
	}
}

// discarding keeps no row.
type discarding struct{ *client.Result }

func (d discarding) Next() (arrow.RecordBatch, error) {
	rec, err := d.Result.Next()
	if err != nil {
		return nil, err
	}
	return rec.NewSlice(0, 0), nil
}

// A client that stops reading is dropped after a while, and its query with it.
func TestClientThatStopsReading(t *testing.T) {
	url := startWorker(t, "v1").URL()
	c := over(t, []string{url}, coordinator.WithPatience(time.Second))
	r, err := c.Query(t.Context(), long["rows"], client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	busy(t, url)
	until(t, func() bool { return load(t, url).GetAttempts() == 0 })
	if _, err := clustertest.Collect(discarding{r}); err == nil {
		t.Error("the result looks complete")
	}
	idle(t, url)
}
