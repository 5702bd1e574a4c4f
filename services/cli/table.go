package cli

import (
	"bufio"
	"fmt"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
)

// tableSample is how many rows a table's columns are measured by. A result of up to that many rows is shown when it is complete.
const tableSample = 10_000

// leastText is how narrow a column of text may become before a table is rather shown row by row.
const leastText = 8

// A tableWriter shows a result as a table. Its columns fit the first rows and, on a terminal, the terminal: text gives way before
// names of columns do, numbers never do, and where that is not enough the table is shown row by row.
type tableWriter struct {
	out     *bufio.Writer
	to      destination
	columns []tableColumn
	sample  [][]tableCell
	began   bool
	rows    int64 // all
	shown   int64
	cut     bool // some cell was
}

type tableColumn struct {
	name  string
	right bool // as numbers stand
	text  bool // may be cut
	width int
}

type tableCell struct {
	text string
	null bool
}

func newTableWriter(out *bufio.Writer, to destination, schema *arrow.Schema) *tableWriter {
	w := &tableWriter{out: out, to: to}
	for _, f := range schema.Fields() {
		id := f.Type.ID()
		w.columns = append(w.columns, tableColumn{
			name: oneLine(f.Name), right: arrow.IsInteger(id) || arrow.IsFloating(id) || arrow.IsDecimal(id), text: id == arrow.STRING || id == arrow.BINARY,
		})
	}
	return w
}

func (w *tableWriter) Write(rec arrow.RecordBatch) error {
	cells := cellsOf(rec)
	for i := range int(rec.NumRows()) {
		row := make([]tableCell, len(cells))
		for c, cell := range cells {
			row[c] = w.cell(rec.Column(c), cell, c, i)
		}
		w.rows++
		if !w.began && len(w.sample) < tableSample {
			w.sample = append(w.sample, row)
			continue
		}
		w.begin()
		w.row(row)
	}
	if w.began && w.out.Buffered() > 0 {
		return w.out.Flush()
	}
	return nil
}

// cell is a value as it is shown. The text NULL is quoted: NULL itself looks so.
func (w *tableWriter) cell(a arrow.Array, cell cell, c, i int) tableCell {
	if a.IsNull(i) {
		return tableCell{"NULL", true}
	}
	text := string(cell(nil, i))
	switch {
	case w.columns[c].text && text == "NULL":
		text = `"NULL"`
	case len(w.columns) > 1 && !w.to.record:
		text = oneLine(text)
	}
	return tableCell{text, false}
}

func (w *tableWriter) Close() error {
	w.begin()
	if !w.to.record && len(w.columns) > 0 {
		w.rule("└", "┴", "┘")
	}
	unit := "rows"
	if w.rows == 1 {
		unit = "row"
	}
	_, _ = fmt.Fprintf(w.out, "(%d %s", w.rows, unit)
	if !w.to.since.IsZero() {
		_, _ = fmt.Fprintf(w.out, " in %s", elapsed(time.Since(w.to.since)))
	}
	if w.cut {
		_, _ = w.out.WriteString("; … marks what did not fit, --format csv has all")
	}
	_, _ = w.out.WriteString(")\n")
	return w.out.Flush()
}

// Abort shows nothing of a table that had not begun: there is no such thing as half a table.
func (w *tableWriter) Abort(reason string) error {
	if w.began {
		_, _ = fmt.Fprintf(w.out, "INCOMPLETE RESULT: %s\n", oneLine(reason))
	}
	return w.out.Flush()
}

// begin fixes the columns' widths and shows the head and the rows so far, once.
func (w *tableWriter) begin() {
	if w.began {
		return
	}
	w.began = true
	w.to.record = w.to.record || !w.layOut()
	if !w.to.record && len(w.columns) > 0 {
		w.rule("┌", "┬", "┐")
		names := make([]tableCell, len(w.columns))
		for c := range w.columns {
			names[c].text = w.columns[c].name
		}
		w.line(names)
		w.rule("├", "┼", "┤")
	}
	for _, row := range w.sample {
		w.row(row)
	}
	w.sample = nil
}

