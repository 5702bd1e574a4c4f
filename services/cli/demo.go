package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fletchdb/fletch/services/client"
	"github.com/fletchdb/fletch/services/datagen"
)

// demoScale is the scale factor of the demo's data: 60,000 lineitems.
const demoScale = 0.01

// demoVersions are the versions of the demo's workers. The odd one out runs no query.
var demoVersions = []string{"v1", "v1", "v2"}

var demoQueries = []struct{ what, sql string }{
	{"Revenue by return flag: both workers of v1 read a half and add up, one of them puts the halves together", `SELECT l_returnflag, l_linestatus, sum(l_quantity) AS quantity, avg(l_discount) AS discount, count(*) AS lines
FROM lineitem GROUP BY 1, 2 ORDER BY 1, 2`},
	{"The ten largest unshipped orders: a join of three tables", `SELECT l_orderkey, sum(l_extendedprice * (1 - l_discount)) AS revenue, o_orderdate
FROM customer JOIN orders ON c_custkey = o_custkey JOIN lineitem ON l_orderkey = o_orderkey
WHERE c_mktsegment = 'BUILDING' AND o_orderdate < DATE '1995-03-15' AND l_shipdate > DATE '1995-03-15'
GROUP BY l_orderkey, o_orderdate ORDER BY revenue DESC, o_orderdate LIMIT 10`},
	{"How a query is planned, and what each operator did", `EXPLAIN ANALYZE SELECT n_name, count(*) FROM customer JOIN nation ON c_nationkey = n_nationkey GROUP BY n_name`},
}

func demoCommand(p *process) *cobra.Command {
	var keep bool
	cmd := &cobra.Command{
		Use:   "demo [flags]",
		Short: "Start a small cluster on this machine, run queries on it and show what happens",
		Long: `Generates a little TPC-H data, starts a coordinator and three workers as processes of their own on
loopback, runs queries, shows a plan and the workers' versions, and takes everything away
again. With --keep it goes on until it is interrupted, to be tried out.`,
		Example: `  fletch demo
  fletch demo --keep`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := withParent(cmd.Context())
			defer stop()
			d := &demo{process: p, keep: keep}
			return errors.Join(d.run(ctx), d.close())
		},
	}
	cmd.Flags().BoolVar(&keep, "keep", false, "leave the cluster running until Ctrl-C")
	return cmd
}

// A demo is a cluster with data, and what is shown of it.
type demo struct {
	process *process
	keep    bool
	dir     string
	cluster children
	server  string
}

func (d *demo) say(format string, args ...any) {
	_, _ = fmt.Fprintf(d.process.out, format+"\n", args...)
}

// close ends the children and removes the folder.
func (d *demo) close() error {
	d.cluster.stop()
	if d.dir == "" {
		return nil
	}
	return os.RemoveAll(d.dir)
}

func (d *demo) run(ctx context.Context) error {
	d.say("fletch demo, process %d", os.Getpid())
	for _, step := range []func(context.Context) error{d.workers, d.data, d.coordinator, d.queries, d.versions} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	if d.keep {
		d.say("\nThe cluster stays until Ctrl-C. In another terminal, try:\n  fletch sql --connect %s -c \"SELECT count(*) FROM lineitem\"", d.server)
		<-ctx.Done()
		return &toldError{context.Cause(ctx)}
	}
	d.say("\nThat was it. Everything is gone again; fletch demo --keep leaves it running.")
	return nil
}

// workers starts the workers, the first of which makes the folder: whenever this process dies, there is one left to remove it.
func (d *demo) workers(ctx context.Context) error {
	temp, err := filepath.EvalSymlinks(os.TempDir())
	if err != nil {
		return fmt.Errorf("find the folder for temporary files: %w", err)
	}
	if err := os.Setenv("TMPDIR", temp); err != nil { // the children shall mean the same folder
		return err
	}
	d.dir = filepath.Join(temp, tetherPrefix+rand.Text())
	d.cluster.dir = d.dir
	for _, version := range demoVersions {
		w, err := d.cluster.start(ctx, "worker", "--listen", "127.0.0.1:0", "--version", version, "--read-root", d.dir, "--threads", "1")
		if err != nil {
			return err
		}
		d.say("worker       %s, process %d, version %s", w.url, w.cmd.Process.Pid, version)
	}
	return nil
}

func (d *demo) data(ctx context.Context) error {
	began := time.Now()
	if err := datagen.TPCH(ctx, d.dir, datagen.TPCHOptions{Scale: demoScale}); err != nil {
		return err
	}
	d.say("data         TPC-H at scale factor %v in %s, made in %s", demoScale, d.dir, elapsed(time.Since(began)))
	return nil
}

func (d *demo) coordinator(ctx context.Context) error {
	var urls []string
	for _, w := range d.cluster.list {
		urls = append(urls, w.url)
	}
	c, err := d.cluster.start(ctx, "serve", "--listen", "127.0.0.1:0", "--workers", strings.Join(urls, ","), "--tables", d.dir)
	if err != nil {
		return err
	}
	d.say("coordinator  %s, process %d", c.url, c.cmd.Process.Pid)
	d.server = c.url
	return nil
}

// queries runs the demo's queries as fletch sql would.
func (d *demo) queries(ctx context.Context) error {
	c, err := client.New([]string{d.server}, client.Config{})
	if err != nil {
		return err
	}
	on := &watched{cluster: cluster{client: c}}
	defer on.close()
	se := &session{process: d.process, on: on, to: destinationOf(d.process, "table")}
	se.to.since = time.Now()
	for _, q := range demoQueries {
		d.say("\n-- %s\n%s;", q.what, q.sql)
		if err := se.run(ctx, source{statement: q.sql}); err != nil {
			return err
		}
		var ran []string
		for _, w := range on.last.End.GetWorkers() {
			ran = append(ran, w.GetUrl()+" ("+w.GetVersion()+")")
		}
		if len(ran) > 0 {
			d.say("ran on %s", strings.Join(ran, ", "))
		}
	}
	return nil
}

// watched is a cluster that remembers its last result.
type watched struct {
	cluster
	last *clusterResult
}

func (w *watched) start(ctx context.Context, statement string, shows *progress) (result, error) {
	res, err := w.cluster.start(ctx, statement, shows)
	w.last, _ = res.(*clusterResult)
	return res, err
}

func (d *demo) versions(ctx context.Context) error {
	c, err := client.New([]string{d.server}, client.Config{})
	if err != nil {
		return err
	}
	defer c.Close()
	list, err := c.Workers(ctx)
	if err != nil {
		return err
	}
	d.say("\n-- The workers. The one of version v2 is alone, so no query runs on it: versions never meet in one query.")
	return workerListing(list, true).without("instance", "build", "capabilities", "protocol", "refusals", "last_refusal").print(d.process, "table")
}
