package cli

import (
	"os"
	"path/filepath"
	"strings"
)

// historySize is how many entries are kept.
const historySize = 1000

// A history is what was typed, the newest first, kept in a file of the user's. It is a term.History; that a line was typed says
// nothing to it, as it has whole statements.
type history struct {
	entries []string // oldest first
	file    *os.File // to append to; nil: nothing is kept
}

// historyPath is the file, in the folder for what programs remember; "" where there is none.
func historyPath() string {
	dir := os.Getenv("XDG_STATE_HOME")
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		dir = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(dir, "fletch", "history")
}

// openHistory reads the history. A prompt without one is still a prompt: nothing of this can fail it.
func openHistory() *history {
	h := &history{}
	path := historyPath()
	if path == "" || os.MkdirAll(filepath.Dir(path), 0o700) != nil {
		return h
	}
	if text, err := os.ReadFile(path); err == nil {
		lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
		h.entries = lines[max(0, len(lines)-historySize):]
		if len(lines) > 2*historySize {
			_ = os.WriteFile(path, []byte(strings.Join(h.entries, "\n")+"\n"), 0o600)
		}
	}
	h.file, _ = os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	return h
}

func (h *history) close() {
	if h.file != nil {
		_ = h.file.Close()
	}
}

// remember adds what was typed.
func (h *history) remember(text string) {
	entry := joined(strings.TrimSpace(text))
	if entry == "" || len(h.entries) > 0 && h.entries[len(h.entries)-1] == entry {
		return
	}
	h.entries = append(h.entries, entry)
	if h.file != nil {
		_, _ = h.file.WriteString(entry + "\n")
	}
}

// joined is a statement on one line. Its comments to the end of a line, which would then hide the rest, are left out.
func joined(text string) string {
	if !strings.Contains(text, "\n") {
		return text
	}
	var parts []string
	for line := range strings.SplitSeq(text, "\n") {
		if before, _, ok := strings.Cut(line, "--"); ok && strings.Count(before, "'")%2 == 0 {
			line = before
		}
		if line = strings.TrimSpace(line); line != "" {
			parts = append(parts, line)
		}
	}
	return strings.Join(parts, " ")
}

// Add is called with each line; whole statements are remembered instead.
func (h *history) Add(string) {}

// Len is how many entries there are.
func (h *history) Len() int { return len(h.entries) }

// At is the entry i, 0 being the newest.
func (h *history) At(i int) string { return h.entries[len(h.entries)-1-i] }
