package cli

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/fletchdb/fletch/engine"
)

var awkward = schemaOf("a,b", text, "", integer, "x", text)

const awkwardRows = `[
	{"a,b": "plain", "": 1, "x": ""},
	{"a,b": null, "": null, "x": "say \"hi\""},
	{"a,b": "two\nlines", "": -9223372036854775808, "x": " leads"},
	{"a,b": "tab\there", "": 3, "x": "é <&> \u2028"}
]`

func TestCSV(t *testing.T) {
	got := written(t, destination{format: "csv"}, "", awkward, recordOf(t, awkward, awkwardRows))
	want := "\"a,b\",\"\",x\n" +
		"plain,1,\"\"\n" +
		",,\"say \"\"hi\"\"\"\n" +
		"\"two\nlines\",-9223372036854775808,\" leads\"\n" +
		"tab\there,3,é <&> \u2028\n"
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	rows, err := csv.NewReader(strings.NewReader(got)).ReadAll()
	if err != nil || len(rows) != 5 || rows[3][0] != "two\nlines" {
		t.Errorf("a reader takes it for %q, %v", rows, err)
	}
	one := schemaOf("v", text)
	if got := written(t, destination{format: "csv"}, "", one, recordOf(t, one, `[{"v": null}, {"v": ""}, {"v": "NULL"}]`)); got != "v\n\n\"\"\nNULL\n" {
		t.Errorf("one column: %q", got)
	}
	if got := written(t, destination{format: "csv"}, "", one); got != "v\n" {
		t.Errorf("no row: %q", got)
	}
}

func TestJSON(t *testing.T) {
	rec := recordOf(t, awkward, awkwardRows)
	list := written(t, destination{format: "json"}, "", awkward, rec, rec)
	var rows []map[string]any
	if err := json.Unmarshal([]byte(list), &rows); err != nil || len(rows) != 8 {
		t.Fatalf("%d rows, %v of:\n%s", len(rows), err, list)
	}
	if rows[1]["a,b"] != nil || rows[3]["x"] != "é <&> \u2028" || !strings.Contains(list, `"":-9223372036854775808`) {
		t.Errorf("got:\n%s", list)
	}
	lines := strings.Split(written(t, destination{format: "ndjson"}, "", awkward, rec), "\n")
	if len(lines) != 5 || lines[0] != `{"a,b":"plain","":1,"x":""}` || lines[4] != "" {
		t.Errorf("lines: %q", lines)
	}
	if got := written(t, destination{format: "json"}, "", awkward); got != "[]\n" {
		t.Errorf("no row: %q", got)
	}
}

func TestJSONNames(t *testing.T) {
	for _, tc := range []struct{ names, want string }{
		{"a b", "a b"},
		{"a a a", "a a_1 a_2"},
		{"a a a_1", "a a_2 a_1"},
		{"a_1 a a", "a_1 a a_2"},
	} {
		var fields []any
		for name := range strings.FieldsSeq(tc.names) {
			fields = append(fields, name, text)
		}
		if got := strings.Join(distinctNames(schemaOf(fields...)), " "); got != tc.want {
			t.Errorf("%s: got %s, want %s", tc.names, got, tc.want)
		}
	}
}

func TestJSONString(t *testing.T) {
	all := make([]byte, 0, 300)
	for r := range rune(0x250) {
		all = append(all, string(r)...)
	}
	all = append(all, "\U0001F600\uffff"...)
	var back string
	if err := json.Unmarshal(appendJSONString(nil, all), &back); err != nil || back != string(all) {
		t.Errorf("%v, got %q", err, back)
	}
	if err := json.Unmarshal(appendJSONString(nil, []byte("a\xffb")), &back); err != nil || back != "a\ufffdb" {
		t.Errorf("no UTF-8: %v, got %q", err, back)
	}
}

// What breaks off cannot be taken for a complete result, whoever reads it.
func TestAbort(t *testing.T) {
	schema := schemaOf("a", integer)
	rec := recordOf(t, schema, `[{"a": 1}, {"a": 2}]`)
	broken := func(format string) string {
		return written(t, destination{format: format}, `lost "it"`, schema, rec)
	}
	if _, err := csv.NewReader(strings.NewReader(broken("csv"))).ReadAll(); err == nil {
		t.Error("csv: a reader finds nothing wrong")
	}
	if json.Valid([]byte(broken("json"))) {
		t.Error("json: it is valid")
	}
	lines := strings.Split(strings.TrimSpace(broken("ndjson")), "\n")
	if json.Valid([]byte(lines[len(lines)-1])) {
		t.Error("ndjson: the last line is valid")
	}
	if err := readArrow(broken("arrow")); err == nil {
		t.Error("arrow: a reader finds nothing wrong")
	}
	if err := readArrow(written(t, destination{format: "arrow"}, "", schema, rec)); err != nil {
		t.Errorf("arrow: a complete stream: %v", err)
	}
	if strings.Count(broken("parquet"), "PAR1") > 1 {
		t.Error("parquet: it has an end")
	}
}

func readArrow(stream string) error {
	r, err := ipc.NewReader(strings.NewReader(stream))
	if err != nil {
		return err
	}
	defer r.Release()
	for r.Next() {
	}
	return r.Err()
}

// Every type that a query can give is written by every format.
func TestEveryType(t *testing.T) {
	e, err := engine.Open(engine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	rows, err := e.Query(t.Context(), `SELECT TRUE AS b, CAST(-7 AS SMALLINT) AS i, CAST(1.5 AS REAL) AS r, CAST('NaN' AS DOUBLE) AS f,
		CAST(-12.50 AS DECIMAL(9,2)) AS d, CAST(12345678901234567890123456789.123 AS DECIMAL(38,3)) AS w,
		DATE '2024-02-29' AS day, TIMESTAMP '2024-02-29 12:34:56.789' AS ts, 'text' AS t`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	schema, err := rows.Schema()
	if err != nil {
		t.Fatal(err)
	}
	rec, err := rows.Next()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"csv": "b,i,r,f,d,w,day,ts,t\ntrue,-7,1.5,NaN,-12.50,12345678901234567890123456789.123,2024-02-29,2024-02-29 12:34:56.789,text\n",
		"ndjson": `{"b":true,"i":-7,"r":1.5,"f":"NaN","d":-12.50,"w":12345678901234567890123456789.123,` +
			`"day":"2024-02-29","ts":"2024-02-29 12:34:56.789","t":"text"}` + "\n",
	}
	for format, want := range want {
		if got := written(t, destination{format: format}, "", schema, rec); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", format, got, want)
		}
	}
	for _, format := range []string{"arrow", "parquet", "table"} {
		if got := written(t, destination{format: format}, "", schema, rec); len(got) < 100 {
			t.Errorf("%s: got %q", format, got)
		}
	}
	if _, err := rows.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("after the last row: %v", err)
	}
}
