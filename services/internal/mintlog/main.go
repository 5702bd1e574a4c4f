// Mintlog makes an event log for services/eventlog/testdata: real processes, broken on purpose, so that every kind of event is in it.
// Beside the segments it writes queries.json, what the clients of the queries saw, which owes nothing to the log. A release freezes
// both. It must never write an event that a coordinator could write itself.
//
//	mintlog FLETCH TABLES OUT
//
// FLETCH is the binary, TABLES a folder of TPC-H at scale 0.01, OUT the folder to make.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/fletchdb/fletch/engine/sqlerr"
	apiv1 "github.com/fletchdb/fletch/gen/go/fletch/api/v1"
	eventlogv1 "github.com/fletchdb/fletch/gen/go/fletch/eventlog/v1"
	"github.com/fletchdb/fletch/services/client"
	"github.com/fletchdb/fletch/services/eventlog"
	"github.com/fletchdb/fletch/services/internal/identity"
)

// endless runs until it is ended; long runs for a second or so.
const (
	endless = "SELECT count(*) FROM lineitem a, lineitem b, orders c WHERE a.l_quantity + b.l_tax + c.o_totalprice < 0"
	long    = "SELECT count(*) FROM lineitem a, customer b WHERE a.l_tax + b.c_custkey < 0"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: mintlog FLETCH TABLES OUT")
		os.Exit(2)
	}
	if err := mint(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "mintlog:", err)
		os.Exit(1)
	}
}

// A minter runs queries and notes what came of them.
type minter struct {
	bin, tables, log string
	workers          string // file of URLs
	running          []*process

	Queries map[string]saw `json:"queries"` // by id
}

// saw is what a client saw of its query.
type saw struct {
	Statement string `json:"statement"`
	State     string `json:"state"`            // finished, crashed
	Status    string `json:"status,omitempty"` // succeeded, failed, canceled
	Code      string `json:"code,omitempty"`
	Rows      uint64 `json:"rows"`
}

type process struct {
	cmd *exec.Cmd
	url string
}

func (m *minter) start(args ...string) (*process, error) {
	p := &process{cmd: exec.Command(m.bin, args...)}
	out, err := p.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	m.running = append(m.running, p)
	lines := bufio.NewReader(out)
	first, err := lines.ReadString('\n')
	_, rest, ok := strings.Cut(strings.TrimSpace(first), " at ")
	if err != nil || !ok {
		return nil, fmt.Errorf("%v: %s", args, first)
	}
	p.url, _, _ = strings.Cut(rest, ",")
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	return p, nil
}

func (p *process) end(s os.Signal) {
	_ = p.cmd.Process.Signal(s)
	_ = p.cmd.Wait()
}

func (m *minter) worker(version string) (*process, error) {
	return m.start("worker", "--listen", "127.0.0.1:0", "--version", version, "--read-root", m.tables, "--threads", "1")
}

func (m *minter) name(workers ...*process) error {
	var urls []string
	for _, w := range workers {
		urls = append(urls, w.url)
	}
	if err := os.WriteFile(m.workers+".new", []byte(strings.Join(urls, "\n")+"\n"), 0o600); err != nil {
		return err
	}
	return os.Rename(m.workers+".new", m.workers)
}

func (m *minter) coordinator() (*process, *client.Client, error) {
	p, err := m.start("serve", "--listen", "127.0.0.1:0", "--workers-file", m.workers, "--tables", m.tables, "--event-log", m.log, "--event-log-size", "128KiB")
	if err != nil {
		return nil, nil, err
	}
	c, err := client.New([]string{p.url}, client.Config{})
	return p, c, err
}

// run runs a statement to its end. during is called while it runs, once workers tell of progress; it may be nil.
func (m *minter) run(c *client.Client, statement string, during func(id string)) (*apiv1.QueryEnd, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	var r *client.Result
	o := client.Options{}
	if during != nil {
		o.Progress = func(*apiv1.QueryProgress) {
			if during != nil {
				f := during
				during = nil
				f(r.QueryID)
			}
		}
	}
	r, err := c.Query(ctx, statement, o)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for {
		if _, err = r.Next(); err != nil {
			break
		}
	}
	s := saw{Statement: statement, State: "crashed"}
	if r.End != nil {
		if !r.End.GetLogged() {
			return nil, fmt.Errorf("%s was not logged", r.QueryID)
		}
		s.State, s.Rows, s.Status = "finished", r.End.GetRows(), "succeeded"
		if e := r.End.GetError(); e != nil {
			s.Status, s.Code = "failed", e.GetDetail().GetCode()
			if s.Code == string(sqlerr.Canceled) {
				s.Status = "canceled"
			}
		}
	} else if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s ended without an end", r.QueryID)
	}
	m.Queries[r.QueryID] = s
	return r.End, nil
}

