package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// A pair is a cluster and a client of two builds, and what came of its queries.
type pair struct {
	Release     string  `json:"release"`
	Coordinator string  `json:"coordinator"`
	Workers     string  `json:"workers"`
	Client      string  `json:"client"`
	Outcome     string  `json:"outcome"` // works, refused or wrong
	Detail      string  `json:"detail"`  // why it was refused, or what is wrong
	Slowest     float64 `json:"slowest_ms"`
}

// ours is what the build of this tree is called.
const ours = "this"

// questions are asked of every pair, in every format; their answers are those of this build in one process.
var questions = []string{
	plain,
	"SELECT n_name, n_regionkey FROM nation ORDER BY n_name LIMIT 5",
	"SELECT o_orderdate, o_totalprice, o_comment FROM orders WHERE o_orderkey < 40 ORDER BY o_orderkey",
	"SELECT c_mktsegment, count(*) AS n, avg(c_acctbal) AS a FROM customer JOIN nation ON c_nationkey = n_nationkey WHERE n_name = 'CHINA' GROUP BY 1 ORDER BY 1",
	"SELECT CASE WHEN l_tax > 0.04 THEN NULL ELSE l_shipmode END AS m, count(DISTINCT l_suppkey) AS n FROM lineitem GROUP BY 1 ORDER BY 1 NULLS FIRST",
	"SELECT 1 AS one, DATE '2024-02-29' AS day, 'Ä, \"quoted\"' AS text, true AS yes",
}

// failing is a question that has no answer, and what every build says of it.
const failing, said = "SELECT n_nane FROM nation", "n_nane"

