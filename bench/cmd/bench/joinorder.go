package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// A tried order is a plan that some seed led to and the CPU time of its runs.
type tried struct {
	seed uint64
	cpu  []time.Duration
}

func (t *tried) least() time.Duration { return slices.Min(t.cpu) }

// joinOrder runs queries in the join order that Fletch chooses and in others, which wrong expectations lead to, and compares their cost.
func joinOrder(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("joinorder", flag.ContinueOnError)
	scale := fs.Float64("sf", 1, "scale factor")
	queries := fs.String("queries", "q02,q05,q07,q08,q09,q21", "names such as q01,q03")
	seeds := fs.Uint64("seeds", 60, "wrong expectations to try; several may lead to one order")
	rounds := fs.Int("rounds", 3, "runs of the chosen order and of the best three, of which the least counts")
	bin := fs.String("fletch", "", "the fletch binary")
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
	f, err := startFletch(ctx, *bin, dir, 2, "", 0)
	if err != nil {
		return err
	}
	defer f.close()
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "query\torders\tours CPU ms\tbest CPU ms\tratio\tmedian CPU ms\tworst CPU ms\tgiven up\t")
	worst := 0.0
	for _, q := range all {
		j := &judge{f: f, q: q, orders: map[string]*tried{}}
		if err := j.run(ctx, *seeds, *rounds); err != nil {
			return fmt.Errorf("%s: %w", q.name, err)
		}
		worst = max(worst, j.print(w))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Printf("scale factor %v, 2 threads; every order gave the same rows; the worst of ours costs %.2f times the best found\n", *scale, worst)
	if worst >= 3 {
		return fmt.Errorf("a join order costs %.2f times the best", worst)
	}
	return nil
}

// A judge tries the orders of one query.
type judge struct {
	f      *fletch
	q      query
	orders map[string]*tried // by plan
	ours   *tried
	rows   [][]*string
	left   int // orders that took far longer than ours and were given up
}

func (j *judge) run(ctx context.Context, seeds uint64, rounds int) error {
	for seed := range seeds + 1 {
		if err := j.set(fmt.Sprintf("SET fletch.join_order_seed = %d", seed)); err != nil {
			return err
		}
		plan, err := j.plan(ctx)
		if err != nil {
			return err
		}
		if _, known := j.orders[plan]; known {
			continue
		}
		t := &tried{seed: seed}
		j.orders[plan] = t
		if seed == 0 {
			err = j.first(ctx, t, rounds)
		} else {
			err = j.measure(ctx, t)
		}
		if err != nil {
			if seed == 0 || !strings.Contains(err.Error(), "timeout") {
				return err
			}
			j.left++
			j.orders[plan] = nil
		}
	}
	best := j.sorted()
	for _, t := range best[:min(3, len(best))] {
		if err := j.set(fmt.Sprintf("SET fletch.join_order_seed = %d", t.seed)); err != nil {
			return err
		}
		for range rounds {
			if err := j.measure(ctx, t); err != nil {
				return err
			}
		}
	}
	return j.set("RESET statement_timeout")
}

// first runs the order that Fletch chooses, and limits the others by what it took.
func (j *judge) first(ctx context.Context, t *tried, rounds int) error {
	j.ours = t
	slowest := time.Duration(0)
	for range rounds + 1 { // the first warms up
		began := time.Now()
		if err := j.measure(ctx, t); err != nil {
			return err
		}
		slowest = max(slowest, time.Since(began))
	}
	t.cpu = t.cpu[1:]
	return j.set(fmt.Sprintf("SET statement_timeout = %d", max(10*slowest, 2*time.Second).Milliseconds()))
}

// plan is the tree of joins, without what is expected of it.
func (j *judge) plan(ctx context.Context) (string, error) {
	rows, _, err := j.f.query(ctx, "EXPLAIN "+j.q.sql)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, r := range rows {
		if r[0] != nil {
			line, _, _ := strings.Cut(*r[0], "  ~")
			b.WriteString(line + "\n")
		}
	}
	return b.String(), nil
}

func (j *judge) measure(ctx context.Context, t *tried) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	rows, s, err := measure(ctx, j.f, j.q.sql)
	if err != nil {
		return err
	}
	if j.rows == nil {
		j.rows = rows
	}
	if err := same(rows, j.rows); err != nil {
		return fmt.Errorf("another join order (seed %d) gives other rows: %w", t.seed, err)
	}
	t.cpu = append(t.cpu, s.cpu)
	return nil
}

// sorted are the orders that were run to their end, the cheapest first.
func (j *judge) sorted() []*tried {
	var all []*tried
	for _, t := range j.orders {
		if t != nil {
			all = append(all, t)
		}
	}
	slices.SortFunc(all, func(a, b *tried) int { return int(a.least() - b.least()) })
	return all
}

func (j *judge) print(w *tabwriter.Writer) (ratio float64) {
	all := j.sorted()
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	ratio = ms(j.ours.least()) / ms(all[0].least())
	fmt.Fprintf(w, "%s\t%d\t%.1f\t%.1f\t%.2f\t%.1f\t%.1f\t%d\t\n", j.q.name, len(all)+j.left, ms(j.ours.least()), ms(all[0].least()), ratio,
		ms(all[len(all)/2].least()), ms(all[len(all)-1].least()), j.left)
	return ratio
}

// set changes settings of the session.
func (j *judge) set(statement string) error {
	_, _, err := j.f.send(statement)
	return err
}
