package coordinator

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/fletchdb/fletch/engine"
	"github.com/fletchdb/fletch/engine/codec"
	"github.com/fletchdb/fletch/engine/sqlerr"
	identityv1 "github.com/fletchdb/fletch/gen/go/fletch/identity/v1"
	planv1 "github.com/fletchdb/fletch/gen/go/fletch/plan/v1"
	"github.com/fletchdb/fletch/services/internal/identity"
)

// hints are the fields of plans that may be left out for a worker that does not know them: without them a plan gives the same rows, and
// costs time.
var hints = map[protoreflect.FullName]bool{
	"fletch.plan.v1.Node.estimated_rows": true, "fletch.plan.v1.Scan.runtime_probes": true, "fletch.plan.v1.HashJoin.runtime_builds": true,
}

// An ignorance is what this build's plans may hold and a cohort's workers do not know: message → numbers of fields, enum → numbers. Within
// one protocol version releases know the same; builds of working trees need not.
type ignorance map[string]map[int32]bool

// ignorances remembers them by capability digest.
type ignorances struct {
	mu       sync.Mutex
	byDigest map[string]ignorance
}

func (s *ignorances) of(k *cohort) ignorance {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.byDigest[k.key.Capabilities]; ok {
		return known
	}
	if len(s.byDigest) >= maxLibraries || s.byDigest == nil {
		s.byDigest = map[string]ignorance{}
	}
	i := ignorantOf(k.workers[0].Info.GetCapabilities())
	s.byDigest[k.key.Capabilities] = i
	return i
}

func ignorantOf(c *identityv1.Capabilities) ignorance {
	out := ignorance{}
	messages, enums := identity.KnownPlan()
	theirs := map[string]map[int32]bool{}
	for _, m := range c.GetMessages() {
		theirs[m.GetName()] = numbersOf(m.GetFields())
	}
	for _, e := range c.GetEnums() {
		theirs[e.GetName()] = numbersOf(e.GetValues())
	}
	note := func(name string, own map[int32]bool) {
		maps.DeleteFunc(own, func(n int32, _ bool) bool { return theirs[name][n] })
		if len(own) > 0 {
			out[name] = own
		}
	}
	for _, m := range messages {
		note(m.GetName(), numbersOf(m.GetFields()))
	}
	for _, e := range enums {
		note(e.GetName(), numbersOf(e.GetValues()))
	}
	return out
}

func numbersOf[N uint32 | int32](ns []N) map[int32]bool {
	out := make(map[int32]bool, len(ns))
	for _, n := range ns {
		out[int32(n)] = true
	}
	return out
}

// cut takes the hints that a cohort does not know out of a plan, and gives the names of what else it holds that the cohort does not know.
func (i ignorance) cut(fragment *planv1.Fragment) []string {
	if len(i) == 0 {
		return nil
	}
	unknown := map[string]bool{}
	var visit func(m protoreflect.Message)
	value := func(f protoreflect.FieldDescriptor, v protoreflect.Value) {
		switch f.Kind() {
		case protoreflect.MessageKind:
			visit(v.Message())
		case protoreflect.EnumKind:
			if i[string(f.Enum().FullName())][int32(v.Enum())] {
				unknown[string(f.Enum().FullName())] = true
			}
		}
	}
	visit = func(m protoreflect.Message) {
		fields := i[string(m.Descriptor().FullName())]
		m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
			switch {
			case fields[int32(f.Number())] && hints[f.FullName()]:
				m.Clear(f)
			case fields[int32(f.Number())]:
				unknown[string(f.FullName())] = true
			case f.IsList():
				for k := range v.List().Len() {
					value(f, v.List().Get(k))
				}
			default:
				value(f, v)
			}
			return true
		})
	}
	visit(fragment.ProtoReflect())
	return slices.Sorted(maps.Keys(unknown))
}

// takes tells whether a cohort's workers know all that a plan holds, but for hints. The error says what they do not know.
func (c *Coordinator) takes(k *cohort, plan *engine.Plan) error {
	i := c.ignorances.of(k)
	if len(i) == 0 {
		return nil
	}
	for _, t := range c.engine.Tasks(plan, len(k.workers)) {
		fragment, err := codec.Encode(t.Root, t.Output)
		if err != nil {
			return err
		}
		if unknown := i.cut(fragment); len(unknown) > 0 {
			return sqlerr.Newf(sqlerr.Unsupported, sqlerr.Pos{}, "workers of version %q do not know %s, which the query's plan holds", k.key.Version, strings.Join(unknown[:min(3, len(unknown))], ", ")).
				WithHint("run workers and coordinators of one release")
		}
	}
	return nil
}
