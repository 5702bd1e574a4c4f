// Package slt runs SQL logic tests: files of statements and queries with the answers they must give, as SQLite and DataFusion write
// them. It drives any Querier and must never know how one runs a statement.
package slt

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A Flavour is which project's conventions a file follows.
type Flavour uint8

// The flavours. SQLite's answers have one value per line, DataFusion's one row.
const (
	SQLite     Flavour = iota // *.test
	DataFusion                // *.slt
)

// A Kind is what a record asks for.
type Kind uint8

// The kinds.
const (
	Statement      Kind = iota // to succeed
	StatementError             // to fail
	StatementCount             // to succeed, with Count rows changed
	Query                      // to give Want
	QueryError                 // to fail
)

// A Record is one test.
type Record struct {
	File  string
	Line  int // of its directive, from 1
	Kind  Kind
	SQL   string
	Types string // one letter per column: I, R, T, B, D, P, ?
	Sort  string // "", nosort, rowsort or valuesort
	Label string // records of one label give one answer
	Want  []string
	Hash  string // of the values, instead of Want; Values is how many they are
	Count int64

	Values  int
	skipped string // why it is left out
}

// Where is the record's place, "file:line".
func (r Record) Where() string { return fmt.Sprintf("%s:%d", r.File, r.Line) }

// A Script is the records of a file, in order.
type Script struct {
	Flavour Flavour
	Records []Record
}

// flavourOf tells a file's flavour from its name.
func flavourOf(path string) Flavour {
	if strings.HasSuffix(path, ".test") {
		return SQLite
	}
	return DataFusion
}

// maxInclude bounds how deep files include each other.
const maxInclude = 16

// Read reads a file and those that it includes. label is the engine that skipif and onlyif speak of: "postgresql".
func Read(path, label string) (*Script, error) {
	s := &Script{Flavour: flavourOf(path)}
	return s, s.read(path, label, 0)
}

func (s *Script) read(path, label string, depth int) error {
	if depth > maxInclude {
		return fmt.Errorf("%s: files include each other", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read logic tests: %w", err)
	}
	defer func() { _ = f.Close() }()
	p := &parser{script: s, path: path, label: label, in: bufio.NewReaderSize(f, 1<<20), depth: depth}
	return p.parse()
}

type parser struct {
	script *Script
	path   string
	label  string
	in     *bufio.Reader
	line   int
	depth  int
	peeked *string
	ended  bool
}

// next is the next line without its end; ok is false at the end.
func (p *parser) next() (line string, ok bool) {
	if p.peeked != nil {
		line, p.peeked = *p.peeked, nil
		p.line++
		return line, true
	}
	if p.ended {
		return "", false
	}
	line, err := p.in.ReadString('\n')
	if err != nil {
		p.ended = true
		if err != io.EOF || line == "" {
			return "", false
		}
	}
	p.line++
	return strings.TrimRight(line, "\r\n"), true
}

func (p *parser) bad(format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", p.path, p.line, fmt.Sprintf(format, args...))
}

func (p *parser) parse() error {
	skip := ""
	for {
		line, ok := p.next()
		if !ok {
			return nil
		}
		if strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "" {
			continue
		}
		words := strings.Fields(line)
		switch words[0] {
		case "skipif":
			if len(words) > 1 && p.is(words[1]) {
				skip = "skipif " + words[1]
			}
		case "onlyif":
			if len(words) > 1 && !p.is(words[1]) {
				skip = "onlyif " + words[1]
			}
		case "halt":
			if skip == "" {
				return nil
			}
			skip = ""
		case "hash-threshold", "control", "subtest", "connection", "sleep", "system":
			skip = ""
		case "include":
			if len(words) < 2 {
				return p.bad("include what?")
			}
			files, err := filepath.Glob(filepath.Join(filepath.Dir(p.path), words[1]))
			if err != nil || len(files) == 0 {
				return p.bad("cannot include %s", words[1])
			}
			for _, f := range files {
				if err := p.script.read(f, p.label, p.depth+1); err != nil {
					return err
				}
			}
			skip = ""
		case "statement", "query":
			r, err := p.record(words)
			if err != nil {
				return err
			}
			r.skipped = skip
			skip = ""
			p.script.Records = append(p.script.Records, r)
		default:
			return p.bad("unknown directive %q", words[0])
		}
	}
}

// is tells whether an engine's name in skipif and onlyif is ours.
func (p *parser) is(name string) bool {
	return name == p.label || name == "postgres" && p.label == "postgresql"
}

func (p *parser) record(words []string) (Record, error) {
	r := Record{File: p.path, Line: p.line}
	rest := words[1:]
	switch {
	case words[0] == "statement" && len(rest) > 0 && rest[0] == "ok":
		r.Kind = Statement
	case words[0] == "statement" && len(rest) > 1 && rest[0] == "count":
		r.Kind = StatementCount
		n, err := strconv.ParseInt(rest[1], 10, 64)
		if err != nil {
			return r, p.bad("statement count %s", rest[1])
		}
		r.Count = n
	case words[0] == "statement" && len(rest) > 0 && rest[0] == "error":
		r.Kind = StatementError
	case words[0] == "query" && len(rest) > 0 && rest[0] == "error":
		r.Kind = QueryError
	case words[0] == "query":
		r.Kind = Query
		if len(rest) > 0 {
			r.Types = rest[0]
		}
		for _, w := range rest[min(1, len(rest)):] {
			switch w {
			case "nosort", "rowsort", "valuesort":
				r.Sort = w
			default:
				r.Label = w
			}
		}
	default:
		return r, p.bad("%s %s", words[0], strings.Join(rest, " "))
	}
	var sql []string
	answered := false
	for {
		line, ok := p.next()
		if !ok || line == "" {
			break
		}
		if line == "----" {
			answered = true
			break
		}
		sql = append(sql, line)
	}
	r.SQL = strings.Join(sql, "\n")
	if answered {
		p.answer(&r)
	}
	return r, nil
}

// answer reads what a record expects, up to an empty line; an error's text may have more than one, and ends with two.
func (p *parser) answer(r *Record) {
	blank := 0
	for {
		line, ok := p.next()
		if !ok {
			break
		}
		if line == "" {
			if r.Kind == Query || blank > 0 {
				break
			}
			blank++
			// An error's text goes on after one empty line only if no directive follows.
			if next, ok := p.peek(); !ok || directive(next) {
				break
			}
			continue
		}
		r.Want = append(r.Want, line)
	}
	if r.Kind == Query && len(r.Want) == 1 {
		var n int
		var hash string
		if c, _ := fmt.Sscanf(r.Want[0], "%d values hashing to %s", &n, &hash); c == 2 {
			r.Hash, r.Values, r.Want = hash, n, nil
		}
	}
}

func (p *parser) peek() (string, bool) {
	line, ok := p.next()
	if !ok {
		return "", false
	}
	p.line--
	p.peeked = &line
	return line, true
}

func directive(line string) bool {
	for _, d := range []string{"statement ", "query ", "#", "skipif ", "onlyif ", "halt", "include ", "hash-threshold", "control "} {
		if strings.HasPrefix(line, d) {
			return true
		}
	}
	return line == ""
}
