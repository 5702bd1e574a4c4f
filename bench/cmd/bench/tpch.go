package main

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/sys/unix"
)

// A sample is what one run of one query took.
type sample struct{ cpu, wall time.Duration }

// A line is a query's result: medians over the rounds.
type line struct {
	Name       string  `json:"name"`
	Ratio      float64 `json:"ratio"` // of CPU
	Fletch     float64 `json:"fletch_ms"`
	Peer       float64 `json:"peer_ms"`
	WallRatio  float64 `json:"wall_ratio"`
	FletchWall float64 `json:"fletch_wall_ms"`
	PeerWall   float64 `json:"peer_wall_ms"`
	Noise      float64 `json:"aa_ratio"` // of CPU, Fletch against itself
}

type report struct {
	Geomean     float64 `json:"geomean_ratio"`
	GeomeanWall float64 `json:"geomean_wall_ratio"`
	GeomeanAA   float64 `json:"geomean_aa_ratio"`
	Queries     []line  `json:"queries"`
	PeakFletch  int64   `json:"fletch_peak_rss"`
	PeakPeer    int64   `json:"peer_peak_rss"`
}

func tpch(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("tpch", flag.ContinueOnError)
	scale := fs.Float64("sf", 1, "scale factor")
	threads := fs.Int("threads", 2, "threads of both; with --workers, of the peer")
	workers := fs.Int("workers", 0, "workers of one thread each instead of an embedded engine")
	queries := fs.String("queries", "all", "names such as q01,q03")
	rounds := fs.Int("rounds", 7, "rounds, of which each runs every query on both in turn")
	memory := fs.String("memory", "8GB", "memory limit of both")
	asJSON := fs.Bool("json", false, "print JSON")
	bin := fs.String("fletch", "", "the fletch binary")
	peer := fs.String("peer", "", "the DuckDB runner")
	data := fs.String("data", "", "folder that keeps the data between runs")
	texts := fs.String("texts", "", "folder of q01.sql …")
	if err := fs.Parse(args); err != nil {
		return err
	}
	all, err := readQueries(*texts, *queries)
	if err != nil {
		return err
	}
	dir := filepath.Join(*data, fmt.Sprintf("tpch-sf%v", *scale))
	if err := generate(ctx, *bin, dir, *scale); err != nil {
		return err
	}
	var cpus unix.CPUSet
	cpus.Set(0)
	cpus.Set(1)
	if err := unix.SchedSetaffinity(0, &cpus); err != nil { // children inherit it
		return fmt.Errorf("keep to two cores: %w", err)
	}
	f, err := startFletch(ctx, *bin, dir, *threads, *memory, *workers)
	if err != nil {
		return err
	}
	defer f.close()
	d, err := startDuck(*peer, dir, *threads, *memory)
	if err != nil {
		return err
	}
	defer d.close()
	fletchRuns, peerRuns, again := map[string][]sample{}, map[string][]sample{}, map[string][]sample{}
	for round := range *rounds + 1 { // the first warms up
		for _, q := range all {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			rows, s, err := measure(ctx, f, q.sql)
			if err != nil {
				return fmt.Errorf("%s: %w", q.name, err)
			}
			want, p, err := measure(ctx, d, q.sql)
			if err != nil {
				return fmt.Errorf("%s: %w", q.name, err)
			}
			if err := same(rows, want); err != nil {
				return fmt.Errorf("%s: the answers differ: %w", q.name, err)
			}
			_, a, err := measure(ctx, f, q.sql)
			if err != nil {
				return fmt.Errorf("%s: %w", q.name, err)
			}
			if round > 0 {
				fletchRuns[q.name], peerRuns[q.name], again[q.name] = append(fletchRuns[q.name], s), append(peerRuns[q.name], p), append(again[q.name], a)
			}
		}
	}
	r := report{PeakPeer: d.p.peak()}
	for _, p := range f.processes() {
		r.PeakFletch += p.peak()
	}
	cpu, wall, aa := 0.0, 0.0, 0.0
	for _, q := range all {
		l := line{Name: q.name}
		l.Fletch, l.FletchWall = medians(fletchRuns[q.name])
		l.Peer, l.PeerWall = medians(peerRuns[q.name])
		second, _ := medians(again[q.name])
		l.Ratio, l.WallRatio, l.Noise = l.Fletch/l.Peer, l.FletchWall/l.PeerWall, l.Fletch/second
		cpu += math.Log(l.Ratio)
		wall += math.Log(l.WallRatio)
		aa += math.Log(l.Noise)
		r.Queries = append(r.Queries, l)
	}
	n := float64(len(all))
	r.Geomean, r.GeomeanWall, r.GeomeanAA = math.Exp(cpu/n), math.Exp(wall/n), math.Exp(aa/n)
	if *asJSON {
		e := json.NewEncoder(os.Stdout)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "query\tfletch CPU ms\tpeer CPU ms\tratio\tfletch wall ms\tpeer wall ms\tratio\tA/A\t")
	for _, l := range r.Queries {
		fmt.Fprintf(w, "%s\t%.1f\t%.1f\t%.2f\t%.1f\t%.1f\t%.2f\t%.2f\t\n", l.Name, l.Fletch, l.Peer, l.Ratio, l.FletchWall, l.PeerWall, l.WallRatio, l.Noise)
	}
	fmt.Fprintf(w, "geomean\t\t\t%.3f\t\t\t%.3f\t%.3f\t\n", r.Geomean, r.GeomeanWall, r.GeomeanAA)
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Printf("median of %d rounds, scale factor %v, all answers equal; peak memory %d MiB against %d MiB\n", *rounds, *scale, r.PeakFletch>>20, r.PeakPeer>>20)
	return nil
}

