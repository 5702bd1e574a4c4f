// Command drills breaks a real cluster on purpose and looks at what its users see: processes that are killed, stopped and
// replaced, clients that leave. It drives the fletch binary from outside and must never import what it judges. See ci/drill.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"
)

// A result is what a drill found. Only queries and failed count what is as it should be.
type result struct {
	Name      string   `json:"name"`
	Queries   int      `json:"queries"`    // that were run
	Failed    int      `json:"failed"`     // with an error, as they must where rows had come
	Again     int      `json:"again"`      // that gave their answer in a second attempt
	AfterRows int      `json:"after_rows"` // that failed after rows had reached the client
	Wrong     int      `json:"wrong"`      // with a wrong row, or with what looks complete and is not
	Mixed     int      `json:"mixed"`      // that ran on more than one version
	Hung      int      `json:"hung"`       // that did not end in time
	Slowest   float64  `json:"slowest_ms"`
	Faults    []string `json:"faults,omitempty"` // what was not as it should be
}

func (r *result) fault(format string, args ...any) {
	r.Faults = append(r.Faults, fmt.Sprintf(format, args...))
}

// A drill does something to a cluster that often.
type drill struct {
	name, does  string
	full, short int // times
	run         func(ctx context.Context, c *cluster, times int) (result, error)
}

// sets are the drills by the name of what they break.
var sets = map[string][]drill{"kills": kills, "crash": crash}

// others are drills that bring up what they need.
var others = map[string]func(ctx context.Context, args []string) (bad bool, err error){"rollout": rollout, "matrix": matrix}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	bad, err := run(ctx, os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "drill:", err)
		os.Exit(2)
	}
	if bad {
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) (bad bool, err error) {
	if len(args) > 0 && others[args[0]] != nil {
		return others[args[0]](ctx, args[1:])
	}
	var names []string
	for name := range others {
		names = append(names, name)
	}
	for name := range sets {
		names = append(names, name)
	}
	slices.Sort(names)
	if len(args) == 0 || sets[args[0]] == nil {
		return false, fmt.Errorf("usage: ci/drill %s [--short] [--times N] [--json]", strings.Join(names, "|"))
	}
	fs := flag.NewFlagSet(args[0], flag.ContinueOnError)
	short := fs.Bool("short", false, "each drill a few times only")
	times := fs.Int("times", 0, "each drill that often")
	only := fs.String("only", "", "only the drill of that name")
	asJSON := fs.Bool("json", false, "print JSON")
	bin := fs.String("fletch", "", "the fletch binary")
	if err := fs.Parse(args[1:]); err != nil {
		return false, err
	}
	dir, err := os.MkdirTemp("", "fletch-drill-")
	if err != nil {
		return false, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	c, err := startCluster(ctx, *bin, filepath.Join(dir, "data"), 3)
	if err != nil {
		return false, err
	}
	defer c.stop()
	var results []result
	for _, d := range sets[args[0]] {
		if *only != "" && *only != d.name {
			continue
		}
		n := d.full
		if *short {
			n = d.short
		}
		if *times > 0 {
			n = *times
		}
		r, err := d.run(ctx, c, n)
		if err != nil {
			return false, fmt.Errorf("%s: %w", d.name, err)
		}
		r.Name = d.name
		results = append(results, r)
	}
	return show(results, *asJSON)
}

func show(results []result, asJSON bool) (bad bool, err error) {
	for _, r := range results {
		bad = bad || r.Wrong+r.Mixed+r.Hung+len(r.Faults) > 0
	}
	if asJSON {
		e := json.NewEncoder(os.Stdout)
		e.SetIndent("", "  ")
		return bad, e.Encode(results)
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "drill\tqueries\tagain\tfailed\tafter rows\twrong\tmixed\thung\tslowest")
	for _, r := range results {
		slowest := time.Duration(r.Slowest * float64(time.Millisecond)).Round(time.Millisecond)
		_, _ = fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%s\n", r.Name, r.Queries, r.Again, r.Failed, r.AfterRows, r.Wrong, r.Mixed, r.Hung, slowest)
	}
	if err := w.Flush(); err != nil {
		return bad, err
	}
	for _, r := range results {
		for _, f := range r.Faults {
			fmt.Printf("%s: %s\n", r.Name, f)
		}
	}
	return bad, nil
}
