package main

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/physical"
)

// A reach counts, over the queries that Fletch answered, what they were made of, by heading and name. What a complete run must have
// reached is there from the beginning, with 0.
type reach struct {
	counts    map[string]map[string]int
	functions map[string]string // names and aliases to the name counted
	infix     map[string]*regexp.Regexp
}

var headings = []string{"operators", "joins", "exchanges", "aggregates", "windows", "functions"}

// unreached are functions with no answer to compare: two engines, or two runs, may give two.
var unreached = []string{
	"clock_timestamp", "current_catalog", "current_date", "current_schema", "current_user", "error", "gen_random_uuid", "hash", "localtime",
	"localtimestamp", "now", "random", "version",
}

func newReach() *reach {
	r := &reach{counts: map[string]map[string]int{}, functions: map[string]string{}, infix: map[string]*regexp.Regexp{}}
	expect := func(heading string, names ...string) {
		for _, n := range names {
			r.add(heading, n, 0)
		}
	}
	expect("operators", "Scan", "Values", "Filter", "Project", "Aggregate", "HashJoin", "LoopJoin", "Sort", "TopN", "Limit", "Union", "Window",
		"Recursive", "Working", "Expand")
	for kind := physical.Inner; kind <= physical.Mark; kind++ {
		expect("joins", "hash "+joinName(kind, false))
		if kind != physical.BuildSemi && kind != physical.BuildAnti {
			expect("joins", "loop "+joinName(kind, false))
		}
	}
	expect("joins", "hash "+joinName(physical.Anti, true), "hash "+joinName(physical.Mark, true), "residual", "null equal", "runtime filter")
	expect("exchanges", "Gather", "Hash", "Broadcast", "Merge")
	for _, l := range expr.Listings() {
		if slices.Contains(unreached, l.Name) {
			continue
		}
		heading := map[string]string{"scalar": "functions", "operator": "functions", "aggregate": "aggregates", "window": "windows"}[l.Kind]
		expect(heading, l.Name)
		for _, n := range append([]string{l.Name}, l.Aliases...) {
			if strings.Trim(n, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
				r.infix[n] = regexp.MustCompile(`(^|[^-!#%&*+/:<=>@^|~])` + regexp.QuoteMeta(n) + `($|[^-!#%&*+/:<=>@^|~])`)
			}
			r.functions[n] = l.Name
		}
	}
	return r
}

func joinName(k physical.JoinKind, nullAware bool) string {
	name := []string{"inner", "left", "right", "full", "semi", "anti", "right semi", "right anti", "mark"}[k]
	if nullAware {
		name += " null-aware"
	}
	return name
}

func (r *reach) add(heading, name string, n int) {
	if r.counts[heading] == nil {
		r.counts[heading] = map[string]int{}
	}
	r.counts[heading][name] += n
}

var (
	called = regexp.MustCompile(`\b([a-z_][a-z0-9_]*)\(`)
	quoted = regexp.MustCompile(`'(?:[^']|'')*'`)
)

// words that are functions without being written as calls.
var spelled = map[string]string{
	" LIKE ": "like", " ILIKE ": "ilike", " SIMILAR TO ": "similar_to", "extract(": "extract", "extract(epoch ": "extract_epoch", "extract(second ": "extract_second",
	"extract(milliseconds ": "extract_millisecond", " AT TIME ZONE ": "timezone",
}

// text counts the functions of a query, by their names in it: many are constants by the time there is a plan.
func (r *reach) text(text string) {
	text = quoted.ReplaceAllString(text, "''")
	for _, m := range called.FindAllStringSubmatch(text, -1) {
		name, ok := r.functions[m[1]]
		if !ok {
			continue
		}
		for _, heading := range []string{"functions", "aggregates", "windows"} {
			if _, ok := r.counts[heading][name]; ok {
				r.add(heading, name, 1)
			}
		}
	}
	for word, name := range spelled {
		if strings.Contains(text, word) {
			r.add("functions", name, 1)
		}
	}
	for op, re := range r.infix {
		if re.MatchString(text) {
			r.add("functions", r.functions[op], 1)
		}
	}
}

