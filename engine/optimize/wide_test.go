package optimize_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fletchdb/fletch/engine/catalog/catalogtest"
	"github.com/fletchdb/fletch/engine/optimize"
)

// TestWide optimizes what a machine might write; none of it may take long.
func TestWide(t *testing.T) {
	list := func(n int, sep, format string) string {
		parts := make([]string, n)
		for i := range parts {
			parts[i] = fmt.Sprintf(format, i)
		}
		return strings.Join(parts, sep)
	}
	for name, sql := range map[string]string{
		"columns":   "SELECT " + list(10_000, ", ", "r_regionkey + %d AS c%[1]d") + " FROM region",
		"pairs":     "SELECT " + list(2_000, ", ", "(r_regionkey + %d) * (r_regionkey + %[1]d) AS c%[1]d") + " FROM region",
		"or":        "SELECT 1 FROM region, nation WHERE " + list(10_000, " OR ", "r_regionkey = %d"),
		"or of and": "SELECT 1 FROM region, nation WHERE " + list(5_000, " OR ", "r_regionkey = %d AND n_nationkey = %[1]d"),
		"and":       "SELECT 1 FROM region, nation WHERE r_regionkey = n_regionkey AND " + list(5_000, " AND ", "r_regionkey <> %d"),
		"terms":     "SELECT r_regionkey + " + list(5_000, " + ", "%d") + " FROM region",
		"not":       "SELECT 1 FROM region WHERE " + strings.Repeat("NOT ", 5_000) + "r_regionkey = 1",
		"joins":     "SELECT 1 FROM " + list(60, ", ", "nation n%d") + " WHERE " + list(59, " AND ", "n0.n_nationkey = n%d.n_nationkey"),
		"more":      "SELECT 1 FROM " + list(200, ", ", "nation n%d") + " WHERE " + list(199, " AND ", "n0.n_nationkey = n%d.n_nationkey"),
		"products":  "SELECT 1 FROM " + list(40, ", ", "nation n%d"),
		"unions":    list(1_000, " UNION ALL ", "SELECT %d AS x FROM region"),
		"nested":    strings.Repeat("SELECT * FROM (", 300) + "SELECT * FROM region" + strings.Repeat(") t WHERE r_regionkey > 1", 300),
	} {
		t.Run(name, func(t *testing.T) {
			p, err := bound(t, catalogtest.TPCH(), sql)
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			if _, err := optimize.Plan(t.Context(), p, optimize.Config{}); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("it took %v", took)
			} else if testing.Verbose() {
				t.Log(took)
			}
		})
	}
}
