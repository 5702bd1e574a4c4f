// Command sweep measures what a thousand workers cost a coordinator: it starts fletch serve over simulated ones – real HTTP/2
// servers that answer WorkerInfo as workers do, in a process of their own – and reads the coordinator's CPU time from outside. Among
// them stands one real worker, on which queries run. It must never import the coordinator. See ci/drill.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/fletchdb/fletch/services/client"
)

// What must hold.
const (
	maxCore  = 25.0 // percent of one core, for a full sweep per second
	maxGap   = 2 * time.Second
	maxAdmit = 2 * time.Millisecond // 99 of 100 admissions
)

// A result is what was measured.
type result struct {
	Workers  int      `json:"workers"`
	Seconds  float64  `json:"seconds"`
	Asked    uint64   `json:"asked"`            // WorkerInfo calls, all workers
	Least    uint64   `json:"least_per_worker"` // of one worker
	GapMS    float64  `json:"largest_gap_ms"`   // between two calls to one worker
	Core     float64  `json:"core_percent"`     // of the coordinator
	Memory   float64  `json:"memory_mib"`       // of the coordinator
	Queries  int      `json:"queries"`
	Replaced uint64   `json:"replaced"` // simulated workers that were another process, while queries ran
	AdmitP50 float64  `json:"admit_p50_ms"`
	AdmitP99 float64  `json:"admit_p99_ms"`
	Faults   []string `json:"faults,omitempty"`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "sweep:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("sweep", flag.ContinueOnError)
	bin := fs.String("fletch", "", "the fletch binary")
	workers := fs.Int("workers", 1000, "simulated workers")
	seconds := fs.Int("seconds", 15, "how long the sweep is watched")
	queries := fs.Int("queries", 2000, "queries whose admission is timed")
	short := fs.Bool("short", false, "a few seconds, a few queries")
	asJSON := fs.Bool("json", false, "print JSON")
	like := fs.String("like", "", "be the simulated workers, which can run what the real one at this URL can")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if *like != "" {
		return simulate(ctx, *workers, *like)
	}
	if *short {
		*seconds, *queries = 5, 300
	}
	r, err := measure(ctx, *bin, *workers, *seconds, *queries)
	if err != nil {
		return err
	}
	if *asJSON {
		e := json.NewEncoder(os.Stdout)
		e.SetIndent("", "  ")
		err = e.Encode(r)
	} else {
		r.print(os.Stdout)
	}
	if len(r.Faults) > 0 {
		return errors.New("not as it should be: " + strings.Join(r.Faults, "; "))
	}
	return err
}

