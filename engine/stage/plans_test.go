package stage

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/fletchdb/fletch/engine/catalog/catalogtest"
	"github.com/fletchdb/fletch/engine/explain"
	"github.com/fletchdb/fletch/engine/physical"
)

// TestPlans runs the golden cases over TPC-H's tables at scale factor 1: "stages" gives the stages of a query for three tasks,
// with "file=q01" of a query of the suite.
func TestPlans(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			sql := d.Input
			if d.HasArg("file") {
				var name string
				d.ScanArgs(t, "file", &name)
				text, err := os.ReadFile(filepath.Join("../testdata/tpch/queries", name+".sql"))
				if err != nil {
					t.Fatal(err)
				}
				sql = string(text)
			}
			plan, _ := planOf(t, catalogtest.TPCH(), sql, "")
			const tasks = 3
			spread := Distribute(plan, tasks, Config{})
			checkSchema(t, plan, spread)
			var b strings.Builder
			for _, s := range Cut(spread, tasks) {
				fmt.Fprintf(&b, "Stage %d, tasks: %d, %s\n%s", s.ID, s.Tasks, output(s), explain.Physical(s.Root, nil))
			}
			return b.String()
		})
	})
}

func output(s Stage) string {
	o := s.Output
	switch fields := s.Root.Schema(); o.Kind {
	case physical.Hash:
		var names []string
		for _, k := range o.Keys {
			names = append(names, fields[k].Name)
		}
		return fmt.Sprintf("hash of %s to %d", strings.Join(names, ", "), o.Partitions)
	case physical.Share:
		return fmt.Sprintf("shared by %d", o.Consumers)
	case physical.Robin:
		return fmt.Sprintf("in turn to %d", o.Partitions)
	case physical.Broadcast:
		return fmt.Sprintf("all to each of %d", o.Consumers)
	}
	return "all to one"
}
