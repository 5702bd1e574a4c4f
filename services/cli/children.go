package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// How long a child may take to say where it listens, and to end once it was told to.
const (
	childStart = 20 * time.Second
	childEnd   = 500 * time.Millisecond
)

// children are servers that this process runs as processes of their own, tethered to it.
type children struct {
	dir  string // that is theirs and this process's
	list []*child
}

type child struct {
	url  string
	cmd  *exec.Cmd
	hold io.Closer     // whose end the child notices
	done chan struct{} // closed when it has ended
}

// start starts fletch with args, a server, and waits until it says where it listens.
func (c *children) start(ctx context.Context, args ...string) (*child, error) {
	fail := func(err error) (*child, error) { return nil, fmt.Errorf("start %s: %w", args[0], err) }
	self, err := os.Executable()
	if err != nil {
		return fail(err)
	}
	ch := &child{cmd: exec.Command(self, args...), done: make(chan struct{})}
	ch.cmd.Args[0] = "fletch"
	ch.cmd.Env = append(unconfigured(os.Environ()), envTether+"="+c.dir)
	ch.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for this process, which ends its children itself
	if ch.hold, err = ch.cmd.StdinPipe(); err != nil {
		return fail(err)
	}
	out, err := ch.cmd.StderrPipe()
	if err != nil {
		return fail(err)
	}
	if err := ch.cmd.Start(); err != nil {
		return fail(err)
	}
	c.list = append(c.list, ch)
	said := make(chan string, 1)
	go ch.listen(out, said)
	limit := time.NewTimer(childStart)
	defer limit.Stop()
	select {
	case line := <-said:
		_, rest, ok := strings.Cut(line, " at ")
		if !ok {
			return fail(fmt.Errorf("it says %q", line))
		}
		ch.url, _, _ = strings.Cut(rest, ",")
		return ch, nil
	case <-limit.C:
		return fail(fmt.Errorf("it did not say where it listens within %s", childStart))
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// unconfigured is an environment without what configures fletch: children are what their starter says, whatever the user's own servers are.
func unconfigured(env []string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(v string) bool { return strings.HasPrefix(v, envPrefix) })
	return append(env, envPrefix+"CONFIG="+os.DevNull)
}

// listen gives the first line that the child says, drops the rest and waits for its end.
func (ch *child) listen(out io.Reader, said chan<- string) {
	defer close(ch.done)
	lines := bufio.NewReader(out)
	line, _ := lines.ReadString('\n')
	said <- strings.TrimSpace(line)
	_, _ = io.Copy(io.Discard, lines)
	_ = ch.cmd.Wait()
}

// stop ends every child and waits for it.
func (c *children) stop() {
	for _, ch := range c.list {
		_ = ch.cmd.Process.Signal(syscall.SIGTERM)
	}
	limit := time.After(childEnd)
	for _, ch := range c.list {
		select {
		case <-ch.done:
		case <-limit:
			c.kill()
			<-ch.done
		}
		_ = ch.hold.Close()
	}
}

func (c *children) kill() {
	for _, ch := range c.list {
		_ = ch.cmd.Process.Kill()
	}
}
