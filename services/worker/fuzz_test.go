package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/fletchdb/fletch/engine"
	"github.com/fletchdb/fletch/engine/budget"
	"github.com/fletchdb/fletch/engine/codec"
	"github.com/fletchdb/fletch/engine/exec"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/vector"
	identityv1 "github.com/fletchdb/fletch/gen/go/fletch/identity/v1"
	workerv1 "github.com/fletchdb/fletch/gen/go/fletch/worker/v1"
)

// nothing is a source without a row, of whatever a plan reads.
type nothing struct{}

func (nothing) NewReader() (exec.Reader, error)                  { return nothing{}, nil }
func (nothing) Streams() ([]exec.Reader, error)                  { return []exec.Reader{nothing{}}, nil }
func (nothing) Next(context.Context) (*vector.Batch, error)      { return nil, nil }
func (nothing) Close() error                                     { return nil }
func (nothing) NewLocal() (exec.Local, error)                    { return nothing{}, nil }
func (nothing) Push(context.Context, *vector.Batch) error        { return nil }
func (nothing) Combine(context.Context, exec.Local) error        { return nil }
func (nothing) Finalize(context.Context) error                   { return nil }
func openNothing[N any](context.Context, N) (exec.Source, error) { return nothing{}, nil }

// mutate changes up to three fields somewhere below m: a message becomes another of its type that stands elsewhere in m, or none, a
// scalar one that a count or an index should not be, a list longer or shorter. Seed 0 changes nothing.
func mutate(m protoreflect.Message, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 0))
	for range seed % 4 {
		type place struct {
			in protoreflect.Message
			f  protoreflect.FieldDescriptor
		}
		var places []place
		found := map[protoreflect.FullName][]protoreflect.Message{}
		var visit func(m protoreflect.Message)
		visit = func(m protoreflect.Message) {
			name := m.Descriptor().FullName()
			found[name] = append(found[name], m)
			for i := range m.Descriptor().Fields().Len() {
				f := m.Descriptor().Fields().Get(i)
				if m.Has(f) || f.ContainingOneof() == nil {
					places = append(places, place{m, f})
				}
				switch {
				case !m.Has(f) || f.Message() == nil || f.IsMap():
				case f.IsList():
					for j := range m.Get(f).List().Len() {
						visit(m.Get(f).List().Get(j).Message())
					}
				default:
					visit(m.Get(f).Message())
				}
			}
		}
		visit(m)
		p := places[rng.IntN(len(places))]
		element := func() protoreflect.Value {
			if p.f.IsList() {
				return p.in.Mutable(p.f).List().NewElement()
			}
			return p.in.NewField(p.f)
		}
		value := func() protoreflect.Value {
			integers := []int64{0, 1, 2, 3, 5, -1, 7, 18, 38, 39, 255, 65536, math.MaxInt32, math.MinInt32, math.MaxInt64, math.MinInt64}
			n := integers[rng.IntN(len(integers))]
			switch p.f.Kind() {
			case protoreflect.MessageKind:
				others := found[p.f.Message().FullName()]
				if len(others) == 0 || rng.IntN(4) == 0 {
					return element()
				}
				return protoreflect.ValueOfMessage(proto.Clone(others[rng.IntN(len(others))].Interface()).ProtoReflect())
			case protoreflect.EnumKind:
				return protoreflect.ValueOfEnum(protoreflect.EnumNumber(n % 16))
			case protoreflect.BoolKind:
				return protoreflect.ValueOfBool(n%2 == 0)
			case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
				return protoreflect.ValueOfInt32(int32(n))
			case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
				return protoreflect.ValueOfInt64(n)
			case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
				return protoreflect.ValueOfUint32(uint32(n))
			case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
				return protoreflect.ValueOfUint64(uint64(n))
			case protoreflect.FloatKind:
				return protoreflect.ValueOfFloat32(float32(n))
			case protoreflect.DoubleKind:
				return protoreflect.ValueOfFloat64(float64(n))
			case protoreflect.StringKind:
				return protoreflect.ValueOfString([]string{"", "sum", "lower", "count", "n_name", "\xff"}[rng.IntN(5)])
			}
			return protoreflect.ValueOfBytes([]byte{byte(n)})
		}
		switch {
		case p.f.IsMap():
		case p.f.IsList():
			list := p.in.Mutable(p.f).List()
			switch n := list.Len(); {
			case n > 0 && rng.IntN(3) == 0:
				list.Truncate(rng.IntN(n))
			case n > 0 && rng.IntN(2) == 0 && p.f.Message() == nil:
				list.Set(rng.IntN(n), value())
			default:
				list.Append(value())
			}
		case p.f.Message() != nil && rng.IntN(5) == 0:
			p.in.Clear(p.f)
		default:
			p.in.Set(p.f, value())
		}
	}
}

