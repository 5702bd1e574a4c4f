package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"regexp"
	"runtime/debug"
	"runtime/pprof"
	"strings"
	"syscall"
	"time"

	"github.com/fletchdb/fletch/engine/sqlerr"
)

type config struct {
	seed, first, sets  uint64
	perSet, most       int
	began, until       time.Time
	deadline           time.Duration
	pairings           []string
	found              string
	complete, examples bool
	stacks             io.Writer // gets those of all goroutines where one stands still
}

type fuzz struct {
	config
	embedded *embedded
	others   []peer
	dir      string
	tables   []*table
	origin   string // of the tables, and how to see them again

	made, accepted, nonempty, slow, differences int
	compared                                    map[string]int // answers, by peer
	refused                                     map[string]int // by who and why
	example                                     map[string]string
	seen                                        map[string]bool // differences, so that one is not shown twice
	reached                                     *reach
}

func newFuzz(c config) *fuzz {
	return &fuzz{
		config: c, embedded: &embedded{}, compared: map[string]int{}, refused: map[string]int{}, example: map[string]string{},
		seen: map[string]bool{}, reached: newReach(),
	}
}

// run makes one set of tables after the other, and queries over it, until the time is over or enough differs.
func (f *fuzz) run() (err error) {
	defer f.embedded.Close()
	for _, name := range f.pairings {
		switch name {
		case "duckdb":
			f.others = append(f.others, &duck{})
		case "cluster":
			f.others = append(f.others, &cluster{workers: 3})
		default:
			return fmt.Errorf("no pairing %q: duckdb and cluster are", name)
		}
	}
	for _, p := range f.others {
		defer p.Close()
	}
	if f.dir, err = os.MkdirTemp("", "fletch-fuzz-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(f.dir)) }()
	fmt.Printf("embedded against %s, seed %d\n", strings.Join(f.pairings, " and "), f.seed)
	for set := f.first; set-f.first < f.sets && !f.done(); set++ {
		r := rand.New(rand.NewPCG(f.seed, set))
		f.embedded.threads, f.embedded.batch = 1+r.IntN(4), []int{0, 0, 7, 50, 1000}[r.IntN(5)]
		f.tables = makeTables(r)
		if err := f.load(f.tables); err != nil {
			return err
		}
		g := newGrammar(r, f.tables)
		f.origin = fmt.Sprintf("-seed %d -set %d -queries %d, %d threads, batches of %d", f.seed, set, f.perSet, f.embedded.threads, f.embedded.batch)
		for range f.perSet {
			if f.done() {
				break
			}
			if err := f.try(g.statement()); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *fuzz) done() bool {
	return !time.Now().Before(f.until) || f.most > 0 && f.differences >= f.most
}

func (f *fuzz) load(tables []*table) error {
	for _, t := range tables {
		if err := t.write(f.dir); err != nil {
			return err
		}
	}
	err := f.embedded.load(f.dir, f.embedded.threads, f.embedded.batch, tables)
	for _, p := range f.others {
		err = errors.Join(err, p.load(f.dir, f.embedded.threads, f.embedded.batch, tables))
	}
	return err
}

// A panicked is a panic of a peer, and the place in the engine where it was.
type panicked struct{ what, at string }

func (p panicked) Error() string { return p.what + " at " + p.at }

var inEngine = regexp.MustCompile(`engine/[a-z/]+/?[a-z_]+\.go:\d+`)

func place(stack []byte) string {
	if i := bytes.LastIndex(stack, []byte("panic.go:")); i >= 0 {
		stack = stack[i:]
	}
	return string(inEngine.Find(stack))
}

var errHang = errors.New("stands still")

// ask asks one peer. A peer hangs that does not come back soon after its deadline, or comes back with it and has left the CPU alone:
// peers run in this process, one at a time.
func (f *fuzz) ask(p peer, text string) (rows, error) {
	ctx, cancel := context.WithTimeout(context.Background(), f.deadline)
	defer cancel()
	before := cpu()
	type answer struct {
		rows rows
		err  error
	}
	done := make(chan answer, 1) // nobody may be there any more to take it
	go func() {
		var a answer
		defer func() {
			if v := recover(); v != nil {
				a = answer{err: panicked{fmt.Sprint(v), place(debug.Stack())}}
			}
			done <- a
		}()
		a.rows, a.err = p.query(ctx, text)
	}()
	late := time.NewTimer(f.deadline - time.Second)
	defer late.Stop()
	var stacks bytes.Buffer
	select {
	case a := <-done:
		return a.rows, a.err
	case <-late.C: // while everything still stands where it stands
		_ = pprof.Lookup("goroutine").WriteTo(&stacks, 1)
	}
	hang := errHang
	select {
	case a := <-done:
		if a.err == nil || cpu()-before > f.deadline/50 {
			return a.rows, a.err
		}
	case <-time.After(f.deadline):
		hang = fmt.Errorf("%w: it does not end at its deadline", errHang)
	}
	_, _ = stacks.WriteTo(f.stacks)
	return nil, hang
}

// cpu is the time that this process has used of all CPUs.
func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// A difference is what two answers to one query do not agree in; none is the zero value.
type difference struct {
	kind string // rows, error, internal, panic or hang
	why  string
	peer peer // that disagrees, nil: embedded goes wrong by itself
}

// judge compares the answers of embedded and of others. What they refuse is counted if it is the first time that q is asked.
func (f *fuzz) judge(q statement, others []peer, first bool) difference {
	text, ordered := q.text(), q.ordered()
	mine, err := f.ask(f.embedded, text)
	if d := wrong(err); d.kind != "" {
		return d
	}
	if err == nil && first {
		f.accepted++
		if len(mine) > 0 {
			f.nonempty++
		}
	}
	f.note(first, f.embedded, text, err)
	for _, p := range others {
		_, ours := p.(*cluster)
		if !ours && (err != nil || q.own) {
			continue
		}
		theirs, other := f.ask(p, text)
		f.note(first, p, text, other)
		d := difference{}
		switch {
		case errors.Is(other, errHang) || ours && wrong(other).kind != "":
			d = wrong(other)
		case ours && late(err) != late(other): // slow, not wrong
		case ours && (err == nil) != (other == nil) && !ofData(err) && !ofData(other):
			d = difference{kind: "error", why: fmt.Sprintf("embedded: %v, %s: %v", err, p.name(), other)}
		case err == nil && other == nil:
			if first {
				f.compared[p.name()]++
			}
			if why := same(mine, theirs, ordered); why != "" {
				d = difference{kind: "rows", why: why}
			}
		}
		if d.kind != "" {
			d.peer = p
			return d
		}
	}
	return difference{}
}

// note counts an error, and prints a statement that is not answered in time.
func (f *fuzz) note(first bool, p peer, text string, err error) {
	if err == nil || !first {
		return
	}
	kind := p.name() + ": " + literals.ReplaceAllString(firstLine(err.Error()), "…")
	f.refused[kind]++
	if f.example[kind] == "" {
		f.example[kind] = err.Error() + "\n" + text
	}
	if late(err) {
		f.slow++
		fmt.Printf("# slow: %s takes over %s, %s\n%s\n\n", p.name(), f.deadline, f.origin, text)
	}
}

// wrong is an error that no query may end with.
func wrong(err error) difference {
	var e *sqlerr.Error
	switch {
	case err == nil || late(err):
		return difference{}
	case errors.Is(err, errHang):
		return difference{kind: "hang", why: err.Error()}
	case errors.As(err, new(panicked)):
		return difference{kind: "panic", why: firstLine(err.Error())}
	case sqlerr.CodeOf(err) != sqlerr.Internal:
		return difference{}
	case errors.As(err, &e) && e.Err != nil:
		return difference{kind: "internal", why: firstLine(err.Error()) + ": " + firstLine(e.Err.Error()) + " at " + place([]byte(e.Err.Error()))}
	}
	return difference{kind: "internal", why: firstLine(err.Error())}
}

func late(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || err != nil && sqlerr.CodeOf(err) == sqlerr.Timeout
}

// ofData tells an error of the rows from one of the statement or the cluster. Which row fails first, and whether any is computed, hangs
// on the order of the work; all other errors do not.
func ofData(err error) bool {
	switch sqlerr.CodeOf(err) {
	case sqlerr.DivisionByZero, sqlerr.OutOfRange, sqlerr.InvalidText, sqlerr.InvalidDatetime, sqlerr.DatetimeOverflow, sqlerr.InvalidParameter,
		sqlerr.InvalidRegex, sqlerr.InvalidUTF8, sqlerr.Cardinality, sqlerr.MemoryLimit:
		return err != nil
	}
	return false
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s[:min(len(s), 160)]
}

var literals = regexp.MustCompile(`"[^"]*"|'[^']*'|-?\d[\d.:-]*`)