func matrix(ctx context.Context, args []string) (bad bool, err error) {
	fs := flag.NewFlagSet("matrix", flag.ContinueOnError)
	asJSON := fs.Bool("json", false, "print JSON")
	bin := fs.String("fletch", "", "the fletch binary")
	if err := fs.Parse(args); err != nil {
		return false, err
	}
	folders, err := filepath.Glob("ci/released/v*")
	if err != nil || len(folders) == 0 {
		return false, fmt.Errorf("ci/released names no release: %w", err)
	}
	dir, err := os.MkdirTemp("", "fletch-matrix-")
	if err != nil {
		return false, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	m := &mixer{bins: map[string]string{ours: *bin}, tables: filepath.Join(dir, "data")}
	if out, err := exec.CommandContext(ctx, *bin, "datagen", "tpch", "--scale", "0.01", "--out", m.tables).CombinedOutput(); err != nil {
		return false, fmt.Errorf("generate data: %w\n%s", err, out)
	}
	var pairs []pair
	for _, f := range folders {
		release := filepath.Base(f)
		if m.bins[release], err = released(ctx, release); err != nil {
			return false, err
		}
		for _, p := range []pair{
			{Coordinator: release, Workers: release, Client: release},
			{Coordinator: ours, Workers: release, Client: ours},
			{Coordinator: release, Workers: ours, Client: release},
			{Coordinator: ours, Workers: release + "," + ours, Client: ours},
			{Coordinator: release, Workers: ours + "," + release, Client: release},
			{Coordinator: ours, Workers: ours, Client: release},
			{Coordinator: release, Workers: release, Client: ours},
			{Coordinator: ours, Workers: ours, Client: ours},
		} {
			p.Release = release
			if err := m.try(ctx, &p); err != nil {
				return false, err
			}
			bad = bad || p.Outcome == "wrong"
			pairs = append(pairs, p)
		}
	}
	if *asJSON {
		e := json.NewEncoder(os.Stdout)
		e.SetIndent("", "  ")
		return bad, e.Encode(pairs)
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "coordinator\tworkers\tclient\toutcome\tslowest\t")
	for _, p := range pairs {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%.0f ms\t%s\n", p.Coordinator, p.Workers, p.Client, p.Outcome, p.Slowest, p.Detail)
	}
	return bad, w.Flush()
}

// released is the fletch binary of a release, built once from the commit that released it.
func released(ctx context.Context, release string) (string, error) {
	var errs bytes.Buffer
	ask := exec.CommandContext(ctx, "ci/gate", "commit", release)
	ask.Stderr = &errs
	out, err := ask.Output()
	if err != nil {
		return "", fmt.Errorf("find the commit of %s: %w\n%s", release, err, errs.String())
	}
	commit := strings.TrimSpace(string(out))
	if exec.CommandContext(ctx, "git", "cat-file", "-e", commit+"^{commit}").Run() != nil {
		return "", fmt.Errorf("%s is commit %s, which is not here: run git fetch --unshallow, or git fetch origin %s", release, commit, commit)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	dir := filepath.Join(cache, "fletch-drill", commit)
	bin := filepath.Join(dir, "fletch")
	if _, err := os.Stat(bin); err == nil {
		return bin, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	tree, err := os.MkdirTemp(dir, "tree-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(tree) }()
	archive, err := exec.CommandContext(ctx, "git", "archive", "--format=tar", commit).Output()
	if err != nil {
		return "", fmt.Errorf("read the tree of %s: %w", release, err)
	}
	unpack := exec.CommandContext(ctx, "tar", "-x", "-C", tree)
	unpack.Stdin = bytes.NewReader(archive)
	if out, err := unpack.CombinedOutput(); err != nil {
		return "", fmt.Errorf("unpack the tree of %s: %w\n%s", release, err, out)
	}
	if err := build(ctx, tree, tree, "", "./services/cmd/fletch"); err != nil {
		return "", err
	}
	return bin, os.Rename(filepath.Join(tree, "fletch"), bin) // so that it is whole as soon as it is there
}

// A mixer puts builds together.
type mixer struct {
	bins   map[string]string // fletch of each build
	tables string
}

// try asks a pair everything. The answers must be right or refused: by a sentence, with no row, and in time. Between a client and a
// coordinator, whose API is stable, and where the coordinator has a worker of its own build, refused is wrong.
func (m *mixer) try(ctx context.Context, p *pair) error {
	var urls []string
	for _, build := range strings.Split(p.Workers, ",") {
		w, err := start(m.bins[build], "worker", "--listen", "127.0.0.1:0", "--read-root", m.tables, "--threads", "2")
		if err != nil {
			return err
		}
		defer w.kill()
		urls = append(urls, w.url)
	}
	c, err := start(m.bins[p.Coordinator], "serve", "--listen", "127.0.0.1:0", "--tables", m.tables, "--workers", strings.Join(urls, ","))
	if err != nil {
		return err
	}
	defer c.kill()
	mustWork := slices.Contains(strings.Split(p.Workers, ","), p.Coordinator)
	p.Outcome = "works"
	wrong := func(format string, args ...any) {
		if p.Outcome != "wrong" {
			p.Outcome, p.Detail = "wrong", fmt.Sprintf(format, args...)
		}
	}
	formats := []string{"csv", "json", "arrow"}
	if !mustWork {
		formats = formats[:1] // a refusal waits some seconds for a worker that would do
	}
	for _, question := range questions {
		for _, format := range formats {
			want, err := exec.CommandContext(ctx, m.bins[ours], "sql", "--tables", m.tables, "--format", format, "-c", question).Output()
			if err != nil {
				return fmt.Errorf("%s: %w", question, err)
			}
			out, says, err := m.ask(ctx, p, c.url, "sql", "--format", format, "-c", question)
			switch sentence := lastSentence(says); {
			case errors.Is(err, context.DeadlineExceeded):
				wrong("%s: it hung", question)
			case err == nil && !bytes.Equal(out, want):
				wrong("%s: %q, not %q", question, clipped(out), clipped(want))
			case err == nil && len(strings.Split(strings.TrimSpace(says), "\n")) > 1:
				wrong("%s: more than a line is said: %s", question, says)
			case err != nil && mustWork:
				wrong("%s: %s", question, sentence)
			case err != nil && (len(out) > 0 || sentence == ""):
				wrong("%s: an error with %q on standard output, and %q said", question, clipped(out), sentence)
			case err != nil && p.Outcome == "works":
				p.Outcome, p.Detail = "refused", sentence
			}
		}
	}
	out, says, err := m.ask(ctx, p, c.url, "sql", "--format", "csv", "-c", failing)
	if err == nil || len(out) > 0 || !strings.Contains(says, said) {
		wrong("%s: %q, %q", failing, out, says)
	}
	for _, command := range [][]string{{"workers", "--format", "json"}, {"version"}} {
		if out, says, err := m.ask(ctx, p, c.url, command...); err != nil || len(out) == 0 {
			wrong("fletch %s: %s", strings.Join(command, " "), says)
		}
	}
	return nil
}

// ask runs a command of the pair's client.
func (m *mixer) ask(ctx context.Context, p *pair, url string, args ...string) (out []byte, says string, err error) {
	ctx, cancel := context.WithTimeout(ctx, queryLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, m.bins[p.Client], append(slices.Clone(args), "--connect", url)...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	begin := time.Now()
	out, err = cmd.Output()
	p.Slowest = max(p.Slowest, float64(time.Since(begin).Milliseconds()))
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return out, errs.String(), err
}

// lastSentence is what an error says, without its hint.
func lastSentence(says string) string {
	for line := range strings.Lines(says) {
		if rest, ok := strings.CutPrefix(line, "error: "); ok {
			return strings.TrimSpace(rest)
		}
	}
	return strings.TrimSpace(says)
}