func (r *result) print(w io.Writer) {
	_, _ = fmt.Fprintf(w, `%d workers, each an HTTP/2 server of its own, watched for %.1f s
asked         %d times, each at least %d times, at most %.0f ms apart
coordinator   %.1f %% of one core (at most %.0f %%), %.0f MiB
admission     %d queries while %d workers were replaced: p50 %.3f ms, p99 %.3f ms (at most %.0f ms)
`, r.Workers, r.Seconds, r.Asked, r.Least, r.GapMS, r.Core, maxCore, r.Memory, r.Queries, r.Replaced, r.AdmitP50, r.AdmitP99, milliseconds(maxAdmit))
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func measure(ctx context.Context, bin string, workers, seconds, queries int) (*result, error) {
	dir, err := os.MkdirTemp("", "fletch-sweep-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	data := filepath.Join(dir, "data")
	if err := datagen(ctx, bin, data); err != nil {
		return nil, err
	}
	real, url, err := start(bin, "worker", "--listen", "127.0.0.1:0", "--version", "real", "--read-root", data)
	if err != nil {
		return nil, err
	}
	defer real.kill()
	sim, err := startSimulation(workers, url)
	if err != nil {
		return nil, err
	}
	defer sim.kill()
	list := filepath.Join(dir, "workers")
	if err := os.WriteFile(list, []byte(strings.Join(append(sim.urls, url), "\n")), 0o600); err != nil {
		return nil, err
	}
	coordinator, server, err := start(bin, "serve", "--listen", "127.0.0.1:0", "--workers-file", list, "--worker-version", "real", "--tables", data)
	if err != nil {
		return nil, err
	}
	defer coordinator.kill()
	c, err := client.New([]string{server}, client.Config{})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if err := known(ctx, c, workers+1); err != nil {
		return nil, err
	}
	r := &result{Workers: workers}
	if err := r.sweep(ctx, sim, coordinator, time.Duration(seconds)*time.Second); err != nil {
		return nil, err
	}
	return r, r.admit(ctx, sim, c, queries)
}

// known waits until the coordinator has heard of every worker.
func known(ctx context.Context, c *client.Client, n int) error {
	limit := time.After(30 * time.Second)
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for {
		list, err := c.Workers(ctx)
		heard := 0
		for _, w := range list {
			if w.GetInstanceId() != "" {
				heard++
			}
		}
		if heard == n {
			return nil
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return ctx.Err()
		case <-limit:
			return fmt.Errorf("only %d of %d workers are known: %w", heard, n, err)
		}
	}
}

// sweep watches what asking costs while nothing else happens.
func (r *result) sweep(ctx context.Context, sim *simulation, coordinator *process, d time.Duration) error {
	if err := wait(ctx, 2*time.Second); err != nil { // until the workers are asked apart
		return err
	}
	if _, err := sim.report(); err != nil {
		return err
	}
	before, err := coordinator.cpu()
	if err != nil {
		return err
	}
	began := time.Now()
	if err := wait(ctx, d); err != nil {
		return err
	}
	after, err := coordinator.cpu()
	if err != nil {
		return err
	}
	took := time.Since(began)
	got, err := sim.report()
	if err != nil {
		return err
	}
	r.Seconds, r.Core = took.Seconds(), 100*(after-before).Seconds()/took.Seconds()
	r.Asked, r.Least, r.GapMS = got.Asked, got.Least, milliseconds(got.Gap)
	if r.Memory, err = coordinator.memory(); err != nil {
		return err
	}
	if r.Core >= maxCore {
		r.fault("the sweep takes %.1f %% of a core", r.Core)
	}
	if rate := float64(r.Asked) / float64(r.Workers) / r.Seconds; rate < 0.9 {
		r.fault("a worker is asked %.2f times a second", rate)
	}
	if got.Gap > maxGap {
		r.fault("a worker was not asked for %s", got.Gap)
	}
	return nil
}

// admit times the admission of queries, while workers are replaced so that the view of them changes all the time.
func (r *result) admit(ctx context.Context, sim *simulation, c *client.Client, queries int) error {
	if err := sim.churn(true); err != nil {
		return err
	}
	var took []time.Duration
	for range queries {
		res, err := c.Query(ctx, "SELECT count(*) FROM region", client.Options{})
		if err != nil {
			return err
		}
		for err == nil {
			_, err = res.Next()
		}
		res.Close()
		if !errors.Is(err, io.EOF) {
			return err
		}
		if v := res.End.GetCohort().GetVersion(); v != "real" {
			return fmt.Errorf("a query ran on version %q", v)
		}
		took = append(took, res.End.GetQueued().AsDuration())
	}
	got, err := sim.report()
	if err != nil {
		return err
	}
	slices.Sort(took)
	r.Queries, r.Replaced = queries, got.Replaced
	r.AdmitP50, r.AdmitP99 = milliseconds(took[len(took)/2]), milliseconds(took[len(took)*99/100])
	if r.AdmitP99 >= milliseconds(maxAdmit) {
		r.fault("admission takes %.3f ms", r.AdmitP99)
	}
	return nil
}

func (r *result) fault(format string, args ...any) {
	r.Faults = append(r.Faults, fmt.Sprintf(format, args...))
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
