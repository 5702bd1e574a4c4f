package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"
)

var crash = []drill{
	{"crash", "a coordinator that logs is killed under load, in the middle of queries", 50, 3, crashCoordinator},
}

// Clients of a coordinator that is going to be killed: those of small queries, and those of queries that are caught in the middle.
const (
	smallClients = 8
	longClients  = 1
)

// endless takes far longer than a coordinator is let live.
const endless = "SELECT count(*) FROM lineitem a, lineitem b WHERE a.l_comment < b.l_comment"

// crashCoordinator kills a coordinator under load, starts another on the same log, and asks the log what it knows: every query that
// a client saw finished, and of all others that they are crashed.
func crashCoordinator(ctx context.Context, c *cluster, times int) (r result, err error) {
	dir, err := os.MkdirTemp("", "fletch-drill-log-")
	if err != nil {
		return r, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	var urls []string
	for _, w := range c.workers {
		urls = append(urls, w.url)
	}
	plain := c.coordinator
	defer func() { c.coordinator = plain }()
	seen := map[string]bool{}
	for i := range times {
		c.coordinator, err = start(c.bin, "serve", "--listen", "127.0.0.1:0", "--tables", c.data, "--workers", strings.Join(urls, ","), "--event-log", dir)
		if err != nil {
			return r, err
		}
		told, err := c.underLoad(ctx, 20+rand.IntN(200))
		c.coordinator.kill()
		if err != nil {
			return r, err
		}
		maps.Copy(seen, told)
		if err := r.askLog(ctx, c, dir, seen, (i+1)*longClients); err != nil {
			return r, err
		}
		if len(r.Faults) > 10 {
			break
		}
	}
	return r, nil
}

// underLoad runs queries until enough have ended and long ones are on their way, and gives those that ended well or badly and are said
// to be logged. The clients are still there when it returns; they go when the coordinator does.
func (c *cluster) underLoad(ctx context.Context, enough int) (map[string]bool, error) {
	if err := c.settle(ctx); err != nil {
		return nil, err
	}
	var (
		mu   sync.Mutex
		told = map[string]bool{}
	)
	count := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(told)
	}
	url := c.coordinator.url
	for range longClients {
		go func() { _, _ = fetch(ctx, url, endless) }()
	}
	for n := range smallClients {
		go func() {
			for q := 0; ; q++ {
				statement := fmt.Sprintf("SELECT n_name FROM nation WHERE n_nationkey = %d", q%25)
				if (q+n)%10 == 9 {
					statement = "SELECT 1 / (n_nationkey - 3) FROM nation" // fails, on a worker
				}
				id, err := fetch(ctx, url, statement)
				if err != nil {
					return
				}
				mu.Lock()
				told[id] = true
				mu.Unlock()
			}
		}()
	}
	if err := c.busy(ctx); err != nil {
		return nil, err
	}
	err := until(ctx, 30*time.Second, "enough queries have ended", func() bool { return count() >= enough })
	mu.Lock()
	defer mu.Unlock()
	return maps.Clone(told), err
}

// fetch runs a statement and gives its id once its end has come and is said to be logged. A failed one's end is its error.
func fetch(ctx context.Context, url, statement string) (id string, err error) {
	ctx, cancel := context.WithTimeout(ctx, queryLimit)
	defer cancel()
	body, err := json.Marshal(map[string]string{"statement": statement})
	if err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/fletch.api.v1.QueryService/Fetch", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = res.Body.Close() }()
	var got struct {
		QueryID string
		End     *struct{ Logged bool }
		Details []struct{ Debug struct{ QueryID string } }
	}
	if err := json.NewDecoder(res.Body).Decode(&got); err != nil {
		return "", err
	}
	switch {
	case got.End != nil && got.End.Logged:
		return got.QueryID, nil
	case len(got.Details) > 0 && got.Details[0].Debug.QueryID != "":
		return got.Details[0].Debug.QueryID, nil
	}
	return "", fmt.Errorf("%s: %s without a logged end", statement, res.Status)
}

// askLog compares what the log says with what clients saw.
func (r *result) askLog(ctx context.Context, c *cluster, dir string, seen map[string]bool, long int) error {
	ask := func(args ...string) ([]byte, error) {
		out, err := exec.CommandContext(ctx, c.bin, append([]string{"log", args[0], dir, "--format", "json"}, args[1:]...)...).Output()
		if err != nil {
			return nil, fmt.Errorf("fletch log %s: %w: %s", args[0], err, out)
		}
		return out, nil
	}
	out, err := ask("stat")
	if err != nil {
		return err
	}
	var states map[string]int
	if err := json.Unmarshal(out, &states); err != nil {
		return err
	}
	r.Queries, r.Failed = 0, states["crashed"]
	for s, n := range states {
		r.Queries += n
		if n > 0 && s != "finished" && s != "crashed" {
			r.fault("%d queries are %s", n, s)
		}
	}
	if states["crashed"] < long {
		r.fault("%d queries are crashed, and %d were caught in the middle", states["crashed"], long)
	}
	if out, err = ask("cat", "--kind", "query_finished"); err != nil {
		return err
	}
	logged := map[string]bool{}
	for line := range bytes.Lines(out) {
		var e struct{ Query string }
		if err := json.Unmarshal(line, &e); err != nil {
			return err
		}
		logged[e.Query] = true
	}
	for _, id := range slices.Sorted(maps.Keys(seen)) {
		if !logged[id] {
			r.Wrong++
			r.fault("a client saw the end of %s, the log does not have it", id)
		}
	}
	if out, err = ask("verify"); err != nil {
		return err
	}
	var instances []struct{ Instance, Verdict, State string }
	if err := json.Unmarshal(out, &instances); err != nil {
		return err
	}
	for _, i := range instances {
		if i.State != "crashed" || i.Verdict != "clean" && i.Verdict != "torn" {
			r.fault("instance %s is %s and %s", i.Instance, i.State, i.Verdict)
		}
	}
	return nil
}
