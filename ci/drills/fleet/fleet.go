// Package fleet is what the workers of the rollout drill have in common: programs of a user who embeds a worker, under a version and
// with functions of his own. Nothing that ships may import it.
package fleet

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/fletchdb/fletch/engine/function"
	"github.com/fletchdb/fletch/services/worker"
)

// Main runs a worker until SIGTERM. An address that another process still has is waited for, so that a successor stands ready when
// its predecessor ends: nobody could take over sooner.
func Main(version string, functions ...function.Function) {
	listen := flag.String("listen", "127.0.0.1:0", "HOST:PORT")
	root := flag.String("read-root", ".", "folder that may be read")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	options := []worker.Option{worker.WithVersion(version), worker.WithListen(*listen), worker.WithReadRoots(*root), worker.WithThreads(2)}
	for _, f := range functions {
		options = append(options, worker.WithFunction(f))
	}
	w, err := worker.New(options...)
	if errors.Is(err, syscall.EADDRINUSE) {
		fmt.Println("waits")
	}
	for ; errors.Is(err, syscall.EADDRINUSE) && ctx.Err() == nil; w, err = worker.New(options...) {
		time.Sleep(time.Millisecond)
	}
	if err != nil {
		log.Fatal(err)
	}
	fmt.Fprintf(os.Stderr, "worker %s at %s, instance %s\n", version, w.URL(), w.Instance())
	if err := w.Serve(ctx); err != nil {
		log.Fatal(err)
	}
}

// Mark is a function whose answer tells which version gave it: 10 times its argument, plus digit. As people will, its author has not
// raised the version that it declares, so that nothing in a plan tells one from the other: only the worker's version does.
func Mark(digit int64) function.Scalar {
	return integers("mark", "1", func(v int64) int64 { return v*10 + digit })
}

// Novel is a function that only the newer version has.
func Novel() function.Scalar {
	return integers("novel", "1", func(v int64) int64 { return v + 1000 })
}

func integers(name, version string, of func(int64) int64) function.Scalar {
	return function.Scalar{
		Name: name, Signatures: []string{"(BIGINT) RETURNS BIGINT"}, Version: version,
		Call: func(_ context.Context, args []arrow.Array, rows int) (arrow.Array, error) {
			b := array.NewInt64Builder(memory.DefaultAllocator)
			defer b.Release()
			for _, v := range args[0].(*array.Int64).Int64Values()[:rows] {
				b.Append(of(v))
			}
			return b.NewArray(), nil
		},
	}
}
