package cli

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A demo's children are tethered to it: each holds the read end of a pipe that closes when the demo ends, however it ends, and
// knows the folder that both leave behind.

// envTether is the variable that tethers a server to the process that started it, and names their folder.
const envTether = "FLETCH_TETHER"

// tetherPrefix begins the name of such a folder, which is directly in the folder for temporary files: no other is ever removed.
const tetherPrefix = "fletch-demo-"

// tetherDir is the folder that envTether names, "" if it names none.
func tetherDir() string {
	dir := os.Getenv(envTether)
	if filepath.Dir(dir) != filepath.Clean(os.TempDir()) || !strings.HasPrefix(filepath.Base(dir), tetherPrefix) {
		return ""
	}
	return dir
}

// tether makes the folder that tethers this process to the one that started it, and ends this process, with the folder, as soon as
// that one is gone: nobody is left to wait for what runs here. Without a tether it does nothing.
//
// The starter uses the folder only once a child has made it: so there is always a process that will remove it.
func tether(in io.Reader) {
	dir := tetherDir()
	if dir == "" {
		return
	}
	_ = os.Mkdir(dir, 0o700) // another child may have been first; if nobody can, opening it will say why
	go func() {
		_, _ = io.Copy(io.Discard, in)
		_ = os.RemoveAll(dir)
		os.Exit(exitInterrupted)
	}()
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
