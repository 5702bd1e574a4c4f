package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"golang.org/x/sys/unix"
)

// A leg is one way to move record batches: a process that serves them and one that reads and checks them.
type leg struct {
	name           string
	server, reader *process
	url            string
}

// A wireOrder and a wireAnswer are what the processes are told and tell: see cmd/wirepeer.
type wireOrder struct {
	Op, File, URL string
	Batches       int
}

type wireAnswer struct {
	URL   string `json:"url"`
	Alloc uint64 `json:"alloc"`
	Error string `json:"error"`
}

func (p *process) answer() (wireAnswer, error) {
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		return wireAnswer{}, fmt.Errorf("read from %s: %w", p.name, err)
	}
	var a wireAnswer
	if err := json.Unmarshal(line, &a); err != nil {
		return a, fmt.Errorf("read from %s: %w", p.name, err)
	}
	if a.Error != "" {
		return a, fmt.Errorf("%s: %s", p.name, a.Error)
	}
	return a, nil
}

func (p *process) order(o wireOrder) (wireAnswer, error) {
	line, err := json.Marshal(o)
	if err != nil {
		return wireAnswer{}, err
	}
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		return wireAnswer{}, fmt.Errorf("write to %s: %w", p.name, err)
	}
	return p.answer()
}

func startWire(name, bin string, args ...string) (*process, string, error) {
	cmd := exec.Command(bin, args...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, "", err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, "", err
	}
	if err := cmd.Start(); err != nil {
		return nil, "", err
	}
	p := &process{name, cmd, in, bufio.NewReader(out)}
	a, err := p.answer()
	if err != nil {
		p.kill()
		return nil, "", err
	}
	return p, a.URL, nil
}

func startLeg(name, bin string, args ...string) (*leg, error) {
	l := &leg{name: name}
	var err error
	if l.server, l.url, err = startWire(name+" server", bin, append(slices.Clip(args), "serve")...); err != nil {
		return nil, err
	}
	if l.reader, _, err = startWire(name+" reader", bin, append(slices.Clip(args), "read")...); err != nil {
		l.server.kill()
		return nil, err
	}
	return l, nil
}

func (l *leg) close() {
	l.server.kill()
	l.reader.kill()
}

func (l *leg) both(o wireOrder) (sum uint64, err error) {
	for _, p := range []*process{l.server, l.reader} {
		a, err := p.order(o)
		if err != nil {
			return 0, err
		}
		sum += a.Alloc
	}
	return sum, nil
}

// A move is what one run of a leg took, of both its processes.
type move struct {
	cpu, wall time.Duration
	garbage   uint64
}

func (l *leg) run(batches int) (m move, err error) {
	garbage, err := l.both(wireOrder{Op: "alloc"})
	if err != nil {
		return m, err
	}
	clock := func() (sum time.Duration, err error) {
		for _, p := range []*process{l.server, l.reader} {
			c, err := p.cpu()
			if err != nil {
				return 0, err
			}
			sum += c
		}
		return sum, nil
	}
	before, err := clock()
	if err != nil {
		return m, err
	}
	began := time.Now()
	if _, err := l.reader.order(wireOrder{Op: "run", URL: l.url, Batches: batches}); err != nil {
		return m, err
	}
	m.wall = time.Since(began)
	after, err := clock()
	if err != nil {
		return m, err
	}
	m.cpu = after - before
	end, err := l.both(wireOrder{Op: "alloc"})
	m.garbage = end - garbage
	return m, err
}

// A wireLine is one leg's result at one size: medians over the rounds.
type wireLine struct {
	Batch   string  `json:"batch"` // 1MiB int64
	Leg     string  `json:"leg"`
	CPU     float64 `json:"cpu_s_per_gb"`
	MBs     float64 `json:"mb_per_s"`
	Garbage float64 `json:"garbage_kib_per_batch"`
	ToTCP   float64 `json:"cpu_to_tcp"`    // medians of the rounds' ratios
	ToPeer  float64 `json:"cpu_to_flight"` // likewise
}

