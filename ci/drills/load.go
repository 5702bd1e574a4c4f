package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// The statements of the load. pieces is lineitem in so many files that every worker reads some; mark gives ten times its argument and its
// version's digit, so each row tells who computed it.
const (
	plain  = "SELECT l_returnflag, count(*) AS n, sum(o_custkey) AS s FROM lineitem JOIN orders ON l_orderkey = o_orderkey GROUP BY 1 ORDER BY 1"
	marked = "SELECT min(mark(l_orderkey) % 10) AS least, max(mark(l_orderkey) % 10) AS most, count(*) AS n, 0 AS s FROM pieces"
	novel  = "SELECT min(mark(l_orderkey) % 10) AS least, max(mark(l_orderkey) % 10) AS most, count(*) AS n, sum(novel(l_orderkey) - l_orderkey) AS s FROM pieces"
	rows   = "SELECT mark(l_orderkey) % 10 AS digit, l_orderkey, l_partkey, l_suppkey FROM pieces"
)

// generate writes the data of the load into dir.
func generate(ctx context.Context, bin, dir string) error {
	const files = 12
	if out, err := exec.CommandContext(ctx, bin, "datagen", "tpch", "--scale", "0.01", "--out", dir).CombinedOutput(); err != nil {
		return fmt.Errorf("generate data: %w\n%s", err, out)
	}
	if err := os.Mkdir(filepath.Join(dir, "pieces"), 0o755); err != nil {
		return err
	}
	for i := range files {
		piece := exec.CommandContext(ctx, bin, "sql", "--tables", dir, "--format", "parquet", "-c",
			fmt.Sprintf("SELECT l_orderkey, l_partkey, l_suppkey FROM lineitem WHERE l_orderkey %% %d = %d", files, i))
		out, err := piece.Output()
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "pieces", fmt.Sprintf("%d.parquet", i)), out, 0o600)
		}
		if err != nil {
			return fmt.Errorf("generate data: %w", err)
		}
	}
	return nil
}

// A traffic is clients that ask queries with known answers, one after the other, at a steady pace.
type traffic struct {
	bin  string
	urls []string // coordinators, in the order in which a client tries them; every other client begins with the second
	want answers
	pace time.Duration // between two queries of a client

	asking atomic.Int64 // queries on their way

	novel sync.RWMutex // held for reading by queries of novel
	newer bool         // there is somebody to ask for novel

	mu    sync.Mutex
	asked []asked
}

// answers is what is known of the data.
type answers struct {
	plain        string // the result of plain
	rows         int64  // of lineitem
	sumOfAllRows int64  // of l_orderkey + l_partkey + l_suppkey
}

// known computes the answers in one process, without the functions.
func known(ctx context.Context, bin, tables string) (a answers, err error) {
	ask := func(statement string) (string, error) {
		out, err := exec.CommandContext(ctx, bin, "sql", "--tables", tables, "--format", "csv", "-c", statement).Output()
		if err != nil {
			return "", fmt.Errorf("%s: %w", statement, err)
		}
		return string(out), nil
	}
	if a.plain, err = ask(plain); err != nil {
		return a, err
	}
	sums, err := ask("SELECT count(*) AS n, sum(l_orderkey + l_partkey + l_suppkey) AS s FROM lineitem")
	if err != nil {
		return a, err
	}
	if _, err := fmt.Sscanf(sums, "n,s\n%d,%d\n", &a.rows, &a.sumOfAllRows); err != nil {
		return a, fmt.Errorf("%q: %w", sums, err)
	}
	return a, nil
}

// asked is one query and what came of it.
type asked struct {
	statement  string
	began, end time.Time
	version    string // of the cohort that it says it ran on
	protocol   uint32
	attempts   int
	failed     string // why, if it was
	afterRows  bool   // it failed after rows had come
	wrong      string // what is wrong with its answer, if anything is
	mixed      string // who computed it, if it was more than one version
}

// run asks until ctx ends.
func (l *traffic) run(ctx context.Context, clients int) {
	var wg sync.WaitGroup
	for client := range clients {
		wg.Go(func() {
			urls := slices.Clone(l.urls)
			if client%2 == 1 {
				urls[0], urls[1] = urls[1], urls[0]
			}
			ticker := time.NewTicker(l.pace)
			defer ticker.Stop()
			for turn := client; ctx.Err() == nil; turn++ {
				l.ask(strings.Join(urls, ","), turn)
				select {
				case <-ticker.C:
				case <-ctx.Done():
				}
			}
		})
	}
	wg.Wait()
}

