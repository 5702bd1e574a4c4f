package bind_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/fletchdb/fletch/engine/ast"
	"github.com/fletchdb/fletch/engine/bind"
	"github.com/fletchdb/fletch/engine/catalog/catalogtest"
	"github.com/fletchdb/fletch/engine/explain"
	"github.com/fletchdb/fletch/engine/parse"
)

func TestTPCH(t *testing.T) {
	files, _ := filepath.Glob("/work/shared/data/queries/tpch/*.sql")
	for _, f := range files {
		sql, _ := os.ReadFile(f)
		st, err := parse.ParseOne(string(sql))
		if err != nil {
			t.Errorf("%s: %v", f, err)
			continue
		}
		p, err := bind.Query(t.Context(), st.(*ast.QueryStatement).Query, catalogtest.TPCH(), bind.Config{Now: time.Unix(0, 0)})
		if err != nil {
			t.Errorf("%s: %v", f, err)
			continue
		}
		fmt.Println(filepath.Base(f), p.Names)
		fmt.Println(explain.Logical(p.Root, nil))
	}
}
