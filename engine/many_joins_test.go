package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fletchdb/fletch/engine/sqlerr"
)

// TestManyJoins plans statements with a thousand joins and more: each is planned or refused, and none takes long.
func TestManyJoins(t *testing.T) {
	e, err := Open(Config{})
	if err != nil {
		t.Fatal(err)
	}
	s := e.NewSession()
	if _, err := s.Plan(t.Context(), "CREATE TABLE t (a BIGINT, b BIGINT, c VARCHAR, d VARCHAR)"); err != nil {
		t.Fatal(err)
	}
	list := func(n int, sep, format string) string {
		parts := make([]string, n)
		for i := range parts {
			parts[i] = fmt.Sprintf(format, i+1)
		}
		return strings.Join(parts, sep)
	}
	const planned sqlerr.Code = ""
	for _, tc := range []struct {
		name, sql string
		want      sqlerr.Code
	}{
		{"inner", "SELECT t0.a FROM t t0 " + list(1000, " ", "JOIN t t%[1]d ON t0.a = t%[1]d.a"), planned},
		{"left", "SELECT t0.a FROM t t0 " + list(1000, " ", "LEFT JOIN t t%[1]d ON t0.a = t%[1]d.a"), planned},
		{"full", "SELECT t0.a FROM t t0 " + list(1000, " ", "FULL JOIN t t%[1]d ON t0.a = t%[1]d.a"), planned},
		{"products", "SELECT 1 FROM t t0, " + list(1000, ", ", "t t%d"), planned},
		{"using", "SELECT a FROM t t0 " + list(1000, " ", "JOIN t t%[1]d USING (a)"), planned},
		{"exists", "SELECT a FROM t t0 WHERE " + list(1000, " AND ", "EXISTS (SELECT 1 FROM t t%[1]d WHERE t%[1]d.a = t0.a)"), planned},
		{"scalar", "SELECT a, " + list(1000, ", ", "(SELECT max(b) FROM t t%[1]d WHERE t%[1]d.a = t0.a)") + " FROM t t0", sqlerr.StatementTooLarge},
		{"every column", "SELECT * FROM t t0 " + list(1000, " ", "JOIN t t%[1]d ON t%[1]d.b = t0.a"), sqlerr.StatementTooLarge},
		{"far too many", "SELECT 1 FROM t t0, " + list(80_000, ",", "t t%d"), sqlerr.StatementTooLarge},
		{"far too many subqueries", "SELECT " + list(20_000, ",", "(SELECT max(%d) FROM t)"), sqlerr.StatementTooLarge},
		{"outer query again", "SELECT " + list(100, ", ", "(SELECT max(x) FROM (SELECT b AS x FROM t WHERE a < t0.a + %d ORDER BY b LIMIT 1))") + " FROM t t0", planned},
		{"outer query doubled", "SELECT 1 FROM t t0, " + list(40, ", ", "LATERAL (SELECT b FROM t WHERE a < t0.a + %[1]d ORDER BY b LIMIT 1) l%[1]d"), sqlerr.StatementTooLarge},
	} {
		t.Run(tc.name, func(t *testing.T) {
			began := time.Now()
			_, err := s.Plan(t.Context(), tc.sql)
			took := time.Since(began)
			if got := code(err); got != tc.want {
				t.Errorf("%.200v, want code %q", err, tc.want)
			}
			if took > time.Minute { // two seconds on a machine that does nothing else
				t.Errorf("it took %v", took)
			} else if testing.Verbose() {
				t.Log(took)
			}
		})
	}
}

func code(err error) sqlerr.Code {
	if err == nil {
		return ""
	}
	return sqlerr.CodeOf(err)
}
