package engine_test

import (
	"testing"

	"github.com/fletchdb/fletch/engine"
)

func TestDetermined(t *testing.T) {
	e, err := engine.Open(engine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	for sql, want := range map[string]bool{
		"SELECT 1": true,
		"SELECT a FROM (VALUES (1), (2)) t(a) ORDER BY a LIMIT 1":               true,
		"SELECT a + 1 FROM (VALUES (1), (2)) t(a) ORDER BY a LIMIT 1":           true,
		"SELECT a FROM (VALUES (1), (2)) t(a) LIMIT 1":                          false,
		"SELECT count(*) FROM (SELECT a FROM (VALUES (1), (2)) t(a) LIMIT 1) u": false,
		"SELECT (SELECT a FROM (VALUES (1), (2)) t(a) LIMIT 1)":                 false,
		"SELECT random()": false,
		"SELECT a FROM (VALUES (1), (2)) t(a) WHERE random() < 0.5": false,
	} {
		plan, err := e.Plan(t.Context(), sql)
		if err != nil {
			t.Fatal(err)
		}
		if plan.Determined() != want {
			t.Errorf("%s: determined is %v", sql, !want)
		}
	}
}