func (l *traffic) ask(urls string, turn int) {
	statement := []string{rows, marked, plain, novel, marked, plain, novel, marked, plain, novel}[turn%10]
	if statement == novel {
		l.novel.RLock()
		defer l.novel.RUnlock()
		if !l.newer {
			statement = marked
		}
	}
	l.asking.Add(1)
	defer l.asking.Add(-1)
	a := asked{statement: statement, began: time.Now()}
	ctx, cancel := context.WithTimeout(context.Background(), queryLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, l.bin, "sql", "--connect", urls, "--stats", "--format", "csv", "-c", statement)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	a.end = time.Now()
	var s struct {
		stats
		Cohort struct {
			Version  string
			Protocol uint32
		}
	}
	lines := strings.Split(strings.TrimSpace(errs.String()), "\n")
	_ = json.Unmarshal([]byte(lines[len(lines)-1]), &s)
	a.version, a.protocol, a.attempts = s.Cohort.Version, s.Cohort.Protocol, s.Attempts
	if err != nil {
		a.failed = strings.TrimSpace(errs.String())
		a.afterRows = rowsHadCome.MatchString(a.failed)
		if ctx.Err() != nil {
			a.failed = "it hung: " + a.failed
		}
	} else {
		a.wrong, a.mixed = l.want.judge(statement, out.Bytes(), s.Cohort.Version)
	}
	for _, w := range s.Workers {
		if w.Version != a.version {
			a.mixed = fmt.Sprintf("a query of %s ran on %+v", a.version, s.Workers)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked = append(l.asked, a)
}

// judge tells what is wrong with an answer, and whether more than one version gave it. version is whose answer it should be.
func (w answers) judge(statement string, out []byte, version string) (wrong, mixed string) {
	if statement == plain {
		if string(out) != w.plain {
			return fmt.Sprintf("%q, not %q", out, w.plain), ""
		}
		return "", ""
	}
	records, err := csv.NewReader(bytes.NewReader(out)).ReadAll()
	if err != nil || len(records) < 2 {
		return fmt.Sprintf("%q: %v", clipped(out), err), ""
	}
	digits := map[string]int64{}
	number := func(s string) int64 {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			wrong = fmt.Sprintf("%q is no number", s)
		}
		return n
	}
	if statement == rows {
		var sum int64
		for _, r := range records[1:] {
			digits[r[0]]++
			sum += number(r[1]) + number(r[2]) + number(r[3])
		}
		if n := int64(len(records) - 1); n != w.rows || sum != w.sumOfAllRows {
			wrong = fmt.Sprintf("%d rows with sum %d, not %d with %d", n, sum, w.rows, w.sumOfAllRows)
		}
	} else {
		r := records[1]
		digits[r[0]]++
		digits[r[1]]++
		sum := int64(0)
		if statement == novel {
			sum = 1000 * w.rows
		}
		if number(r[2]) != w.rows || number(r[3]) != sum {
			wrong = fmt.Sprintf("%v, not %d rows and %d", r, w.rows, sum)
		}
	}
	switch {
	case len(digits) > 1:
		mixed = fmt.Sprintf("a query of %s has rows of several versions: %v", version, digits)
	case digits[strings.TrimPrefix(version, "v")] == 0:
		wrong = fmt.Sprintf("a query of %s has rows of version %v", version, digits)
	}
	return wrong, mixed
}

func clipped(b []byte) []byte { return b[:min(len(b), 200)] }

// during gives the queries that began in a time.
func (l *traffic) during(from, to time.Time) []asked {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []asked
	for _, a := range l.asked {
		if !a.began.Before(from) && a.began.Before(to) {
			out = append(out, a)
		}
	}
	return out
}

// p99 is the latency that 99 of 100 of the queries did not exceed, in milliseconds; 0 of none.
func p99(queries []asked) float64 {
	var took []float64
	for _, a := range queries {
		took = append(took, float64(a.end.Sub(a.began))/float64(time.Millisecond))
	}
	if len(took) == 0 {
		return 0
	}
	slices.Sort(took)
	return took[int(math.Ceil(0.99*float64(len(took))))-1]
}

// build builds commands of the tree at root, named by their folders, into dir.
func build(ctx context.Context, root, dir string, tags string, folders ...string) error {
	for _, f := range folders {
		cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-tags", tags, "-o", filepath.Join(dir, filepath.Base(f)), f)
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			return errors.Join(fmt.Errorf("build %s: %w", f, err), errors.New(string(out)))
		}
	}
	return nil
}
