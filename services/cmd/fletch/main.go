// Command fletch is distributed Arrow SQL: fletch --help tells the rest.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/fletchdb/fletch/services/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(cli.Run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) // Run is main without the process
}
