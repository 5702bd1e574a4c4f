package exec

import (
	"context"
	"errors"
	"testing"

	"github.com/fletchdb/fletch/engine/budget"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
)

// A table that grows looks at whether the query shall end, however large it has become.
func TestGrowingTablesEndWithTheQuery(t *testing.T) {
	bigint, text := sqltype.Of(sqltype.Int64), sqltype.Of(sqltype.Utf8)
	ended := errors.New("the query has ended")
	for name, types := range map[string][]sqltype.Type{"integer": {bigint}, "packed": {bigint, bigint}, "bytes": {text, bigint}} {
		ctx, cancel := context.WithCancelCause(t.Context())
		r := &runner{env: (&Env{Budget: budget.New(0)}).withDefaults(), cause: causeOf(ctx)}
		keys := newGrouper(types, r.account("Aggregate", nil))
		push := func(from int) error {
			vs := make([]*vector.Vector, len(types))
			for c := range vs {
				ints, strs := make([]int64, 4096), make([]string, 4096)
				for i := range ints {
					ints[i] = int64(from+i) << 40
					strs[i] = string(rune('a' + (from+i)%20))
				}
				vs[c] = &vector.Vector{}
				if types[c].Kind == sqltype.Utf8 {
					vector.SetFlat(vs[c], text, strs, nil)
				} else {
					vector.SetFlat(vs[c], bigint, ints, nil)
				}
			}
			return keys.assign(vs, nil, 4096, make([]uint32, 4096))
		}
		if err := push(0); err != nil {
			t.Fatal(err)
		}
		cancel(ended)
		var err error
		for from := 4096; from < 1<<20 && err == nil; from += 4096 {
			err = push(from)
		}
		if !errors.Is(err, ended) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
