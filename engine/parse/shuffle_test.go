package parse_test

import (
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fletchdb/fletch/engine/parse"
)

// TestShuffled parses statements whose tokens were moved, doubled, dropped and mixed with those of others: nearly right text reaches
// corners of the grammar that neither right text nor random bytes do.
func TestShuffled(t *testing.T) {
	const rounds = 20_000
	tokens := regexp.MustCompile(`(?s)'[^']*'|"[^"]*"|\$\w*|[\w.]+|\s+|::|=>|:=|[-+*/<>=~!@#%^&|]+|.`)
	var statements [][]string
	for _, file := range glob(t, 5, "testdata", "corpus", "*.sql") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		pieces, _ := parse.Split(string(text))
		for _, p := range pieces {
			statements = append(statements, tokens.FindAllString(p.Text, -1))
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	some := func() []string { return statements[rng.IntN(len(statements))] }
	part := func(s []string) (from, to int) {
		from = rng.IntN(len(s))
		return from, min(len(s), from+1+rng.IntN(6))
	}
	parsed := 0
	for range rounds {
		s := slices.Clone(some())
		for range 1 + rng.IntN(3) {
			from, to := part(s)
			other := some()
			a, b := part(other)
			switch rng.IntN(6) {
			case 0:
				s = slices.Insert(s, from, other[a:b]...)
			case 1:
				s = slices.Replace(s, from, to, other[a:b]...)
			case 2:
				s = slices.Delete(s, from, to)
			case 3:
				s = slices.Insert(s, to, slices.Clone(s[from:to])...)
			case 4:
				s = slices.Insert(slices.Insert(s, to, ")"), from, "(")
			case 5:
				to = rng.IntN(len(s))
				s[from], s[to] = s[to], s[from]
			}
			if len(s) == 0 {
				break
			}
		}
		sql := strings.Join(s, "")
		stmts, err := parse.Parse(sql)
		if err != nil {
			continue
		}
		parsed++
		if bad := misread(sql, stmts); bad != "" {
			t.Errorf("%q: %s", sql, bad)
		}
	}
	if parsed < rounds/10 {
		t.Errorf("only %d of %d texts parsed", parsed, rounds)
	}
}
