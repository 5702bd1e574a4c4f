package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/fletchdb/fletch/engine"
	"github.com/fletchdb/fletch/engine/codec"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/stage"
	planv1 "github.com/fletchdb/fletch/gen/go/fletch/plan/v1"
)

const (
	data    = "engine/testdata/tpch/sf0.01"
	queries = "engine/testdata/tpch/queries"
)

// more are queries of what the suite of files has not.
var more = map[string]string{
	"union":      "SELECT 1 AS a UNION ALL SELECT n_nationkey FROM nation WHERE n_nationkey < 3",
	"sort":       "SELECT n_name, n_regionkey FROM nation ORDER BY n_regionkey DESC, n_name LIMIT 4 OFFSET 2",
	"left":       "SELECT r_name, n_name FROM region LEFT JOIN nation ON r_regionkey = n_regionkey AND n_name LIKE 'A%' ORDER BY 1, 2",
	"semi":       "SELECT r_name FROM region WHERE EXISTS (SELECT 1 FROM nation WHERE n_regionkey = r_regionkey AND n_name < 'C') ORDER BY 1",
	"anti":       "SELECT r_name FROM region WHERE NOT EXISTS (SELECT 1 FROM nation WHERE n_regionkey = r_regionkey AND n_name < 'C') ORDER BY 1",
	"loop":       "SELECT a.r_name, b.r_name FROM region a JOIN region b ON a.r_regionkey < b.r_regionkey - 2 ORDER BY 1, 2",
	"expression": "SELECT CASE WHEN n_regionkey IN (1, 2) THEN upper(n_name) WHEN n_regionkey IS NULL THEN NULL ELSE CAST(n_nationkey AS VARCHAR) END FROM nation WHERE NOT (n_nationkey = 3) AND (n_nationkey < 5 OR n_name IS DISTINCT FROM 'PERU') ORDER BY n_nationkey LIMIT 5",
	"constants":  "SELECT n_name, DATE '2020-02-29', TIMESTAMP '2020-02-29 12:00:00', INTERVAL '1 day', 1.50, TRUE, 'x', 2.5::DOUBLE PRECISION FROM nation WHERE n_nationkey = 1",
	"distinct":   "SELECT count(DISTINCT n_regionkey), min(n_name), max(n_nationkey), avg(n_nationkey) FILTER (WHERE n_regionkey > 1) FROM nation",
}

// plans are encoded plans of a corpus of queries, what this build decodes them to, and the rows they give. Encoded plans have no
// canonical bytes: those of the last release stay as they are, and this build has to read and run them.
func plans(ctx context.Context, w *writer) {
	e, err := engine.Open(engine.Config{Tables: data, Threads: 1})
	if err != nil {
		w.fail(err)
		return
	}
	defer func() { _ = e.Close() }()
	files, err := local(ctx, e)
	if err != nil {
		w.fail(err)
		return
	}
	frozen := map[string][]byte{}
	if w.released != "" {
		found, err := filepath.Glob(filepath.Join(w.released, "plans", "*.binpb"))
		w.fail(err)
		for _, f := range found {
			b, err := os.ReadFile(f)
			w.fail(err)
			frozen[strings.TrimSuffix(filepath.Base(f), ".binpb")] = b
		}
	} else if frozen, err = encode(ctx, e); err != nil {
		w.fail(err)
		return
	}
	for name, b := range frozen {
		w.file("plans/"+name+".binpb", b)
		w.lines("plans/"+name+".txt", decode(ctx, e, b, files, !strings.Contains(name, "."))...)
	}
}

// encode makes the plans: of each query as one task, and as the stages of three.
func encode(ctx context.Context, e *engine.Engine) (map[string][]byte, error) {
	texts := map[string]string{}
	for name, text := range more {
		texts[name] = text
	}
	found, err := filepath.Glob(queries + "/*.sql")
	if err != nil {
		return nil, err
	}
	for _, f := range found {
		text, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		texts[strings.TrimSuffix(filepath.Base(f), ".sql")] = string(text)
	}
	out := map[string][]byte{}
	for name, text := range texts {
		plan, err := e.Plan(ctx, text)
		if err != nil {
			return nil, fmt.Errorf("plan %s: %w", name, err)
		}
		if whole := stage.Cut(stage.Distribute(plan.Root, 1, stage.Config{}), 1); len(whole) == 1 { // else it shares a part
			if out[name], err = marshal(whole[0].Root, whole[0].Output); err != nil {
				return nil, fmt.Errorf("encode %s: %w", name, err)
			}
		}
		spread := stage.Distribute(plan.Root, 3, stage.Config{ReplicateRows: -1, GatherGroups: -1})
		for _, s := range stage.Cut(spread, 3) {
			key := fmt.Sprintf("%s.%d", name, s.ID)
			if out[key], err = marshal(s.Root, s.Output); err != nil {
				return nil, fmt.Errorf("encode %s: %w", key, err)
			}
		}
	}
	return out, nil
}