func transport(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("transport", flag.ContinueOnError)
	sizes := fs.String("sizes", "64KiB,256KiB,1MiB,4MiB", "bytes of a batch")
	columns := fs.String("columns", "int64,text", "int64: eight columns of int64; text: those and one of strings")
	rounds := fs.Int("rounds", 7, "rounds, of which each runs every leg once and Fletch twice")
	mib := fs.Int("mib", 128, "MiB that a leg moves in a round")
	asJSON := fs.Bool("json", false, "print JSON")
	fletch := fs.String("fletch-wire", "", "Fletch's leg, services/internal/wirebench")
	against := fs.String("against", "", "another build of Fletch's leg, to run where Fletch's second run would be")
	peer := fs.String("peer-wire", "", "the other legs, wirepeer")
	profile := fs.String("profile", "", "folder for CPU profiles of every process")
	if err := fs.Parse(args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "fletch-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := twoCores(); err != nil {
		return err
	}
	var legs []*leg
	defer func() {
		for _, l := range legs {
			l.close()
		}
	}()
	for _, l := range [][]string{{"tcp", *peer, "tcp"}, {"fletch", *fletch}, {"flight", *peer, "flight"}, {"again", cmp.Or(*against, *fletch)}} {
		started, err := startLeg(l[0], l[1], l[2:]...)
		if err != nil {
			return err
		}
		legs = append(legs, started)
		if *profile != "" {
			for _, p := range []*process{started.server, started.reader} {
				file, err := filepath.Abs(filepath.Join(*profile, strings.ReplaceAll(p.name, " ", "-")+".pprof"))
				if err != nil {
					return err
				}
				if _, err := p.order(wireOrder{Op: "profile", File: file}); err != nil {
					return err
				}
				defer func() { _, _ = p.order(wireOrder{Op: "profile"}) }()
			}
		}
	}
	var lines []wireLine
	var noise []float64
	for _, size := range strings.Split(*sizes, ",") {
		bytes, err := parseSize(size)
		if err != nil {
			return err
		}
		for _, cols := range strings.Split(*columns, ",") {
			file := filepath.Join(dir, size+cols)
			body, err := writeBatches(file, bytes, cols == "text")
			if err != nil {
				return err
			}
			got, aa, err := compareLegs(ctx, legs, file, max(8, *mib<<20/body), body, *rounds)
			if err != nil {
				return fmt.Errorf("%s %s: %w", size, cols, err)
			}
			for i := range got {
				got[i].Batch = size + " " + cols
			}
			lines, noise = append(lines, got...), append(noise, aa)
		}
	}
	slices.Sort(noise)
	least, most := noise[0], noise[len(noise)-1]
	if *asJSON {
		e := json.NewEncoder(os.Stdout)
		e.SetIndent("", "  ")
		return e.Encode(struct {
			Lines []wireLine `json:"lines"`
			AA    [2]float64 `json:"aa_ratio_range"`
		}{lines, [2]float64{least, most}})
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "batch\tleg\tCPU s/GB\tMB/s\tgarbage KiB/batch\tCPU to TCP\tCPU to Flight\t")
	for _, l := range lines {
		fmt.Fprintf(w, "%s\t%s\t%.2f\t%.0f\t%.1f\t%.2f\t%.2f\t\n", l.Batch, l.Leg, l.CPU, l.MBs, l.Garbage, l.ToTCP, l.ToPeer)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Printf("median of %d rounds of %d MiB per leg, server and reader together, every value checked; Fletch against itself (CPU): %.2f to %.2f\n", *rounds, *mib, least, most)
	return nil
}

// compareLegs runs the legs in turn, Fletch twice, and gives a line per leg and the ratio of Fletch's medians.
func compareLegs(ctx context.Context, legs []*leg, file string, batches, body, rounds int) (lines []wireLine, noise float64, err error) {
	for _, l := range legs {
		if _, err := l.both(wireOrder{Op: "load", File: file}); err != nil {
			return nil, 0, err
		}
	}
	runs := map[string][]move{}
	for round := range rounds + 1 { // the first warms up
		for _, l := range legs {
			if ctx.Err() != nil {
				return nil, 0, ctx.Err()
			}
			m, err := l.run(batches)
			if err != nil {
				return nil, 0, err
			}
			if round > 0 {
				runs[l.name] = append(runs[l.name], m)
			}
		}
	}
	cpu := func(m move) float64 { return m.cpu.Seconds() }
	gb := float64(batches) * float64(body) / 1e9
	for _, l := range legs[:3] {
		ms := runs[l.name]
		to := func(other string) float64 {
			var ratios []float64
			for i, m := range ms {
				ratios = append(ratios, cpu(m)/cpu(runs[other][i]))
			}
			return median(ratios, func(r float64) float64 { return r })
		}
		lines = append(lines, wireLine{
			Leg: l.name, CPU: median(ms, cpu) / gb,
			MBs:     gb * 1000 / median(ms, func(m move) float64 { return m.wall.Seconds() }),
			Garbage: median(ms, func(m move) float64 { return float64(m.garbage) }) / 1024 / float64(batches),
			ToTCP:   to("tcp"), ToPeer: to("flight"),
		})
	}
	return lines, median(runs["fletch"], cpu) / median(runs["again"], cpu), nil
}

func median[T any](s []T, of func(T) float64) float64 {
	v := make([]float64, len(s))
	for i := range s {
		v[i] = of(s[i])
	}
	slices.Sort(v)
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

func parseSize(s string) (int, error) {
	for _, u := range []struct {
		name string
		of   int
	}{{"KiB", 1 << 10}, {"MiB", 1 << 20}} {
		if n, err := strconv.Atoi(strings.TrimSuffix(s, u.name)); err == nil && strings.HasSuffix(s, u.name) && n > 0 && n*u.of <= 64<<20 {
			return n * u.of, nil
		}
	}
	return 0, errors.New("a size is 64KiB or 1MiB, up to 64MiB: " + s)
}

// distinct is how many different batches there are: enough that they do not all stay in a core's own cache.
const distinct = 8

// writeBatches writes record batches of about so many bytes as an Arrow IPC stream, and gives their exact size on average.
func writeBatches(file string, bytes int, text bool) (size int, err error) {
	fields := make([]arrow.Field, 8, 9)
	for i := range fields {
		fields[i] = arrow.Field{Name: fmt.Sprintf("c%d", i), Type: arrow.PrimitiveTypes.Int64}
	}
	width := 64
	if text {
		fields = append(fields, arrow.Field{Name: "s", Type: arrow.BinaryTypes.String})
		width += 4 + 16 // offset and, on average, text
	}
	f, err := os.Create(file)
	if err != nil {
		return 0, err
	}
	defer func() { err = cmp.Or(f.Close(), err) }()
	w := ipc.NewWriter(f, ipc.WithSchema(arrow.NewSchema(fields, nil)))
	random := rand.New(rand.NewPCG(1, 2))
	total := 0
	for range distinct {
		b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema(fields, nil))
		for range bytes / width {
			for c := range 8 {
				b.Field(c).(*array.Int64Builder).Append(random.Int64())
			}
			if text {
				b.Field(8).(*array.StringBuilder).Append("some words and more than that"[:random.IntN(30)])
			}
		}
		rec := b.NewRecordBatch()
		b.Release()
		for _, c := range rec.Columns() {
			total += int(c.Data().SizeInBytes())
		}
		err := w.Write(rec)
		rec.Release()
		if err != nil {
			return 0, err
		}
	}
	return total / distinct, w.Close()
}

// twoCores keeps this process and its children to two cores.
func twoCores() error {
	var cpus unix.CPUSet
	cpus.Set(0)
	cpus.Set(1)
	if err := unix.SchedSetaffinity(0, &cpus); err != nil {
		return fmt.Errorf("keep to two cores: %w", err)
	}
	return nil
}
