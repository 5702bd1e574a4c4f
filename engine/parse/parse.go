// Package parse turns SQL text into the tree of package ast: a lexer, recursive descent for statements and clauses, and
// precedence climbing for expressions. The grammar is PostgreSQL's with what DuckDB and DataFusion add for files.
// It must never know the catalog, types of columns or functions: what a name means is the binder's to say.
package parse

import (
	"cmp"
	"strings"
	"unicode/utf8"

	"github.com/fletchdb/fletch/engine/ast"
	"github.com/fletchdb/fletch/engine/sqlerr"
)

// MaxSize is the size in bytes of the largest text that is parsed.
const MaxSize = 16 << 20

// Parse parses any number of statements separated by semicolons; empty ones are left out, so the result may be empty. Places are
// byte offsets into sql. Question marks are numbered from 1 in each statement.
//
// The error is a *sqlerr.Error with a place: code Syntax with what was not expected there, Unsupported for what is known but not
// offered, StatementTooLarge for more than MaxSize bytes or ast.MaxDepth levels, InvalidUTF8 for bytes that are no text.
func Parse(sql string) ([]ast.Statement, error) {
	if err := Check(sql); err != nil {
		return nil, err
	}
	p := parser{lex: lexer{src: sql}}
	stmts := p.statements()
	if p.err == nil {
		return stmts, nil
	}
	if p.err.Code != sqlerr.Syntax {
		return nil, p.err
	}
	// Once more, noting what each place would have taken: good messages then cost nothing where there is no error.
	again := parser{lex: lexer{src: sql}, trace: true}
	again.statements()
	return nil, cmp.Or(again.err, p.err)
}

// ParseOne parses a text that holds exactly one statement, with or without a semicolon after it. Errors are those of Parse, and
// Syntax where there is none or a second one.
func ParseOne(sql string) (ast.Statement, error) {
	stmts, err := Parse(sql)
	if err != nil {
		return nil, err
	}
	switch len(stmts) {
	case 1:
		return stmts[0], nil
	case 0:
		return nil, sqlerr.New(sqlerr.Syntax, sqlerr.Pos{}, "the text holds no statement").WithHint("write one, such as SELECT 1")
	default:
		return nil, sqlerr.New(sqlerr.Syntax, stmts[1].At(), "only one statement can stand here").
			WithHint("run the statements one by one")
	}
}

