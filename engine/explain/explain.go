// Package explain writes plans for people and programs: logical and physical trees as text, with what was expected and, after
// a run, what was counted. It must never know how a plan was made or run; it only reads.
package explain

import (
	"fmt"
	"math"
	"strings"
)

// tree writes a tree as text: one line per node, children below their parent.
type tree[N any] struct {
	line     func(N) string
	children func(N) []N
	out      strings.Builder
}

func (t *tree[N]) write(n N, first, rest string) {
	t.out.WriteString(first + t.line(n) + "\n")
	kids := t.children(n)
	for i, k := range kids {
		if i == len(kids)-1 {
			t.write(k, rest+"└─ ", rest+"   ")
		} else {
			t.write(k, rest+"├─ ", rest+"│  ")
		}
	}
}

// list is items in brackets, "" for none.
func list(items []string) string {
	if len(items) == 0 {
		return ""
	}
	return " [" + strings.Join(items, ", ") + "]"
}

func mapTo[T any](in []T, f func(T) string) []string {
	out := make([]string, len(in))
	for i, x := range in {
		out[i] = f(x)
	}
	return out
}

// count is a number of rows for people: three digits and a unit.
func count(f float64) string {
	switch {
	case f < 0 || math.IsNaN(f):
		return "?"
	case f < 9_999.5:
		return fmt.Sprintf("%.0f", f)
	case f < 999_500:
		return digits(f/1e3) + "k"
	case f < 999.5e6:
		return digits(f/1e6) + "M"
	case f < 1e15:
		return digits(f/1e9) + "G"
	}
	return fmt.Sprintf("%.1e", f)
}

func digits(f float64) string {
	if f < 9.95 {
		return fmt.Sprintf("%.1f", f)
	}
	return fmt.Sprintf("%.0f", f)
}
