package eventlog

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	eventlogv1 "github.com/fletchdb/fletch/gen/go/fletch/eventlog/v1"
)

// big is a log of about a size, of every kind of event.
func big(tb testing.TB, bytes int) string {
	tb.Helper()
	var (
		b   []byte
		seq uint64
		at  = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	)
	add := func(query string, m proto.Message) {
		data, err := encode(m)
		if err != nil {
			tb.Fatal(err)
		}
		b = appendLine(b, version, KindOf(m), at, seq, query, data)
		seq++
	}
	instance := strings.Repeat("a", 32)
	add("", &eventlogv1.SegmentStarted{InstanceId: instance, Segment: 1})
	for q := 0; len(b) < bytes; q++ {
		for _, m := range everyKind()[4:] {
			query := fmt.Sprintf("q%016x", q)
			switch m.(type) {
			case *eventlogv1.WorkerGone, *eventlogv1.WorkerSeen, *eventlogv1.RolloutChanged:
				query = ""
			}
			add(query, m)
		}
	}
	add("", &eventlogv1.SegmentEnded{})
	dir := tb.TempDir()
	if err := os.WriteFile(filepath.Join(dir, nameSegment(at, instance, 1)), b, 0o600); err != nil {
		tb.Fatal(err)
	}
	return dir
}

// Checking every line, and telling the state of every query.
func BenchmarkWalk(b *testing.B) {
	dir := big(b, 64<<20)
	l, err := List(dir)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(l.Instances[0].Segments[0].Size)
	for b.Loop() {
		queries := 0
		totals, err := l.Instances[0].Walk(Visitor{Query: func(_ string, s State) error {
			if s == Finished {
				queries++
			}
			return nil
		}})
		if err != nil || queries < 1000 || totals.Lines < 10_000 {
			b.Fatal(queries, totals, err)
		}
	}
}

// One event of a query, as it is made ready and appended.
func BenchmarkAppend(b *testing.B) {
	w, err := Create("", Config{files: newDisk(), Logger: quiet, Writer: &eventlogv1.SegmentStarted{InstanceId: strings.Repeat("a", 32)}})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	m := everyKind()[9]
	for b.Loop() {
		w.Append("q0123456789abcdef", m)
	}
}

func BenchmarkRedact(b *testing.B) {
	for b.Loop() {
		Redact("SELECT l_returnflag, l_linestatus, sum(l_quantity) AS quantity, count(*) AS lines FROM lineitem WHERE l_shipmode IN ('AIR', 'MAIL-BY-ROAD') GROUP BY 1, 2 ORDER BY 1, 2")
	}
}
