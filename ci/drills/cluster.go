package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// A process is a server.
type process struct {
	args  []string // with the port it got, so that it can be started again in place
	url   string
	first string // line that it printed
	cmd   *exec.Cmd
	log   chan struct{} // closed when its log has ended
}

func start(bin string, args ...string) (*process, error) {
	p, err := begin(exec.Command(bin, args...), nil)
	if err != nil {
		return nil, err
	}
	p.args = args
	for i, a := range p.args {
		if a == "127.0.0.1:0" {
			p.args[i] = strings.TrimPrefix(p.url, "http://")
		}
	}
	return p, nil
}

// begin starts a server and reads from its first line where it is. waiting, if not nil, is closed when it says before that it waits
// for its address.
func begin(cmd *exec.Cmd, waiting chan<- struct{}) (*process, error) {
	p := &process{cmd: cmd, log: make(chan struct{})}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := p.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	says, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go announce(says, waiting)
	lines := bufio.NewReader(out)
	p.first, err = lines.ReadString('\n')
	_, rest, ok := strings.Cut(strings.TrimSpace(p.first), " at ")
	if err != nil || !ok {
		p.kill()
		return nil, fmt.Errorf("%s did not start: %s", strings.Join(cmd.Args, " "), p.first)
	}
	p.url, _, _ = strings.Cut(rest, ",")
	go func() {
		defer close(p.log)
		_, _ = io.Copy(io.Discard, lines)
	}()
	return p, nil
}

// instance is what a worker of ci/drills/fleet says it is.
func (p *process) instance() string {
	_, id, _ := strings.Cut(strings.TrimSpace(p.first), ", instance ")
	return id
}

// kill ends the process as a machine that goes away would.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// A cluster is a coordinator and workers, all processes of their own.
type cluster struct {
	bin, data   string
	workers     []*process
	coordinator *process
}

// startCluster generates data and starts workers of version v1.
func startCluster(ctx context.Context, bin, data string, workers int) (c *cluster, err error) {
	if out, err := exec.CommandContext(ctx, bin, "datagen", "tpch", "--scale", "0.1", "--out", data).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("generate data: %w\n%s", err, out)
	}
	c = &cluster{bin: bin, data: data}
	defer func() {
		if err != nil {
			c.stop()
		}
	}()
	var urls []string
	for range workers {
		w, err := start(bin, "worker", "--listen", "127.0.0.1:0", "--version", "v1", "--read-root", data, "--threads", "2")
		if err != nil {
			return c, err
		}
		c.workers = append(c.workers, w)
		urls = append(urls, w.url)
	}
	c.coordinator, err = start(bin, "serve", "--listen", "127.0.0.1:0", "--tables", data, "--workers", strings.Join(urls, ","))
	if err != nil {
		return c, err
	}
	return c, c.settle(ctx)
}

func (c *cluster) stop() {
	for _, p := range append(c.workers, c.coordinator) {
		if p != nil {
			p.kill()
		}
	}
}

// again starts a process that was killed anew, in its place.
func (c *cluster) again(p *process) error {
	fresh, err := start(c.bin, p.args...)
	if err != nil {
		return err
	}
	*p = *fresh
	return nil
}

// settle waits until the coordinator uses every worker, in the process that runs now: after a restart it may not have asked yet.
func (c *cluster) settle(ctx context.Context) error {
	return until(ctx, 20*time.Second, "the coordinator uses every worker", func() bool {
		var got struct {
			Workers []struct {
				InstanceID string
				Used       bool
			}
		}
		if post(ctx, c.coordinator.url+"/fletch.api.v1.ClusterService/ListWorkers", &got) != nil {
			return false
		}
		used := map[string]bool{}
		for _, w := range got.Workers {
			used[w.InstanceID] = w.Used
		}
		for _, w := range c.workers {
			if is, err := w.info(ctx); err != nil || !used[is.InstanceID] {
				return false
			}
		}
		return true
	})
}

// info is who a worker is and what it holds.
type info struct {
	InstanceID string
	Load       load
}

// load is what a worker holds.
type load struct {
	Attempts, Tasks int
	MemoryUsed      string
}

func (p *process) load(ctx context.Context) (load, error) {
	is, err := p.info(ctx)
	return is.Load, err
}

func (p *process) info(ctx context.Context) (info, error) {
	var got info
	err := post(ctx, p.url+"/fletch.worker.v1.WorkerService/WorkerInfo", &got)
	return got, err
}

// busy waits until every worker has tasks.
func (c *cluster) busy(ctx context.Context) error {
	return until(ctx, 20*time.Second, "every worker has tasks", func() bool {
		for _, w := range c.workers {
			if l, err := w.load(ctx); err != nil || l.Tasks == 0 {
				return false
			}
		}
		return true
	})
}

// idle tells how long it takes until the workers hold nothing of any query.
func (c *cluster) idle(ctx context.Context) (time.Duration, error) {
	begin := time.Now()
	err := until(ctx, 20*time.Second, "the workers hold nothing", func() bool {
		for _, w := range c.workers {
			if l, err := w.load(ctx); err != nil || l.Attempts+l.Tasks > 0 {
				return false
			}
		}
		return true
	})
	return time.Since(begin), err
}

func until(ctx context.Context, limit time.Duration, what string, ok func() bool) error {
	over := time.After(limit)
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for !ok() {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		case <-over:
			return errors.New("waited in vain until " + what)
		}
	}
	return nil
}

// post calls a procedure with an empty request.
func post(ctx context.Context, url string, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader("{}"))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return errors.New(res.Status)
	}
	return json.NewDecoder(res.Body).Decode(answer)
}

// A query is fletch sql on the cluster.
type query struct {
	cmd    *exec.Cmd
	out    io.ReadCloser
	errors bytes.Buffer
	began  time.Time
}

// queryLimit is how long a query may take, whatever is done to it.
const queryLimit = 60 * time.Second

func (c *cluster) query(ctx context.Context, format, statement string) (*query, error) {
	q := &query{began: time.Now()}
	q.cmd = exec.CommandContext(ctx, c.bin, "sql", "--connect", c.coordinator.url, "--stats", "--format", format, "-c", statement)
	q.cmd.Stderr = &q.errors
	var err error
	if q.out, err = q.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	return q, q.cmd.Start()
}

// stats is the line that --stats prints.
type stats struct {
	Rows     int64
	Attempts int
	Workers  []struct{ URL, Version string }
	Error    *struct{ Code, Message string }
}

// end reads what is left of the output, and gives all that is known of the query then.
func (q *query) end(first []byte) (out []byte, s stats, code int, took time.Duration, err error) {
	overdue := time.AfterFunc(queryLimit-time.Since(q.began), func() { _ = q.cmd.Process.Kill() })
	defer overdue.Stop()
	rest, err := io.ReadAll(q.out)
	if err != nil {
		return nil, s, 0, 0, err
	}
	err = q.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return nil, s, 0, 0, err
	}
	lines := strings.Split(strings.TrimSpace(q.errors.String()), "\n")
	_ = json.Unmarshal([]byte(lines[len(lines)-1]), &s)
	return append(first, rest...), s, q.cmd.ProcessState.ExitCode(), time.Since(q.began), nil
}
