package cli

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// A tableData is rows for people, or for scripts as a JSON list of objects.
type tableData struct {
	columns []string
	rows    [][]any
}

// print writes t as a table that fits the terminal, or as JSON.
func (t *tableData) print(s streams, format string) error {
	switch format {
	case "json":
		list := make([]map[string]any, len(t.rows))
		for i, row := range t.rows {
			list[i] = map[string]any{}
			for j, c := range t.columns {
				list[i][c] = row[j]
			}
		}
		enc := json.NewEncoder(s.out)
		enc.SetIndent("", "  ")
		return enc.Encode(list)
	case "table":
	default:
		return usagef("--format is table or json, not %q", format)
	}
	w := newTable(s)
	header := make(table.Row, len(t.columns))
	for i, c := range t.columns {
		header[i] = c
	}
	w.AppendHeader(header)
	for _, row := range t.rows {
		w.AppendRow(row)
	}
	_, err := fmt.Fprintln(s.out, w.Render())
	return err
}

// newTable is an empty table of the house's looks that fits the terminal.
func newTable(s streams) table.Writer {
	w := table.NewWriter()
	style := table.StyleLight
	style.Format.Header = text.FormatDefault
	w.SetStyle(style)
	if width, ok := terminal(s.out); ok {
		w.Style().Size.WidthMax = width
	}
	return w
}

// oneLine makes a cell of what may hold line breaks and control characters: no file's content moves a cursor.
func oneLine(v string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return '⏎'
		case r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0:
			return '�'
		}
		return r
	}, v)
}
