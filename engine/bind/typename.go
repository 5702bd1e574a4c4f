package bind

import (
	"strconv"
	"strings"

	"github.com/fletchdb/fletch/engine/ast"
	"github.com/fletchdb/fletch/engine/catalog"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
)

// typeKinds are the names of types, PostgreSQL's and DuckDB's.
var typeKinds = map[string]sqltype.Kind{
	"bool": sqltype.Bool, "boolean": sqltype.Bool, "logical": sqltype.Bool,
	"tinyint": sqltype.Int8, "int1": sqltype.Int8,
	"smallint": sqltype.Int16, "int2": sqltype.Int16, "short": sqltype.Int16,
	"integer": sqltype.Int32, "int": sqltype.Int32, "int4": sqltype.Int32, "signed": sqltype.Int32,
	"bigint": sqltype.Int64, "int8": sqltype.Int64, "long": sqltype.Int64,
	"utinyint": sqltype.Uint8, "uint8": sqltype.Uint8, "tinyint unsigned": sqltype.Uint8,
	"usmallint": sqltype.Uint16, "uint16": sqltype.Uint16, "smallint unsigned": sqltype.Uint16,
	"uinteger": sqltype.Uint32, "uint32": sqltype.Uint32, "integer unsigned": sqltype.Uint32, "int unsigned": sqltype.Uint32,
	"ubigint": sqltype.Uint64, "uint64": sqltype.Uint64, "bigint unsigned": sqltype.Uint64,
	"real": sqltype.Float32, "float4": sqltype.Float32,
	"double precision": sqltype.Float64, "double": sqltype.Float64, "float8": sqltype.Float64, "float": sqltype.Float64,
	"decimal": sqltype.Decimal, "numeric": sqltype.Decimal, "dec": sqltype.Decimal,
	"text": sqltype.Utf8, "varchar": sqltype.Utf8, "character varying": sqltype.Utf8, "char": sqltype.Utf8, "character": sqltype.Utf8,
	"bpchar": sqltype.Utf8, "string": sqltype.Utf8, "name": sqltype.Utf8,
	"bytea": sqltype.Binary, "blob": sqltype.Binary, "binary": sqltype.Binary, "varbinary": sqltype.Binary,
	"date": sqltype.Date,
	"time": sqltype.Time, "time without time zone": sqltype.Time,
	"timestamp": sqltype.Timestamp, "timestamp without time zone": sqltype.Timestamp, "datetime": sqltype.Timestamp,
	"timestamptz": sqltype.TimestampTZ, "timestamp with time zone": sqltype.TimestampTZ,
	"interval": sqltype.Interval, "uuid": sqltype.UUID,
}

// defaultScale is the scale of DECIMAL without parameters: PostgreSQL's has no limit, 38 digits need one.
const defaultScale = 16

// Type is the type that a type's name in a statement means. Errors stand at its place.
func Type(t *ast.TypeName) (sqltype.Type, error) { return typeName(t) }

func typeName(t *ast.TypeName) (sqltype.Type, error) {
	if typ, ok, err := nestedType(t); ok {
		return typ, err
	}
	name := strings.TrimPrefix(t.Name, "pg_catalog.")
	kind, ok := typeKinds[name]
	if !ok {
		e := sqlerr.Newf(sqlerr.Unsupported, t.Pos, "type %q does not exist", t.Name)
		known := make([]string, 0, len(typeKinds))
		for n := range typeKinds {
			known = append(known, n)
		}
		if near := catalog.Near(name, known); near != "" {
			return sqltype.Type{}, e.WithHint("did you mean %q?", near)
		}
		return sqltype.Type{}, e.WithHint("docs/dialect.md lists the types")
	}
	out := sqltype.Of(kind)
	mods := make([]int, len(t.Mods))
	for i, m := range t.Mods {
		n, err := strconv.Atoi(m.Value)
		if err != nil {
			return sqltype.Type{}, sqlerr.Newf(sqlerr.InvalidParameter, m.Pos, "type modifier %q is no number", m.Value).WithHint("write a number")
		}
		mods[i] = n
	}
	switch {
	case kind == sqltype.Decimal:
		var err error
		if out, err = decimalType(mods, t.Pos); err != nil {
			return sqltype.Type{}, err
		}
	case kind == sqltype.Utf8 && len(mods) == 1:
		// VARCHAR(n) is VARCHAR, as in DuckDB: cutting on a cast is rare, and values of files have no such limit.
		if name == "char" || name == "character" || name == "bpchar" || mods[0] < 1 {
			return sqltype.Type{}, unsupported(t.Pos, "type %s(%d)", t.Name, mods[0]).WithHint("use VARCHAR")
		}
	case name == "float" && len(mods) == 1:
		if mods[0] <= 24 {
			out = sqltype.Of(sqltype.Float32)
		}
	case (kind == sqltype.Timestamp || kind == sqltype.TimestampTZ || kind == sqltype.Time) && len(mods) == 1 && mods[0] == 6:
	case len(mods) > 0:
		return sqltype.Type{}, unsupported(t.Pos, "a modifier of type %s", t.Name).WithHint("leave it out")
	}
	return out, nil
}

func decimalType(mods []int, pos sqlerr.Pos) (sqltype.Type, error) {
	precision, scale := sqltype.MaxPrecision, defaultScale
	if len(mods) > 0 {
		precision, scale = mods[0], 0
	}
	if len(mods) > 1 {
		scale = mods[1]
	}
	if precision < 1 || precision > sqltype.MaxPrecision {
		return sqltype.Type{}, sqlerr.Newf(sqlerr.InvalidParameter, pos, "NUMERIC precision %d must be between 1 and %d", precision, sqltype.MaxPrecision).
			WithHint("a decimal has at most %d digits", sqltype.MaxPrecision)
	}
	if scale < 0 || scale > precision {
		return sqltype.Type{}, sqlerr.Newf(sqlerr.InvalidParameter, pos, "NUMERIC scale %d must be between 0 and precision %d", scale, precision).
			WithHint("the scale counts some of the digits")
	}
	return sqltype.DecimalOf(precision, scale), nil
}
