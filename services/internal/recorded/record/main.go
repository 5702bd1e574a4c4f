// Record writes what a coordinator answers into a folder, for testdata of package recorded. The coordinator has TPC-H's tables at
// scale 0.01. It runs once per release, on the release's own binary: ci/record.
//
//	record URL MINOR DIR
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"

	_ "github.com/fletchdb/fletch/gen/go/fletch/api/v1" // the schema
	"github.com/fletchdb/fletch/services/internal/recorded"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("usage: record URL MINOR DIR")
	}
	minor, err := strconv.ParseUint(args[1], 10, 16)
	if err != nil {
		return err
	}
	return recorded.Record(context.Background(), args[0], uint32(minor), args[2])
}
