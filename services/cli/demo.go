package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/fletchdb/fletch/services/client"
	"github.com/fletchdb/fletch/services/datagen"
)

// demoScale is the scale factor of the demo's data: 60,000 lineitems.
const demoScale = 0.01

var demoQueries = []struct{ what, sql string }{
	{"Revenue by return flag, from all three workers", `SELECT l_returnflag, l_linestatus, sum(l_quantity) AS quantity, avg(l_discount) AS discount, count(*) AS lines
FROM lineitem GROUP BY 1, 2 ORDER BY 1, 2`},
	{"The ten largest unshipped orders: a join of three tables", `SELECT l_orderkey, sum(l_extendedprice * (1 - l_discount)) AS revenue, o_orderdate
FROM customer JOIN orders ON c_custkey = o_custkey JOIN lineitem ON l_orderkey = o_orderkey
WHERE c_mktsegment = 'BUILDING' AND o_orderdate < DATE '1995-03-15' AND l_shipdate > DATE '1995-03-15'
GROUP BY l_orderkey, o_orderdate ORDER BY revenue DESC, o_orderdate LIMIT 10`},
	{"How that was planned, and what each operator did", `EXPLAIN ANALYZE SELECT n_name, count(*) FROM customer JOIN nation ON c_nationkey = n_nationkey GROUP BY n_name`},
}