// Whatever a plan's bytes are, a worker refuses them or runs what they say: it never panics and never trusts a count.
func FuzzSetPlan(f *testing.F) {
	e, err := engine.Open(engine.Config{Tables: filepath.Join("..", "..", "engine", "testdata", "tpch", "sf0.01")})
	if err != nil {
		f.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	for _, statement := range []string{
		"SELECT count(*), sum(l_quantity), avg(l_discount), min(l_comment) FROM lineitem WHERE l_shipdate < DATE '1995-01-01' AND l_comment LIKE '%x%'",
		"SELECT l_orderkey, l_comment, count(*) FROM lineitem GROUP BY 1, 2 ORDER BY 3 DESC, 1 LIMIT 5 OFFSET 2",
		"SELECT n_name, CASE WHEN c_acctbal > 0 THEN 'a' ELSE upper(c_name) END FROM nation LEFT JOIN customer ON n_nationkey = c_nationkey",
		"SELECT * FROM nation, region WHERE n_regionkey IN (1, 2) AND EXISTS (SELECT 1 FROM orders WHERE o_custkey = n_nationkey)",
		"SELECT x + 1, CAST(x AS VARCHAR) FROM (VALUES (1), (2), (NULL)) v(x) UNION ALL SELECT n_nationkey, n_name FROM nation ORDER BY 1",
		"SELECT DISTINCT extract(year FROM o_orderdate), substring(o_comment, 1, 3) FROM orders WHERE o_totalprice BETWEEN 1 AND 2.5",
	} {
		plan, err := e.Plan(context.Background(), statement)
		if err != nil {
			f.Fatal(err)
		}
		for _, n := range []int{1, 3} {
			for _, t := range e.Tasks(plan, n) {
				fragment, err := codec.Encode(t.Root, t.Output)
				if err != nil {
					f.Fatal(err)
				}
				req := &workerv1.SetPlanRequest{Key: &workerv1.TaskKey{Query: "q", Attempt: 1, Stage: t.Stage, Task: t.Task}, Fragment: fragment, Token: make([]byte, 16)}
				for _, in := range t.Inputs {
					req.Inputs = append(req.Inputs, &workerv1.StageInput{
						Stage: in.Stage, Partitioned: in.Partitioned, Shared: in.Shared, Reader: in.Reader, Producers: []*workerv1.Producer{{Url: "http://127.0.0.1:1", Identity: &identityv1.Identity{Version: "v"}}},
					})
				}
				b, err := proto.Marshal(req)
				if err != nil {
					f.Fatal(err)
				}
				f.Add(b, uint64(0))
				f.Add(b, uint64(len(b)))
			}
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, seed uint64) {
		var req workerv1.SetPlanRequest
		if len(b) > MaxRequest || proto.Unmarshal(b, &req) != nil {
			return
		}
		if req.GetFragment() != nil {
			mutate(req.GetFragment().ProtoReflect(), seed)
		}
		if err := try(&req); err != nil {
			t.Error(err)
		}
	})
}

// try gives a plan to a worker and runs it on no rows.
func try(req *workerv1.SetPlanRequest) error {
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	w := &Worker{cfg: config{threads: 1}, log: slog.New(slog.DiscardHandler)}
	task, err := w.newTask(ctx, &attempt{ctx: ctx}, req)
	if err != nil {
		if code := sqlerr.CodeOf(err); code != sqlerr.InvalidPlan && code != sqlerr.Unsupported {
			return fmt.Errorf("refused as %q: %w", code, err)
		}
		return nil
	}
	task.env.Budget = budget.New(64 << 20)
	task.env.OpenScan, task.env.OpenRemote = openNothing[*physical.Scan], openNothing[*physical.Remote]
	err = exec.Run(ctx, task.root, task.env, nothing{})
	var fault *sqlerr.Error
	if errors.As(err, &fault) && fault.Code == sqlerr.Internal {
		return fmt.Errorf("a plan that was taken: %w", fault.Err)
	}
	if used := task.env.Budget.Used(); used != 0 {
		return fmt.Errorf("%d bytes are still reserved", used)
	}
	return nil
}
