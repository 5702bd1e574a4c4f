package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A process is a child whose CPU time is read from outside.
type process struct {
	name string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader // standard output or, of Fletch, standard error
}

func (p *process) kill() {
	_ = p.in.Close()
	_ = p.cmd.Process.Signal(unix.SIGTERM)
	done := make(chan struct{})
	go func() { _ = p.cmd.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(5 * time.Second):
		_ = p.cmd.Process.Kill()
		<-done
	}
}

// cpu is the CPU time of a process, all threads that it ever had, user and system.
func (p *process) cpu() (time.Duration, error) {
	// The clock of another process: its id in the upper bits, then 2 for the scheduler's count (clock_getcpuclockid(3)).
	clock := int32(^p.cmd.Process.Pid<<3 | 2)
	var ts unix.Timespec
	if err := unix.ClockGettime(clock, &ts); err != nil {
		return 0, fmt.Errorf("read CPU clock of %s: %w", p.name, err)
	}
	return time.Duration(ts.Nano()), nil
}

// peak is the most memory that a process had resident, in bytes.
func (p *process) peak() int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kb << 10
		}
	}
	return 0
}

// A runner answers queries with processes of its own.
type runner interface {
	// query runs one query and gives its rows; the time is the wall's.
	query(ctx context.Context, sql string) (rows [][]*string, elapsed time.Duration, err error)
	processes() []*process
	close()
}

func totalCPU(r runner) (time.Duration, error) {
	var sum time.Duration
	for _, p := range r.processes() {
		c, err := p.cpu()
		if err != nil {
			return 0, err
		}
		sum += c
	}
	return sum, nil
}

// duck is DuckDB.
type duck struct{ p *process }

func startDuck(bin, tables string, threads int, memory string) (*duck, error) {
	cmd := exec.Command(bin, "--tables", tables, "--threads", strconv.Itoa(threads), "--memory", memory)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	d := &duck{&process{"duckdb", cmd, in, bufio.NewReaderSize(out, 1<<20)}}
	if _, err := d.p.out.ReadBytes('\n'); err != nil {
		return nil, fmt.Errorf("start DuckDB: %w", err)
	}
	return d, nil
}

func (d *duck) query(_ context.Context, sql string) ([][]*string, time.Duration, error) {
	a, elapsed, err := d.ask(sql)
	return a.Rows, elapsed, err
}

// An answer is what the runner says to one query.
type answer struct {
	Columns []string
	Rows    [][]*string
	Error   string
}

func (d *duck) ask(sql string) (a answer, elapsed time.Duration, err error) {
	line, err := json.Marshal(sql)
	if err != nil {
		return a, 0, err
	}
	began := time.Now()
	if _, err := d.p.in.Write(append(line, '\n')); err != nil {
		return a, 0, err
	}
	got, err := d.p.out.ReadBytes('\n')
	elapsed = time.Since(began)
	if err != nil {
		return a, 0, fmt.Errorf("read DuckDB's answer: %w", err)
	}
	if err := json.Unmarshal(got, &a); err != nil {
		return a, 0, err
	}
	if a.Error != "" {
		return a, 0, fmt.Errorf("DuckDB: %s", a.Error)
	}
	return a, elapsed, nil
}

func (d *duck) processes() []*process { return []*process{d.p} }
func (d *duck) close()                { d.p.kill() }

// fletch is Fletch, embedded in the process of fletch sql or, with servers, on a cluster.
type fletch struct {
	p       *process
	servers []*process
	results *os.File // standard output of fletch sql
	at      int64
}

func startFletch(ctx context.Context, bin, tables string, threads int, memory string, workers int) (f *fletch, err error) {
	f = &fletch{}
	defer func() {
		if err != nil {
			f.close()
		}
	}()
	args := []string{"sql", "--stats", "--format", "csv"}
	if workers == 0 {
		args = append(args, "--tables", tables, "--threads", strconv.Itoa(threads))
		if memory != "" {
			args = append(args, "--memory", memory)
		}
	} else {
		var urls []string
		for range workers {
			w := []string{"worker", "--listen", "127.0.0.1:0", "--read-root", tables, "--threads", "1"}
			if memory != "" {
				w = append(w, "--memory", memory)
			}
			url, err := f.serve(ctx, bin, w...)
			if err != nil {
				return nil, err
			}
			urls = append(urls, url)
		}
		url, err := f.serve(ctx, bin, "serve", "--listen", "127.0.0.1:0", "--tables", tables, "--workers", strings.Join(urls, ","))
		if err != nil {
			return nil, err
		}
		args = append(args, "--connect", url)
	}
	if f.results, err = os.CreateTemp("", "fletch-bench-"); err != nil {
		return nil, err
	}
	_ = os.Remove(f.results.Name())
	cmd := exec.Command(bin, args...)
	cmd.Stdout = f.results
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	f.p = &process{"fletch sql", cmd, in, bufio.NewReaderSize(out, 1<<20)}
	return f, nil
}

// serve starts a server of Fletch and gives its URL.
func (f *fletch) serve(ctx context.Context, bin string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, bin, args...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return "", err
	}
	out, err := cmd.StderrPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	p := &process{"fletch " + args[0], cmd, in, bufio.NewReader(out)}
	f.servers = append(f.servers, p)
	line, err := p.out.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("start %s: %w", p.name, err)
	}
	go func() { _, _ = io.Copy(io.Discard, p.out) }()
	_, rest, ok := strings.Cut(strings.TrimSpace(line), " at ")
	if !ok {
		return "", fmt.Errorf("start %s: %s", p.name, line)
	}
	url, _, _ := strings.Cut(rest, ",")
	return url, nil
}

func (f *fletch) query(_ context.Context, sql string) ([][]*string, time.Duration, error) {
	data, elapsed, err := f.send(sql)
	if err != nil {
		return nil, 0, err
	}
	rows, err := readCSV(data)
	return rows, elapsed, err
}

// send runs one statement and gives what it printed.
func (f *fletch) send(sql string) (printed string, elapsed time.Duration, err error) {
	text := strings.TrimRight(strings.TrimSpace(sql), ";") + ";\n"
	began := time.Now()
	if _, err := io.WriteString(f.p.in, text); err != nil {
		return "", 0, err
	}
	line, err := f.p.out.ReadString('\n')
	elapsed = time.Since(began)
	if err != nil {
		return "", 0, fmt.Errorf("read Fletch's answer: %w %s", err, line)
	}
	if !strings.HasPrefix(line, "{") {
		rest, _ := f.p.out.ReadString('\n')
		return "", 0, fmt.Errorf("fletch: %s%s", line, rest)
	}
	data, err := io.ReadAll(io.NewSectionReader(f.results, f.at, 1<<40))
	if err != nil {
		return "", 0, err
	}
	f.at += int64(len(data))
	return string(data), elapsed, nil
}

func (f *fletch) processes() []*process {
	return append([]*process{f.p}, f.servers...)
}

func (f *fletch) close() {
	if f.p != nil {
		f.p.kill()
	}
	for _, s := range f.servers {
		s.kill()
	}
	if f.results != nil {
		_ = f.results.Close()
	}
}
