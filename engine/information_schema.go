package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/fletchdb/fletch/engine/arrowio"
	"github.com/fletchdb/fletch/engine/catalog"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/scan/memory"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
)

// informationSchema is the prefix of the names of tables about tables.
const informationSchema = "information_schema."

// information is a table of the information schema, as the SQL standard names its columns.
func (c *snapshot) information(ctx context.Context, name string) (*catalog.Table, error) {
	var columns []string
	var rows [][]string
	switch strings.TrimPrefix(name, informationSchema) {
	case "schemata":
		columns = []string{"catalog_name", "schema_name"}
		rows = [][]string{{"fletch", "information_schema"}, {"fletch", "public"}}
	case "tables":
		columns = []string{"table_catalog", "table_schema", "table_name", "table_type"}
		names, err := c.Tables(ctx)
		if err != nil {
			return nil, err
		}
		for _, n := range names {
			kind := "BASE TABLE"
			if c.tables[n] != nil {
				kind = "LOCAL TEMPORARY"
			}
			rows = append(rows, []string{"fletch", "public", n, kind})
		}
		for _, n := range slices.Sorted(maps.Keys(c.views)) {
			rows = append(rows, []string{"fletch", "public", n, "VIEW"})
		}
	case "views":
		columns = []string{"table_catalog", "table_schema", "table_name"}
		for _, n := range slices.Sorted(maps.Keys(c.views)) {
			rows = append(rows, []string{"fletch", "public", n})
		}
	case "columns":
		columns = []string{"table_catalog", "table_schema", "table_name", "column_name", "ordinal_position", "is_nullable", "data_type"}
		names, err := c.Tables(ctx)
		if err != nil {
			return nil, err
		}
		for _, n := range names {
			t, err := c.Table(ctx, n)
			if err != nil {
				return nil, err
			}
			for i, col := range t.Columns {
				nullable := "NO"
				if col.Nullable {
					nullable = "YES"
				}
				rows = append(rows, []string{"fletch", "public", n, col.Name, fmt.Sprint(i + 1), nullable, col.Type.String()})
			}
		}
		for _, n := range slices.Sorted(maps.Keys(c.views)) {
			for i, f := range c.views[n] {
				rows = append(rows, []string{"fletch", "public", n, f.Name, fmt.Sprint(i + 1), "YES", f.Type.String()})
			}
		}
	default:
		return nil, sqlerr.Newf(sqlerr.UnknownTable, sqlerr.Pos{}, "relation %q does not exist", name).WithHint("the information schema has schemata, tables, views and columns")
	}
	t, err := textTable(columns, rows)
	if err != nil {
		return nil, err
	}
	path := "memory:" + name
	c.used[path] = t
	out := &catalog.Table{Name: name, Format: physical.Memory, Rows: t.Rows(), Files: []physical.File{{Path: path, Size: t.Bytes()}}}
	for _, f := range t.Fields() {
		out.Columns = append(out.Columns, catalog.Column{Name: f.Name, Type: f.Type})
	}
	return out, nil
}

// textTable is rows of texts, where the column ordinal_position is INTEGER: the row's number in its table.
func textTable(columns []string, rows [][]string) (*memory.Table, error) {
	fields := make([]physical.Field, len(columns))
	for c, name := range columns {
		fields[c] = physical.Field{Name: name, Type: sqltype.Of(sqltype.Utf8)}
		if name == "ordinal_position" {
			fields[c].Type = sqltype.Of(sqltype.Int32)
		}
	}
	t := memory.New(fields)
	if len(rows) == 0 {
		return t, nil
	}
	schema, err := arrowio.SchemaOf(fields, arrowio.Narrow)
	if err != nil {
		return nil, err
	}
	b := array.NewRecordBuilder(arrowmemory.DefaultAllocator, schema)
	for _, row := range rows {
		for c, text := range row {
			if err := b.Field(c).AppendValueFromString(text); err != nil {
				return nil, err
			}
		}
	}
	return t.With(b.NewRecordBatch()), nil
}
