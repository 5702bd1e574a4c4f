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
	"syscall"
	"time"
)

// A process is one that this one started, and ends with it.
type process struct{ cmd *exec.Cmd }

// start starts fletch as a server and waits until it says where it listens.
func start(bin string, args ...string) (*process, string, error) {
	p := &process{exec.Command(bin, args...)}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := p.cmd.StderrPipe()
	if err != nil {
		return nil, "", err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, "", err
	}
	lines := bufio.NewReader(out)
	first, err := lines.ReadString('\n')
	_, rest, ok := strings.Cut(strings.TrimSpace(first), " at ")
	if err != nil || !ok {
		p.kill()
		return nil, "", fmt.Errorf("fletch %s did not start: %s", args[0], first)
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	url, _, _ := strings.Cut(rest, ",")
	return p, url, nil
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// cpu is the time that all threads of the process have had of a core.
func (p *process) cpu() (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 13 {
		return 0, fmt.Errorf("read CPU time: %q", text)
	}
	var ticks uint64
	for _, f := range fields[11:13] { // user and system
		n, err := strconv.ParseUint(f, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read CPU time: %w", err)
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / 100, nil // clock ticks of Linux's interface are 1/100 s
}

// memory is the process's resident memory in MiB.
func (p *process) memory() (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	var kib float64
	_, err = fmt.Sscan(rest, &kib)
	return kib / 1024, err
}

func datagen(ctx context.Context, bin, dir string) error {
	if out, err := exec.CommandContext(ctx, bin, "datagen", "tpch", "--scale", "0.01", "--out", dir).CombinedOutput(); err != nil {
		return fmt.Errorf("generate data: %w\n%s", err, out)
	}
	return nil
}

// A simulation is the process of the simulated workers. It takes a word per line and answers with a line of JSON.
type simulation struct {
	process
	urls []string
	in   io.WriteCloser
	out  *bufio.Reader
}

func startSimulation(workers int, like string) (*simulation, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	s := &simulation{process: process{exec.Command(self, "--like", like, "--workers", strconv.Itoa(workers))}}
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	s.cmd.Stderr = os.Stderr
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.out = bufio.NewReader(out)
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	if err := s.answer(&s.urls); err != nil {
		s.kill()
		return nil, fmt.Errorf("start simulated workers: %w", err)
	}
	return s, nil
}

func (s *simulation) answer(to any) error {
	line, err := s.out.ReadBytes('\n')
	if err != nil {
		return err
	}
	return json.Unmarshal(line, to)
}

// report tells what the workers saw since the last report.
func (s *simulation) report() (r report, err error) {
	if _, err := io.WriteString(s.in, "report\n"); err != nil {
		return r, err
	}
	return r, s.answer(&r)
}

// churn begins or ends the replacing of workers.
func (s *simulation) churn(on bool) error {
	_, err := fmt.Fprintf(s.in, "churn %t\n", on)
	return err
}
