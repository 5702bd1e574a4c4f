// Command fletch is distributed Arrow SQL: fletch --help tells the rest.
package main

import (
	"os"

	"github.com/fletchdb/fletch/services/cli"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) // Main is all of it but the process
}