// until waits for something that a server comes to see.
func until(what string, f func() bool) error {
	for range 600 {
		if f() {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return errors.New("it does not come to be that " + what)
}

func (m *minter) used(c *client.Client, version string, n int) error {
	return until(fmt.Sprintf("%d workers of %s are used", n, version), func() bool {
		list, err := c.Workers(context.Background())
		used := 0
		for _, w := range list {
			if w.GetUsed() && w.GetVersion() == version {
				used++
			}
		}
		return err == nil && used == n
	})
}

func mint(bin, tables, out string) (err error) {
	dir, err := os.MkdirTemp("", "fletch-mintlog-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	m := &minter{bin: bin, tables: tables, log: out, workers: filepath.Join(dir, "workers"), Queries: map[string]saw{}}
	defer func() {
		for _, p := range m.running {
			_ = p.cmd.Process.Kill()
			_ = p.cmd.Wait()
		}
	}()
	for _, f := range []func() error{m.ended, m.crashed, m.tooLarge} {
		if err := f(); err != nil {
			return err
		}
	}
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, "queries.json"), append(b, '\n'), 0o666)
}

// ended is a coordinator that sees much and ends in peace.
func (m *minter) ended() error {
	var workers []*process
	for _, v := range []string{"v1", "v1", "v2", "v2"} {
		w, err := m.worker(v)
		if err != nil {
			return err
		}
		workers = append(workers, w)
	}
	if err := m.name(workers[:2]...); err != nil {
		return err
	}
	died := func(string) {
		workers[0].end(syscall.SIGKILL)
		workers[1].end(syscall.SIGKILL)
	}
	p, c, err := m.coordinator()
	if err != nil {
		return err
	}
	defer c.Close()
	if err := m.used(c, "v1", 2); err != nil {
		return err
	}
	for _, q := range []string{
		"SELECT o_orderpriority, count(*) FROM orders, lineitem WHERE o_orderkey = l_orderkey GROUP BY 1 ORDER BY 1",
		"SELECT CAST(l_tax AS double precision) AS f, l_comment FROM lineitem LIMIT 3",
		"SELECT r_name FROM region WHERE r_regionkey < 0",
		"SELECT 1 / (l_linenumber - 1) FROM lineitem",
		"SELECT 'it''s' AS \"größe\", NULL, 1.5",
		"EXPLAIN ANALYZE SELECT count(*) FROM nation",
		"SELECT random() < 2",
	} {
		if _, err := m.run(c, q, nil); err != nil {
			return err
		}
	}
	if _, err := m.run(c, endless, func(id string) { _ = c.Cancel(context.Background(), id) }); err != nil {
		return err
	}
	// The workers die in the middle: the attempt fails, and another version's give the result.
	if err := m.name(workers...); err != nil {
		return err
	}
	if err := until("four workers are known", func() bool {
		list, err := c.Workers(context.Background())
		return err == nil && len(list) == 4
	}); err != nil {
		return err
	}
	if end, err := m.run(c, long, died); err != nil || end.GetAttempts() != 2 || end.GetCohort().GetVersion() != "v2" {
		return fmt.Errorf("the workers' death made no second attempt: %v, %w", end, err)
	}
	if err := m.used(c, "v2", 2); err != nil {
		return err
	}
	for range 2 { // as many as a segment takes
		if _, err := m.run(c, "SELECT l_shipmode, sum(l_quantity) FROM lineitem GROUP BY 1", nil); err != nil {
			return err
		}
	}
	time.Sleep(10 * time.Second) // a heartbeat
	p.end(syscall.SIGTERM)
	for _, w := range workers[2:] {
		w.end(syscall.SIGKILL)
	}
	return nil
}

// crashed is a coordinator that is killed in the middle of a query.
func (m *minter) crashed() error {
	w, err := m.worker("")
	if err != nil {
		return err
	}
	if err := m.name(w); err != nil {
		return err
	}
	p, c, err := m.coordinator()
	if err != nil {
		return err
	}
	defer c.Close()
	if err := m.used(c, "", 1); err != nil {
		return err
	}
	if _, err := m.run(c, "SELECT count(*) FROM supplier", nil); err != nil {
		return err
	}
	_, err = m.run(c, endless, func(string) { p.end(syscall.SIGKILL) })
	return err
}

// tooLarge is the one kind that no query of this size brings about: its writer is a coordinator's, the event is not.
func (m *minter) tooLarge() error {
	w, err := eventlog.Create(m.log, eventlog.Config{Writer: &eventlogv1.SegmentStarted{
		Release: identity.Release(), Build: identity.Build(), Protocol: identity.Protocol(), Api: identity.API().String(), InstanceId: identity.NewInstance(),
	}})
	if err != nil {
		return err
	}
	w.Append("", &eventlogv1.WorkerGone{Reason: strings.Repeat("x", 2*eventlog.MaxLine)})
	return w.Close()
}
