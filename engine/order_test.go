package engine

import (
	"errors"
	"io"
	"os"
	"testing"
)

// TestJoinOrders runs a query in its own join order and in others: they differ, and none changes the rows.
func TestJoinOrders(t *testing.T) {
	e, err := Open(Config{Tables: "testdata/tpch/sf0.01"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	text, err := os.ReadFile("testdata/tpch/queries/q05.sql")
	if err != nil {
		t.Fatal(err)
	}
	s := e.NewSession()
	run := func(sql string) (out string) {
		t.Helper()
		r, err := s.Query(t.Context(), sql)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for {
			rec, err := r.Next()
			if errors.Is(err, io.EOF) {
				return out
			}
			if err != nil {
				t.Fatal(err)
			}
			for i := range rec.NumRows() {
				for _, c := range rec.Columns() {
					out += c.ValueStr(int(i)) + "|"
				}
				out += "\n"
			}
		}
	}
	want, plans := run(string(text)), map[string]bool{}
	for _, seed := range []string{"0", "1", "2", "3", "4", "5"} {
		run("SET fletch.join_order_seed = " + seed)
		plans[run("EXPLAIN "+string(text))] = true
		if got := run(string(text)); got != want {
			t.Errorf("seed %s gives\n%s, not\n%s", seed, got, want)
		}
	}
	if len(plans) < 3 {
		t.Errorf("six seeds lead to %d plans", len(plans))
	}
}
