// Command duckrun is DuckDB as a process that answers one query after the other, so that its CPU time can be read from outside like
// any other's. Requests are lines of JSON on standard input, answers lines of JSON on standard output.
package main

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/duckdb/duckdb-go/v2"
)

type answer struct {
	Columns []string    `json:"columns"`
	Rows    [][]*string `json:"rows"`
	Error   string      `json:"error,omitempty"`
}

func main() {
	tables := flag.String("tables", "", "folder of Parquet files")
	threads := flag.Int("threads", 2, "threads")
	memory := flag.String("memory", "", "memory limit, such as 4GB")
	flag.Parse()
	if err := run(*tables, *threads, *memory); err != nil {
		fmt.Fprintln(os.Stderr, "duckrun:", err)
		os.Exit(1)
	}
}

func run(tables string, threads int, memory string) error {
	db, err := sql.Open("duckdb", "")
	if err != nil {
		return err
	}
	defer db.Close()
	ctx := context.Background()
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	settings := []string{fmt.Sprintf("SET threads = %d", threads)}
	if memory != "" {
		settings = append(settings, fmt.Sprintf("SET memory_limit = '%s'", memory))
	}
	files, err := filepath.Glob(filepath.Join(tables, "*.parquet"))
	if err != nil {
		return err
	}
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".parquet")
		settings = append(settings, fmt.Sprintf("CREATE VIEW %s AS SELECT * FROM read_parquet('%s')", name, f))
	}
	for _, s := range settings {
		if _, err := conn.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 16<<20)
	out := json.NewEncoder(os.Stdout)
	if err := out.Encode(answer{}); err != nil { // ready
		return err
	}
	for in.Scan() {
		var query string
		if err := json.Unmarshal(in.Bytes(), &query); err != nil {
			return err
		}
		a, err := fetch(ctx, conn, query)
		if err != nil {
			a = answer{Error: err.Error()}
		}
		if err := out.Encode(a); err != nil {
			return err
		}
	}
	return in.Err()
}

func fetch(ctx context.Context, conn *sql.Conn, query string) (a answer, err error) {
	rows, err := conn.QueryContext(ctx, query)
	if err != nil {
		return a, err
	}
	defer rows.Close()
	if a.Columns, err = rows.Columns(); err != nil {
		return a, err
	}
	for rows.Next() {
		values, cells := make([]any, len(a.Columns)), make([]any, len(a.Columns))
		for i := range cells {
			cells[i] = &values[i]
		}
		if err := rows.Scan(cells...); err != nil {
			return a, err
		}
		row := make([]*string, len(a.Columns))
		for i, v := range values {
			row[i] = text(v)
		}
		a.Rows = append(a.Rows, row)
	}
	return a, rows.Err()
}

// text is a value as Fletch's CSV has it, but for the digits of numbers.
func text(v any) *string {
	var s string
	switch v := v.(type) {
	case nil:
		return nil
	case time.Time:
		s = v.Format(time.DateOnly)
	case float64:
		s = strconv.FormatFloat(v, 'g', -1, 64)
	case duckdb.Decimal:
		s = v.String()
	default:
		s = fmt.Sprint(v)
	}
	return &s
}