func demoCommand(s streams) *cobra.Command {
	var keep bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Start a small cluster on this machine, run queries on it and show what happens",
		Long: `Generates a little TPC-H data, starts a coordinator and three workers as processes of their own on
loopback, runs queries, shows a plan and the workers' versions, and takes everything away
again. With --keep it goes on until it is interrupted, to be tried out.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return demo(cmd.Context(), s, keep) },
	}
	cmd.Flags().BoolVar(&keep, "keep", false, "leave the cluster running until Ctrl-C")
	return cmd
}

func demo(ctx context.Context, s streams, keep bool) (err error) {
	ctx, stop := withParent(ctx)
	defer stop()
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(s.out, format+"\n", args...) }
	say("fletch demo, process %d", os.Getpid())
	dir, err := os.MkdirTemp("", "fletch-demo-")
	if err != nil {
		return fmt.Errorf("make a folder for the data: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return fmt.Errorf("find the folder for the data: %w", err)
	}
	began := time.Now()
	if err := datagen.TPCH(ctx, dir, datagen.TPCHOptions{Scale: demoScale}); err != nil {
		return err
	}
	say("\nTPC-H data of scale factor %v is in %s (%s)", demoScale, dir, time.Since(began).Round(time.Millisecond))

	cluster := &children{dir: dir, errw: s.err}
	defer cluster.stop()
	var urls []string
	for _, version := range []string{"v1", "v1", "v2"} {
		url, pid, err := cluster.start(ctx, "worker", "--listen", "127.0.0.1:0", "--version", version, "--read-root", dir, "--threads", "1")
		if err != nil {
			return err
		}
		urls = append(urls, url)
		say("worker %s  version %s, process %d", url, version, pid)
	}
	server, pid, err := cluster.start(ctx, "serve", "--listen", "127.0.0.1:0", "--workers", strings.Join(urls, ","), "--tables", dir)
	if err != nil {
		return err
	}
	say("coordinator %s  process %d", server, pid)

	c, err := client.New([]string{server}, client.Config{})
	if err != nil {
		return err
	}
	defer c.Close()
	se := &session{streams: s, client: c, flags: sqlFlags{format: "table"}}
	for _, q := range demoQueries {
		say("\n-- %s\n%s;", q.what, q.sql)
		res, err := c.Query(ctx, q.sql, client.Options{})
		if err != nil {
			report(s, q.sql, err)
			return &toldError{err}
		}
		_, err = se.print(res, nil)
		res.Close()
		if err != nil {
			report(s, q.sql, err)
			return &toldError{err}
		}
		var on []string
		for _, w := range res.End.GetWorkers() {
			on = append(on, w.GetUrl()+" "+w.GetVersion())
		}
		if len(on) > 0 {
			say("ran on %s", strings.Join(on, ", "))
		}
	}
	say("\n-- The workers. The one of version v2 is alone, so no query runs on it: versions never meet in one query.")
	workers, err := c.Workers(ctx)
	if err != nil {
		return err
	}
	t := &tableData{columns: []string{"url", "version", "state", "used", "reason"}}
	for _, w := range workers {
		t.rows = append(t.rows, []any{w.GetUrl(), w.GetVersion(), state(w), w.GetUsed(), w.GetReasonDetail()})
	}
	if err := t.print(s, "table"); err != nil {
		return err
	}
	if keep {
		say("\nThe cluster stays until Ctrl-C. Try, in another terminal:\n  fletch sql --connect %s -c \"SELECT count(*) FROM lineitem\"", server)
		<-ctx.Done()
		return nil
	}
	say("\nThat was it. Everything is gone again; fletch demo --keep leaves it running.")
	return nil
}

// parentCheck is how often a process looks whether its parent is still there.
const parentCheck = 200 * time.Millisecond

// withParent is ctx that also ends when this process's parent dies: go run, which passes no signal on, may be killed above us.
func withParent(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	parent := os.Getppid()
	go func() {
		t := time.NewTicker(parentCheck)
		defer t.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-t.C:
				if os.Getppid() != parent {
					cancel()
					return
				}
			}
		}
	}()
	return ctx, cancel
}

// envTether is the variable that ties a server to the process that started it: the server ends when its standard input does,
// and removes the folder that the variable names.
const envTether = "FLETCH_TETHER"

// tethered is ctx that ends when whoever started this process is gone. The returned function removes what both leave behind.
func tethered(ctx context.Context, in io.Reader) (context.Context, func()) {
	dir := os.Getenv(envTether)
	if dir == "" {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	gone := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, in)
		close(gone)
		cancel()
	}()
	return ctx, func() {
		cancel()
		select {
		case <-gone:
			_ = os.RemoveAll(dir)
		default:
		}
	}
}

// children are the processes of a demo. Each holds the read end of a pipe that closes when this process ends, however it ends.
type children struct {
	dir  string
	errw io.Writer
	list []*child
}

type child struct {
	cmd  *exec.Cmd
	hold io.Closer
	done chan struct{}
}

// start starts fletch with args and gives the URL that it says it is at.
func (c *children) start(ctx context.Context, args ...string) (url string, pid int, err error) {
	self, err := os.Executable()
	if err != nil {
		return "", 0, fmt.Errorf("find the program itself: %w", err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), envTether+"="+c.dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for the demo, which ends its children itself
	hold, err := cmd.StdinPipe()
	if err != nil {
		return "", 0, fmt.Errorf("start %s: %w", args[0], err)
	}
	out, err := cmd.StderrPipe()
	if err != nil {
		return "", 0, fmt.Errorf("start %s: %w", args[0], err)
	}
	if err := cmd.Start(); err != nil {
		return "", 0, fmt.Errorf("start %s: %w", args[0], err)
	}
	ch := &child{cmd: cmd, hold: hold, done: make(chan struct{})}
	c.list = append(c.list, ch)
	said := make(chan string, 1)
	go func() {
		defer close(ch.done)
		lines := bufio.NewScanner(out)
		var last string
		first := true
		for lines.Scan() {
			last = lines.Text()
			if _, rest, ok := strings.Cut(last, " at "); ok && first {
				first = false
				url, _, _ := strings.Cut(rest, ",")
				said <- url
			}
		}
		_, _ = io.Copy(io.Discard, out)
		if first {
			said <- "error " + last
		}
		_ = cmd.Wait()
	}()
	select {
	case url := <-said:
		if failed, ok := strings.CutPrefix(url, "error "); ok {
			return "", 0, fmt.Errorf("start %s: %s", args[0], failed)
		}
		return url, cmd.Process.Pid, nil
	case <-time.After(20 * time.Second):
		return "", 0, fmt.Errorf("start %s: it did not say where it listens within 20 s", args[0])
	case <-ctx.Done():
		return "", 0, context.Cause(ctx)
	}
}

// stop ends every child and waits for it.
func (c *children) stop() {
	for _, ch := range c.list {
		_ = ch.cmd.Process.Signal(syscall.SIGTERM)
	}
	limit := time.After(5 * time.Second)
	for _, ch := range c.list {
		select {
		case <-ch.done:
		case <-limit:
			_ = ch.cmd.Process.Kill()
			<-ch.done
		}
		_ = ch.hold.Close()
	}
}
