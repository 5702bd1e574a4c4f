package csv_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/fletchdb/fletch/engine/scan/csv"
)

func read(text string, delim byte) (rows []string, err error) {
	r := csv.NewReader(strings.NewReader(text), delim)
	for {
		fields, err := r.Next()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		var parts []string
		for _, f := range fields {
			if f.Absent {
				parts = append(parts, "NULL")
			} else {
				parts = append(parts, "<"+string(f.Text)+">")
			}
		}
		rows = append(rows, strings.Join(parts, " "))
	}
}

func TestRecords(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		delim      byte
		want       string
	}{
		{"plain", "a,b\n1,2\n", ',', "<a> <b>|<1> <2>"},
		{"no end of the last line", "a,b\n1,2", ',', "<a> <b>|<1> <2>"},
		{"NULL and the empty text", "a,,\"\"\n", ',', "<a> NULL <>"},
		{"quotes", "\"a\"\"b\",\"x,y\",\"l1\nl2\"\n", ',', "<a\"b> <x,y> <l1\nl2>"},
		{"a quote in the middle", "a\"b,c\n", ',', `<a"b> <c>`},
		{"Windows' ends of lines", "a,b\r\n1,2\r\n", ',', "<a> <b>|<1> <2>"},
		{"empty lines", "a,b\n\n1,2\n\n", ',', "<a> <b>|<1> <2>"},
		{"another delimiter", "a;b,c\n", ';', "<a> <b,c>"},
		{"a byte order mark", "\xef\xbb\xbfa\n", ',', "<a>"},
		{"nothing", "", ',', ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rows, err := read(tc.text, tc.delim)
			if got := strings.Join(rows, "|"); err != nil || got != tc.want {
				t.Errorf("gives %q, %v; expected %q", got, err, tc.want)
			}
		})
	}
}

func TestBadFiles(t *testing.T) {
	for name, text := range map[string]string{
		"a quote that is never closed": "a\n\"b\n",
		"no UTF-8":                     "a\n\xff\n",
		"too many fields":              strings.Repeat(",", csv.MaxColumns),
	} {
		if _, err := read(text, ','); err == nil || !strings.Contains(err.Error(), "line ") {
			t.Errorf("%s: %v, expected an error with a line", name, err)
		}
	}
}

func FuzzReader(f *testing.F) {
	f.Add("a,\"b\"\"\"\n,\"\"\r\n\n", byte(','))
	f.Fuzz(func(t *testing.T, text string, delim byte) {
		_, _ = read(text, delim)
	})
}