func marshal(root physical.Node, output physical.Output) ([]byte, error) {
	f, err := codec.Encode(root, output)
	if err != nil {
		return nil, err
	}
	// Where the files lie and when they were written is this machine's, and no plan's.
	scans(f.ProtoReflect(), func(file *planv1.File) {
		file.Path, file.ModTime, file.Size, file.FooterHash = "/"+filepath.Base(file.GetPath()), 0, 0, 0
	})
	return proto.MarshalOptions{Deterministic: true}.Marshal(f)
}

// scans calls f for every file in a message.
func scans(m protoreflect.Message, f func(*planv1.File)) {
	if file, ok := m.Interface().(*planv1.File); ok {
		f(file)
		return
	}
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.Message() == nil || fd.IsMap():
		case fd.IsList():
			for i := range v.List().Len() {
				scans(v.List().Get(i).Message(), f)
			}
		default:
			scans(v.Message(), f)
		}
		return true
	})
}

// local are the files as they are on this machine, by name.
func local(ctx context.Context, e *engine.Engine) (map[string]physical.File, error) {
	found, err := filepath.Glob(data + "/*.parquet")
	if err != nil {
		return nil, err
	}
	files := map[string]physical.File{}
	for _, f := range found {
		plan, err := e.Plan(ctx, "SELECT * FROM "+strings.TrimSuffix(filepath.Base(f), ".parquet"))
		if err != nil {
			return nil, err
		}
		walk(plan.Root, func(s *physical.Scan) {
			for _, file := range s.Files {
				file.RowGroups = nil
				files[filepath.Base(file.Path)] = file
			}
		})
	}
	return files, nil
}

func walk(n physical.Node, f func(*physical.Scan)) {
	if s, ok := n.(*physical.Scan); ok {
		f(s)
	}
	for _, c := range n.Children() {
		walk(c, f)
	}
}

// decode says what this build makes of an encoded plan, and the rows that it gives where it is a whole query's.
func decode(ctx context.Context, e *engine.Engine, b []byte, files map[string]physical.File, whole bool) []string {
	was := &planv1.Fragment{}
	if err := proto.Unmarshal(b, was); err != nil {
		return []string{"no message"}
	}
	root, output, err := codec.Decode(was, nil)
	if err != nil {
		return []string{"refused: " + failure(err)}
	}
	again, err := codec.Encode(root, output)
	if err != nil {
		return []string{"not encoded again: " + failure(err)}
	}
	lines := []string{"decodes to another plan"}
	if holds(again.ProtoReflect(), was.ProtoReflect()) {
		lines = []string{"decodes to the same plan"}
	}
	if !whole {
		return lines
	}
	walk(root, func(s *physical.Scan) {
		for i, f := range s.Files {
			here := files[filepath.Base(f.Path)]
			here.RowGroups = f.RowGroups
			s.Files[i] = here
		}
	})
	rows, err := table(ctx, e, root)
	if err != nil {
		return append(lines, failure(err))
	}
	return append(lines, rows...)
}

// holds tells whether m has all that want has: a newer build may say more.
func holds(m, want protoreflect.Message) bool {
	same := true
	want.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case !m.Has(fd):
			same = false
		case fd.IsList():
			a, b := m.Get(fd).List(), v.List()
			same = a.Len() == b.Len()
			for i := 0; same && i < a.Len(); i++ {
				if fd.Message() != nil {
					same = holds(a.Get(i).Message(), b.Get(i).Message())
				} else {
					same = a.Get(i).Equal(b.Get(i))
				}
			}
		case fd.Message() != nil && !fd.IsMap():
			same = holds(m.Get(fd).Message(), v.Message())
		default:
			same = m.Get(fd).Equal(v)
		}
		return same
	})
	return same
}
