// Command bench compares Fletch with its peers, in one run, as ratios: whole processes that do the same job in turn, their CPU time
// read from outside. See ci/bench.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"sort"
	"strings"
	"syscall"
)

var benches = map[string]func(context.Context, []string) error{"answers": answers, "eventlog": eventlog, "joinorder": joinOrder, "tpch": tpch, "transport": transport}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) < 2 || benches[os.Args[1]] == nil {
		var names []string
		for n := range benches {
			names = append(names, n)
		}
		sort.Strings(names)
		fmt.Fprintf(os.Stderr, "usage: ci/bench %s [flags]; -h after a name shows its flags\n", strings.Join(names, "|"))
		os.Exit(2)
	}
	if err := benches[os.Args[1]](ctx, os.Args[2:]); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			os.Exit(2)
		}
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}
