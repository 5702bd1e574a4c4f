package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/fletchdb/fletch/engine/parse"
)

const promptHelp = `A statement ends with a semicolon, and may have several lines.
  \d           tables
  \d NAME      columns of a table
  \x           tables row by row, or as tables again
  \q, Ctrl-D   end
  Ctrl-C       end the statement, or forget what is typed
`

// A prompt talks to a person on a terminal.
type prompt struct {
	session *session
	in, out *os.File
	keys    *keys
	editor  *term.Terminal
	history *history
}

// prompt reads and runs statements until the person has enough, or ctx ends. Ctrl-C ends a statement, not the session; what
// fails is told of, and the session goes on.
func (se *session) prompt(ctx context.Context) error {
	p := &prompt{session: se, in: se.process.in.(*os.File), out: se.process.out.(*os.File), history: openHistory()}
	p.keys = &keys{File: p.in}
	defer p.history.close()
	// A Ctrl-C that comes between lines, when the terminal is not raw and no statement runs, has nothing to end.
	_, release := p.session.process.signals.catch(ctx)
	defer release()
	se.to.since = time.Now() // statements tell how long they took
	_, _ = fmt.Fprintln(p.out, `Statements end with a semicolon. \? helps, \q or Ctrl-D ends.`)
	text := ""
	for {
		line, err := p.line(ctx, text != "")
		switch {
		case errors.Is(err, errTypedInterrupt):
			text = ""
			continue
		case errors.Is(err, io.EOF):
			_, _ = fmt.Fprintln(p.out)
			return nil
		case err != nil:
			return err
		}
		if text == "" && isCommand(line) {
			if p.command(ctx, strings.TrimSpace(line)) {
				return nil
			}
			continue
		}
		text = p.statements(ctx, text+line+"\n")
	}
}

// errTypedInterrupt is Ctrl-C while a line was edited.
var errTypedInterrupt = errors.New("interrupted while typing")

// line reads a line; more tells that a statement has begun. The terminal is raw for that time only.
func (p *prompt) line(ctx context.Context, more bool) (string, error) {
	state, err := term.MakeRaw(int(p.in.Fd()))
	if err != nil {
		return "", fmt.Errorf("prepare the terminal: %w", err)
	}
	defer func() { _ = term.Restore(int(p.in.Fd()), state) }()
	if p.editor == nil {
		p.editor = term.NewTerminal(struct {
			io.Reader
			io.Writer
		}{p.keys, p.out}, "")
		p.editor.History = p.history
	}
	p.editor.SetPrompt("fletch> ")
	if more {
		p.editor.SetPrompt("   ...> ")
	}
	if w, h, err := term.GetSize(int(p.out.Fd())); err == nil {
		_ = p.editor.SetSize(w, h)
	}
	type read struct {
		line string
		err  error
	}
	done := make(chan read, 1)
	go func() {
		line, err := p.editor.ReadLine()
		done <- read{line, err}
	}()
	select {
	case r := <-done:
		if errors.Is(r.err, io.EOF) && p.keys.interrupted {
			p.keys.interrupted = false
			p.editor = nil // it would go on with the line that is given up
			_, _ = io.WriteString(p.out, "^C\r\n")
			return "", errTypedInterrupt
		}
		return r.line, r.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// keys is a terminal's input that notices Ctrl-C, which an editor takes for the end.
type keys struct {
	*os.File
	interrupted bool
}

func (k *keys) Read(b []byte) (int, error) {
	n, err := k.File.Read(b)
	if strings.IndexByte(string(b[:n]), 3) >= 0 {
		k.interrupted = true
	}
	return n, err
}

// statements runs what is complete of a text, and gives the rest. After one that fails the others are not run.
func (p *prompt) statements(ctx context.Context, text string) (rest string) {
	pieces, rest := parse.Split(text)
	if len(pieces) > 0 {
		p.history.remember(text[:len(text)-len(rest)])
	}
	for _, piece := range pieces {
		if p.run(ctx, piece.Text) != nil {
			return ""
		}
	}
	return rest
}

// run runs a statement, which Ctrl-C ends.
func (p *prompt) run(ctx context.Context, statement string) error {
	ctx, release := p.session.process.signals.catch(ctx)
	defer release()
	p.session.to.width, _ = terminal(p.out) // it may have changed
	return p.session.run(ctx, source{statement: statement})
}

// isCommand tells whether a line is for the prompt itself. People who type exit mean it.
func isCommand(line string) bool {
	line = strings.TrimSpace(line)
	return strings.HasPrefix(line, `\`) || line == "exit" || line == "quit" || line == "help"
}

// command does what a line says, and tells whether that was the last.
func (p *prompt) command(ctx context.Context, line string) (end bool) {
	p.history.remember(line)
	name, argument, _ := strings.Cut(line, " ")
	argument = strings.TrimSuffix(strings.TrimSpace(argument), ";")
	switch name {
	case `\q`, "exit", "quit":
		return true
	case `\?`, `\h`, "help":
		_, _ = io.WriteString(p.out, promptHelp)
	case `\x`:
		p.session.to.record = !p.session.to.record
		_, _ = fmt.Fprintf(p.out, "tables are shown %s\n", map[bool]string{true: "row by row", false: "as tables"}[p.session.to.record])
	case `\d`, `\dt`:
		if argument == "" {
			_ = p.run(ctx, "SHOW TABLES")
		} else {
			_ = p.run(ctx, "DESCRIBE "+argument)
		}
	default:
		_, _ = fmt.Fprintf(p.out, "there is no command %s; \\? shows those that are\n", oneLine(name))
	}
	return false
}