// plan counts the operators of a query, and what its stages exchange on three workers.
func (r *reach) plan(e *embedded, text string) {
	p, err := e.engine.Plan(context.Background(), text)
	if err != nil {
		return
	}
	var visit func(n physical.Node)
	visit = func(n physical.Node) {
		name := reflect.TypeOf(n).Elem().Name()
		switch n := n.(type) {
		case *physical.Sort:
			if n.Fetch >= 0 {
				name = "TopN"
			}
		case *physical.HashJoin:
			r.add("joins", "hash "+joinName(n.Kind, n.NullAware), 1)
			for what, is := range map[string]bool{"residual": n.Residual != nil, "null equal": slices.Contains(n.NullEqual, true), "runtime filter": len(n.Runtime) > 0} {
				if is {
					r.add("joins", what, 1)
				}
			}
		case *physical.LoopJoin:
			r.add("joins", "loop "+joinName(n.Kind, false), 1)
		}
		r.add("operators", name, 1)
		for _, c := range n.Children() {
			visit(c)
		}
	}
	visit(p.Root)
	var remotes func(n physical.Node)
	remotes = func(n physical.Node) {
		if m, ok := n.(*physical.Remote); ok && m.Merge != nil {
			r.add("exchanges", "Merge", 1)
		}
		for _, c := range n.Children() {
			remotes(c)
		}
	}
	for _, t := range e.engine.Tasks(p, 3) {
		remotes(t.Root)
		if t.Stage > 0 && t.Task == 0 {
			r.add("exchanges", []string{"Gather", "Hash", "Broadcast", "Robin"}[t.Output.Kind], 1)
		}
	}
}

// missing is what was never reached.
func (r *reach) missing() (out []string) {
	for _, h := range headings {
		for _, n := range slices.Sorted(maps.Keys(r.counts[h])) {
			if r.counts[h][n] == 0 {
				out = append(out, n)
			}
		}
	}
	return out
}

func (r *reach) print() {
	for _, h := range headings {
		names := slices.Sorted(maps.Keys(r.counts[h]))
		slices.SortStableFunc(names, func(a, b string) int { return r.counts[h][b] - r.counts[h][a] })
		fmt.Printf("%s (%d):", h, len(names))
		line := 0
		for _, n := range names {
			entry := fmt.Sprintf(" %s %d", n, r.counts[h][n])
			if line += len(entry); line > 120 || line == len(entry) {
				fmt.Print("\n ")
				line = len(entry)
			}
			fmt.Print(entry)
		}
		fmt.Println()
	}
}

// report prints what was asked and reached. It tells whether all is well.
func (f *fuzz) report() bool {
	share := func(n int) float64 { return 100 * float64(n) / float64(max(f.made, 1)) }
	fmt.Printf("%d queries made, %.1f %% accepted, %.1f %% with rows", f.made, share(f.accepted), share(f.nonempty))
	for _, p := range f.others {
		fmt.Printf(", %d compared with %s", f.compared[p.name()], p.name())
	}
	fmt.Printf("; %d slow, %d differences\n", f.slow, f.differences)
	f.reached.print()
	kinds := slices.Collect(maps.Keys(f.refused))
	slices.SortFunc(kinds, func(a, b string) int {
		if d := f.refused[b] - f.refused[a]; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	fmt.Printf("refused (%d kinds):\n", len(kinds))
	for i, k := range kinds {
		if i == 40 && !f.examples {
			fmt.Println("    …")
			break
		}
		fmt.Printf("  %5d %s\n", f.refused[k], k)
		if f.examples {
			fmt.Println("        " + strings.ReplaceAll(f.example[k], "\n", "\n        "))
		}
	}
	well := f.differences == 0
	if missing := f.reached.missing(); len(missing) > 0 {
		fmt.Printf("never reached: %s\n", strings.Join(missing, ", "))
		well = well && !f.complete
	}
	if f.accepted < f.made*4/5 {
		fmt.Println("fewer than 80 % of the queries were accepted")
		well = false
	}
	return well
}
