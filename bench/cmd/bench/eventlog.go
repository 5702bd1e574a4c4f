package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A logged is what the event log costs, as ratios to a coordinator without one: medians of each round's.
type logged struct {
	CPU          float64 `json:"cpu_ratio"`             // of all servers
	Coordinator  float64 `json:"coordinator_cpu_ratio"` // of the coordinator alone
	Throughput   float64 `json:"throughput_ratio"`
	NoiseCPU     float64 `json:"aa_cpu_ratio"` // of a second coordinator without a log
	NoiseAlone   float64 `json:"aa_coordinator_cpu_ratio"`
	NoiseThrough float64 `json:"aa_throughput_ratio"`
	Queries      int     `json:"queries"` // per coordinator
	LogBytes     int64   `json:"log_bytes"`
	Verify       float64 `json:"verify_mb_per_cpu_s"`
	VerifyWall   float64 `json:"verify_mb_per_s"`
}

// eventlog measures what logging costs small queries, and how fast a log is verified and its queries listed.
func eventlog(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("eventlog", flag.ContinueOnError)
	queries := fs.Int("queries", 10_000, "small queries per coordinator, over all rounds")
	rounds := fs.Int("rounds", 20, "rounds, in each of which every coordinator has its turn")
	clients := fs.Int("clients", 8, "clients at a time")
	workers := fs.Int("workers", 2, "workers")
	asJSON := fs.Bool("json", false, "print JSON")
	bin := fs.String("fletch", "", "the fletch binary")
	tables := fs.String("tables", "", "folder of TPC-H's tables")
	if err := fs.Parse(args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "fletch-bench-log-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	f := &fletch{}
	defer f.close()
	var urls []string
	for range *workers {
		url, err := f.serve(ctx, *bin, "worker", "--listen", "127.0.0.1:0", "--read-root", *tables, "--threads", "1")
		if err != nil {
			return err
		}
		urls = append(urls, url)
	}
	serve := []string{"serve", "--listen", "127.0.0.1:0", "--tables", *tables, "--workers", strings.Join(urls, ",")}
	log := filepath.Join(dir, "log")
	var legs []*served
	for _, more := range [][]string{nil, {"--event-log", log}, nil} {
		url, err := f.serve(ctx, *bin, append(slices.Clone(serve), more...)...)
		if err != nil {
			return err
		}
		legs = append(legs, &served{url: url, coordinator: f.servers[len(f.servers)-1], workers: f.servers[:*workers]})
	}
	each := max(1, *queries / *rounds)
	for i := range legs {
		if _, err := legs[i].run(ctx, *clients, min(each, 200)); err != nil { // warm
			return err
		}
	}
	var out logged
	ratios := map[*float64][]float64{}
	for round := range *rounds {
		var took [3]turn
		for n := range legs {
			i := (round + n) % len(legs)
			if took[i], err = legs[i].run(ctx, *clients, each); err != nil {
				return err
			}
		}
		plain, with, again := took[0], took[1], took[2]
		for to, ratio := range map[*float64]float64{
			&out.CPU: with.all / plain.all, &out.Coordinator: with.coordinator / plain.coordinator, &out.Throughput: plain.wall / with.wall,
			&out.NoiseCPU: again.all / plain.all, &out.NoiseAlone: again.coordinator / plain.coordinator, &out.NoiseThrough: plain.wall / again.wall,
		} {
			ratios[to] = append(ratios[to], ratio)
		}
	}
	for to, sample := range ratios {
		slices.Sort(sample)
		*to = sample[len(sample)/2]
	}
	out.Queries = each * *rounds
	if err := out.verify(ctx, *bin, log); err != nil {
		return err
	}
	if *asJSON {
		return json.NewEncoder(os.Stdout).Encode(out)
	}
	fmt.Printf(`%d small queries per coordinator, from %d clients, on %d workers; medians of %d rounds
                      with a log  without (A/A)
CPU, all servers           %6.3f         %6.3f
CPU, coordinator           %6.3f         %6.3f
throughput                 %6.3f         %6.3f
verify and list: %.0f MB per second of CPU, %.0f MB/s by the clock, of %d bytes
`, out.Queries, *clients, *workers, *rounds, out.CPU, out.NoiseCPU, out.Coordinator, out.NoiseAlone, out.Throughput, out.NoiseThrough, out.Verify, out.VerifyWall, out.LogBytes)
	return nil
}

// A served is a coordinator whose turn comes in every round.
type served struct {
	url         string
	coordinator *process
	workers     []*process
	asked       atomic.Int64
}

// A turn is what one took, in seconds.
type turn struct{ all, coordinator, wall float64 }

func (l *served) run(ctx context.Context, clients, queries int) (t turn, err error) {
	before, err := l.cpu()
	if err != nil {
		return t, err
	}
	began := time.Now()
	var (
		wg    sync.WaitGroup
		left  atomic.Int64
		first atomic.Pointer[error]
	)
	left.Store(int64(queries))
	for range clients {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				if err := small(ctx, l.url, int(l.asked.Add(1))); err != nil {
					first.CompareAndSwap(nil, &err)
					return
				}
			}
		})
	}
	wg.Wait()
	t.wall = time.Since(began).Seconds()
	if err := first.Load(); err != nil {
		return t, *err
	}
	after, err := l.cpu()
	t.coordinator, t.all = after[0]-before[0], after[1]-before[1]
	return t, err
}

// cpu is the coordinator's CPU time, and that of it and the workers.
func (l *served) cpu() (out [2]float64, err error) {
	for i, p := range append([]*process{l.coordinator}, l.workers...) {
		c, err := p.cpu()
		if err != nil {
			return out, err
		}
		if i == 0 {
			out[0] = c.Seconds()
		}
		out[1] += c.Seconds()
	}
	return out, nil
}

var httpClient = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}

// small runs a small query on the workers, and wants its one row.
func small(ctx context.Context, url string, n int) error {
	body := fmt.Sprintf(`{"statement": "SELECT n_name, n_regionkey FROM nation WHERE n_nationkey = %d"}`, n%25)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/fletch.api.v1.QueryService/Fetch", strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := httpClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	got, err := io.ReadAll(res.Body)
	if err == nil && (res.StatusCode != http.StatusOK || !bytes.Contains(got, []byte(`"rows":[[`))) {
		err = fmt.Errorf("%s: %s", res.Status, got)
	}
	return err
}

// verify measures fletch log stat over the log, which checks every line and tells every query's state, on one core.
func (out *logged) verify(ctx context.Context, bin, log string) error {
	segments, err := filepath.Glob(filepath.Join(log, "*.jsonl"))
	if err != nil {
		return err
	}
	for _, s := range segments {
		info, err := os.Stat(s)
		if err != nil {
			return err
		}
		out.LogBytes += info.Size()
	}
	var cpu, wall []float64
	for range 7 {
		cmd := exec.CommandContext(ctx, bin, "log", "stat", log, "--format", "json")
		cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
		began := time.Now()
		if said, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("fletch log stat: %w: %s", err, said)
		}
		wall = append(wall, float64(out.LogBytes)/1e6/time.Since(began).Seconds())
		cpu = append(cpu, float64(out.LogBytes)/1e6/(cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()).Seconds())
	}
	slices.Sort(cpu)
	slices.Sort(wall)
	out.Verify, out.VerifyWall = cpu[len(cpu)/2], wall[len(wall)/2]
	return nil
}
