// Command fuzz asks the same random queries over the same random tables of several engines and shows where their answers differ:
// Fletch embedded against DuckDB, and against Fletch on three workers. What differs is made small and printed as an .slt file.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"time"
)

func main() {
	minutes := flag.Float64("minutes", 30, "how long")
	pairings := flag.String("pairings", "duckdb,cluster", "what embedded is compared with: duckdb, cluster or both")
	c := config{stacks: os.Stderr}
	flag.Uint64Var(&c.seed, "seed", uint64(time.Now().UnixNano()), "what tables and queries are made from")
	flag.Uint64Var(&c.first, "set", 0, "begin with this set of tables, to see a difference again")
	flag.Uint64Var(&c.sets, "sets", 1<<40, "end after so many sets")
	flag.IntVar(&c.perSet, "queries", 100, "queries per set of tables")
	flag.DurationVar(&c.deadline, "deadline", 20*time.Second, "of one query")
	flag.StringVar(&c.found, "found", "", "folder for the .slt files of differences; empty: they are only printed")
	flag.IntVar(&c.most, "stop", 1, "end after so many differences; 0: never")
	flag.BoolVar(&c.complete, "complete", false, "fail where an operator, a kind of join or a function was never reached; on from 20 minutes")
	flag.BoolVar(&c.examples, "examples", false, "print an example of each kind of refusal")
	flag.Parse()
	c.pairings = strings.Split(*pairings, ",")
	c.complete = c.complete || *minutes >= 20
	c.began = time.Now()
	c.until = c.began.Add(time.Duration(*minutes * float64(time.Minute)))
	f := newFuzz(c)
	if err := f.run(); err != nil {
		fmt.Fprintln(os.Stderr, "fuzz:", err)
		os.Exit(2)
	}
	if !f.report() {
		os.Exit(1)
	}
}