// layOut sets the columns' widths. It fails where they do not fit.
func (w *tableWriter) layOut() bool {
	least := make([]int, len(w.columns))
	want := make([]int, len(w.columns))
	room := w.to.width - 3*len(w.columns) - 1
	for c := range w.columns {
		longest := 0
		for _, row := range w.sample {
			for _, line := range w.lines(row[c], 0) {
				longest = max(longest, width(line))
			}
		}
		name := width(w.columns[c].name)
		want[c] = max(longest, name, 1)
		least[c] = max(longest, min(name, leastText), 1)
		if w.columns[c].text {
			least[c] = min(want[c], leastText)
		}
	}
	if w.to.width == 0 || sum(want) <= room {
		for c := range w.columns {
			w.columns[c].width = want[c]
		}
		return true
	}
	if sum(least) > room {
		return false
	}
	for c, n := range share(least, want, room) {
		w.columns[c].width = n
	}
	return true
}

// share gives columns what they want, up to a limit that is the same for all, and at least what they need, which fits into room.
func share(least, want []int, room int) []int {
	widths := make([]int, len(least))
	at := func(limit int) int {
		for c := range widths {
			widths[c] = max(least[c], min(want[c], limit))
		}
		return sum(widths)
	}
	low, high := 0, room
	for low < high {
		if middle := (low + high + 1) / 2; at(middle) <= room {
			low = middle
		} else {
			high = middle - 1
		}
	}
	left := room - at(low)
	for c := range widths {
		if left > 0 && widths[c] < want[c] && widths[c] >= low {
			widths[c]++
			left--
		}
	}
	return widths
}

func sum(list []int) int {
	n := 0
	for _, v := range list {
		n += v
	}
	return n
}

// lines are the lines of a cell. A table of one column, such as a plan, keeps its line breaks and is wrapped, others are cut.
func (w *tableWriter) lines(c tableCell, columns int) []string {
	if len(w.columns) == 1 || w.to.record {
		return wrapped(c.text, columns)
	}
	return []string{c.text}
}

func (w *tableWriter) row(row []tableCell) {
	w.shown++
	if w.to.record {
		w.vertical(row)
		return
	}
	if len(row) > 1 {
		w.line(row)
		return
	}
	limit := 0
	if w.to.width > 0 {
		limit = w.columns[0].width
	}
	for _, line := range w.lines(row[0], limit) {
		w.line([]tableCell{{line, row[0].null}})
	}
}

func (w *tableWriter) line(row []tableCell) {
	for c, cell := range row {
		column := w.columns[c]
		text := cell.text
		if w.to.width > 0 && width(text) > column.width {
			text = cut(text, column.width)
			w.cut = true
		}
		pad := strings.Repeat(" ", max(0, column.width-width(text)))
		if column.right {
			text, pad = pad+w.style(text, cell.null), ""
		} else {
			text = w.style(text, cell.null)
		}
		_, _ = w.out.WriteString("│ " + text + pad + " ")
	}
	_, _ = w.out.WriteString("│\n")
}

func (w *tableWriter) style(text string, null bool) string {
	if null && w.to.color {
		return dim + text + "\x1b[0m"
	}
	return text
}

func (w *tableWriter) rule(left, middle, right string) {
	for c, column := range w.columns {
		_, _ = w.out.WriteString(map[bool]string{true: left, false: middle}[c == 0])
		_, _ = w.out.WriteString(strings.Repeat("─", column.width+2))
	}
	_, _ = w.out.WriteString(right + "\n")
}

// vertical shows a row as a list of names and values.
func (w *tableWriter) vertical(row []tableCell) {
	names := 0
	for _, c := range w.columns {
		names = max(names, width(c.name))
	}
	room := 0
	if w.to.width > 0 {
		names = min(names, max(leastText, w.to.width/2))
		room = max(leastText, w.to.width-names-3)
	}
	title := fmt.Sprintf("── row %d ", w.shown)
	_, _ = w.out.WriteString(title + strings.Repeat("─", max(2, names+3-width(title))) + "\n")
	for c, cell := range row {
		name := cut(w.columns[c].name, names)
		for i, line := range w.lines(cell, room) {
			if i > 0 {
				name = ""
			}
			_, _ = w.out.WriteString(name + strings.Repeat(" ", names-width(name)) + " │ " + w.style(line, cell.null) + "\n")
		}
	}
}

// elapsed is a time as people read it.
func elapsed(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	}
	return d.Round(10 * time.Millisecond).String()
}
