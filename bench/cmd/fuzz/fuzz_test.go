package main

import (
	"context"
	"errors"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestDialectListsDeliberateDifferences holds docs/dialect.md to the list that the comparison goes by.
func TestDialectListsDeliberateDifferences(t *testing.T) {
	text, err := os.ReadFile("../../../docs/dialect.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(text), "## Against DuckDB\n")
	if !ok {
		t.Fatal("docs/dialect.md has no section of differences from DuckDB")
	}
	var documented, compared []string
	for _, row := range regexp.MustCompile(`(?m)^\| ([^|]+) \|`).FindAllStringSubmatch(section, -1)[2:] {
		documented = append(documented, row[1])
	}
	for _, d := range deliberate {
		compared = append(compared, d.name)
	}
	if !slices.Equal(documented, compared) {
		t.Errorf("docs/dialect.md lists %q, the fuzzer knows %q", documented, compared)
	}
	if len(compared) > 25 {
		t.Errorf("%d differences are more than 25", len(compared))
	}
}

func TestRewrites(t *testing.T) {
	got := forDuck("SELECT count_if((a = ')') AND f(b)) FILTER (WHERE c), count_if(d)")
	if want := "SELECT count(CASE WHEN (a = ')') AND f(b) THEN 1 END) FILTER (WHERE c), count(CASE WHEN d THEN 1 END)"; got != want {
		t.Errorf("got %s", got)
	}
}

func TestSame(t *testing.T) {
	row := func(cells ...string) []*string {
		out := make([]*string, len(cells))
		for i, c := range cells {
			if c != "NULL" {
				out[i] = &c
			}
		}
		return out
	}
	for _, tc := range []struct {
		name    string
		a, b    rows
		ordered bool
		same    bool
	}{
		{"sets", rows{row("1", "a"), row("2", "b")}, rows{row("2", "b"), row("1", "a")}, false, true},
		{"sequences", rows{row("1"), row("2")}, rows{row("2"), row("1")}, true, false},
		{"how often", rows{row("1"), row("1"), row("2")}, rows{row("1"), row("2"), row("2")}, false, false},
		{"NULL is no text", rows{row("NULL")}, rows{row("")}, false, false},
		{"integers are exact", rows{row("100000000000")}, rows{row("100000000001")}, false, false},
		{"floats are close", rows{row("0.1")}, rows{row("0.1000000000001")}, false, true},
		{"floats are not that close", rows{row("0.1")}, rows{row("0.1001")}, false, false},
		{"decimals without digits", rows{row("1.50")}, rows{row("1.5")}, false, true},
		{"lists", rows{row("[1.50, NULL]")}, rows{row("[1.5, NULL]")}, false, true},
	} {
		if why := same(tc.a, tc.b, tc.ordered); (why == "") != tc.same {
			t.Errorf("%s: %q", tc.name, why)
		}
	}
}

// TestShrink finds the smallest query that still has what differs.
func TestShrink(t *testing.T) {
	q := of("query", "SELECT ", exprOf(kInt, "f(", exprOf(kInt, "g(", exprOf(kInt, "x"), ")"), ", ", exprOf(kTxt, "upper(t)"), ")"), " FROM r", maybe(" WHERE ", exprOf(kBool, "h(y)")))
	q.shrink(100, func() bool { return regexp.MustCompile(`g\(`).MatchString(q.text()) })
	if want := "SELECT g(x) FROM r"; q.text() != want {
		t.Errorf("got %s", q.text())
	}
}

// A still peer answers when its context ends, or, deaf, when it is let go.
type still struct {
	embedded
	deaf chan struct{}
}

func (s *still) query(ctx context.Context, _ string) (rows, error) {
	if s.deaf != nil {
		<-s.deaf
		return nil, nil
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestHang tells a peer that stands still, whether or not it hears its deadline, from one that answers.
func TestHang(t *testing.T) {
	for _, deaf := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f := newFuzz(config{deadline: 20 * time.Second, stacks: io.Discard})
			p := &still{}
			if deaf {
				p.deaf = make(chan struct{})
				defer close(p.deaf)
			}
			if _, err := f.ask(p, ""); !errors.Is(err, errHang) {
				t.Errorf("deaf %v: %v", deaf, err)
			}
		})
	}
	f := newFuzz(config{deadline: 20 * time.Second, stacks: io.Discard})
	e := &embedded{}
	if err := e.load(t.TempDir(), 1, 0, nil); err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if out, err := f.ask(e, "SELECT 1"); err != nil || len(out) != 1 {
		t.Errorf("%v, %v", out, err)
	}
}