// Check refuses text that no statement can be, whatever it says: too long, with a zero byte, not UTF-8.
func Check(sql string) error {
	if len(sql) > MaxSize {
		return sqlerr.Newf(sqlerr.StatementTooLarge, sqlerr.Pos{}, "the statement has %d bytes, more than %d", len(sql), MaxSize).
			WithHint("put the data into a file and query that")
	}
	if i := strings.IndexByte(sql, 0); i >= 0 {
		return sqlerr.New(sqlerr.Syntax, sqlerr.Pos{Start: int32(i), End: int32(i + 1)}, "a statement cannot hold a zero byte")
	}
	if utf8.ValidString(sql) {
		return nil
	}
	at := 0
	for at < len(sql) {
		r, n := utf8.DecodeRuneInString(sql[at:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		at += n
	}
	return sqlerr.Newf(sqlerr.InvalidUTF8, sqlerr.Pos{Start: int32(at), End: int32(at + 1)}, "byte 0x%02x is not valid UTF-8 here", sql[at]).
		WithHint("save the text as UTF-8")
}

// A parser reads one text. Its first error sticks: from then on every token is the end of the text, so that all loops end and
// no function needs to check; what they return is then thrown away, and may hold nils.
type parser struct {
	lex  lexer
	tok  token // the token to be read next
	prev token // the token read last

	ahead  [4]token // tokens after tok, a ring
	first  int
	nAhead int

	depth  int // levels open now
	height int // of the tallest tree finished within the level that is open now
	params int // question marks seen in this statement

	bare  token // the token last read as an alias without AS: often a misspelt keyword
	err   *sqlerr.Error
	trace bool     // note in want what was asked for at tok
	want  []string // keywords and punctuation
}

func (p *parser) statements() []ast.Statement {
	var stmts []ast.Statement
	p.tok = p.lex.next()
	for {
		for p.accept(';') {
		}
		if p.tok.kind == tokEnd {
			return stmts
		}
		p.params = 0
		s := p.statement()
		if p.tok.kind != ';' && p.tok.kind != tokEnd {
			p.unexpected("")
		}
		if p.err != nil {
			return nil
		}
		stmts = append(stmts, s)
	}
}

func (p *parser) advance() {
	if p.err != nil {
		return
	}
	p.prev = p.tok
	if p.nAhead > 0 {
		p.tok = p.ahead[p.first]
		p.first = (p.first + 1) % len(p.ahead)
		p.nAhead--
	} else {
		p.tok = p.lex.next()
	}
	p.want = p.want[:0]
}

// peek is the nth token after tok, n from 1 to 4.
func (p *parser) peek(n int) token {
	for p.nAhead < n && p.err == nil {
		p.ahead[(p.first+p.nAhead)%len(p.ahead)] = p.lex.next()
		p.nAhead++
	}
	if p.err != nil {
		return p.tok
	}
	return p.ahead[(p.first+n-1)%len(p.ahead)]
}

// at tells whether the next token is of kind k, one of the punctuation kinds.
func (p *parser) at(k tokenKind) bool {
	if p.tok.kind == k {
		return true
	}
	if p.trace {
		p.want = append(p.want, k.String())
	}
	return false
}

func (p *parser) accept(k tokenKind) bool {
	if !p.at(k) {
		return false
	}
	p.advance()
	return true
}

func (p *parser) expect(k tokenKind) {
	if !p.accept(k) {
		p.unexpected(k.String())
	}
}

// atWord tells whether the next token is the keyword k.
func (p *parser) atWord(k keyword) bool {
	if p.tok.kw == k {
		return true
	}
	if p.trace {
		p.want = append(p.want, k.String())
	}
	return false
}

func (p *parser) acceptWord(k keyword) bool {
	if !p.atWord(k) {
		return false
	}
	p.advance()
	return true
}

func (p *parser) expectWord(k keyword) {
	if !p.acceptWord(k) {
		p.unexpected(k.String())
	}
}

// acceptWords takes a sequence of at most five keywords, all or none.
func (p *parser) acceptWords(ks ...keyword) bool {
	if !p.atWords(ks...) {
		return false
	}
	for range ks {
		p.advance()
	}
	return true
}

func (p *parser) atWords(ks ...keyword) bool {
	if !p.atWord(ks[0]) {
		return false
	}
	for i, k := range ks[1:] {
		if p.peek(i+1).kw != k {
			return false
		}
	}
	return true
}

// atOp and acceptOp are for operators that mean something else than an operation, such as * and =.
func (p *parser) atOp(o ast.Operator) bool { return p.tok.kind == tokOp && p.tok.op.text() == o }

func (p *parser) acceptOp(o ast.Operator) bool {
	if !p.atOp(o) {
		return false
	}
	p.advance()
	return true
}

// span is the place from start to the end of the token read last.
func (p *parser) span(start int32) ast.Span {
	return ast.Span{Pos: sqlerr.Pos{Start: start, End: max(start, p.prev.end)}}
}

// enter opens a level of nesting, and leave closes it with what enter returned. The height of what is built between them is counted
// on the safe side: parentheses count too, and the steps of all chains of a level are added to its tallest part.
func (p *parser) enter() int {
	p.depth++
	if p.depth > ast.MaxDepth {
		p.tooDeep()
	}
	h := p.height
	p.height = 0
	return h
}

func (p *parser) leave(outer int) {
	p.depth--
	p.height = max(outer, p.height+1)
}

// chain counts one more step of a chain that grows to the left, whose tree is as high as the chain is long.
func (p *parser) chain() {
	p.height++
	if p.height > ast.MaxDepth {
		p.tooDeep()
	}
}

func (p *parser) tooDeep() {
	p.fail(sqlerr.Newf(sqlerr.StatementTooLarge, p.tok.pos(), "the statement nests more than %d levels deep here", ast.MaxDepth).
		WithHint("split it with WITH, and write long lists of values with IN or VALUES"))
}
