package engine_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fletchdb/fletch/engine"
	"github.com/fletchdb/fletch/engine/slt"
)

// TestLogic runs every .slt file below slt/testdata.
func TestLogic(t *testing.T) {
	files, err := filepath.Glob("slt/testdata/*/*.slt")
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.Open(engine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".slt"), func(t *testing.T) {
			script, err := slt.Read(f, "postgresql")
			if err != nil {
				t.Fatal(err)
			}
			report, err := slt.Play(context.Background(), script, e.NewSession().Querier(), slt.Config{})
			if err != nil {
				t.Fatal(err)
			}
			for _, fail := range report.Failures {
				t.Errorf("%s: %s\n%s", fail.Record.Where(), fail.Why, fail.Record.SQL)
			}
		})
	}
}