// generate makes the tables in dir, unless they are there.
func generate(ctx context.Context, bin, dir string, scale float64) error {
	if _, err := os.Stat(filepath.Join(dir, "lineitem.parquet")); err == nil {
		return nil
	}
	gen := exec.CommandContext(ctx, bin, "datagen", "tpch", "--scale", fmt.Sprint(scale), "--out", dir)
	gen.Stderr = os.Stderr
	if err := gen.Run(); err != nil {
		return fmt.Errorf("generate data: %w", err)
	}
	return nil
}

type query struct{ name, sql string }

func readQueries(dir, names string) ([]query, error) {
	files, err := filepath.Glob(filepath.Join(dir, "q*.sql"))
	if err != nil {
		return nil, err
	}
	slices.Sort(files)
	var out []query
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".sql")
		if names != "all" && !slices.Contains(strings.Split(names, ","), name) {
			continue
		}
		text, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		out = append(out, query{name, string(text)})
	}
	if len(out) == 0 {
		return nil, errors.New("no query of these names in " + dir)
	}
	return out, nil
}

func measure(ctx context.Context, r runner, sql string) ([][]*string, sample, error) {
	before, err := totalCPU(r)
	if err != nil {
		return nil, sample{}, err
	}
	rows, elapsed, err := r.query(ctx, sql)
	if err != nil {
		return nil, sample{}, err
	}
	after, err := totalCPU(r)
	return rows, sample{after - before, elapsed}, err
}

func medians(s []sample) (cpu, wall float64) {
	median := func(of func(sample) time.Duration) float64 {
		v := make([]float64, len(s))
		for i := range s {
			v[i] = float64(of(s[i]).Microseconds()) / 1000
		}
		slices.Sort(v)
		if n := len(v); n%2 == 0 {
			return (v[n/2-1] + v[n/2]) / 2
		}
		return v[len(v)/2]
	}
	return median(func(x sample) time.Duration { return x.cpu }), median(func(x sample) time.Duration { return x.wall })
}

// readCSV reads a result of Fletch: a header, NULL as an empty field. An empty string is a quoted field, which no TPC-H answer has.
func readCSV(text string) ([][]*string, error) {
	records, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(records) == 0 {
		return nil, fmt.Errorf("read result: %w", err)
	}
	var rows [][]*string
	for _, rec := range records[1:] {
		row := make([]*string, len(rec))
		for i := range rec {
			if rec[i] != "" {
				row[i] = &rec[i]
			}
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// same compares two answers row by row; rows that ORDER BY leaves in any order are found wherever they stand. Numbers may differ by
// 1e-9 of their size.
func same(a, b [][]*string) error {
	if len(a) != len(b) {
		return fmt.Errorf("%d rows against %d", len(a), len(b))
	}
	left := slices.Clone(b)
	for i, row := range a {
		at := slices.IndexFunc(left, func(o []*string) bool { return sameRow(row, o) })
		if at < 0 {
			return fmt.Errorf("row %d %s is not in the peer's answer", i+1, show(row))
		}
		left = slices.Delete(left, at, at+1)
	}
	return nil
}

func sameRow(a, b []*string) bool {
	return slices.EqualFunc(a, b, func(x, y *string) bool {
		if x == nil || y == nil {
			return x == y
		}
		if *x == *y {
			return true
		}
		f, err1 := strconv.ParseFloat(*x, 64)
		g, err2 := strconv.ParseFloat(*y, 64)
		return err1 == nil && err2 == nil && math.Abs(f-g) <= 1e-9*max(math.Abs(f), math.Abs(g))
	})
}

func show(row []*string) string {
	var parts []string
	for _, c := range row {
		if c == nil {
			parts = append(parts, "NULL")
		} else {
			parts = append(parts, *c)
		}
	}
	return "(" + strings.Join(parts, ", ") + ")"
}
