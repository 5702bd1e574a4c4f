package parquet

import (
	"fmt"

	"github.com/fletchdb/fletch/engine/sqltype"
)

// resolveColumns makes the columns out of the schema, which the file has as a tree in preorder, and counts its leaves.
func (f *File) resolveColumns() (leaves int, problem string) {
	elems := f.meta.schema
	if len(elems) == 0 || elems[0].children < 0 {
		return 0, "it has no schema"
	}
	s := schemaWalk{elems: elems, next: 1}
	for range elems[0].children {
		if s.problem != "" || s.next >= len(elems) {
			break
		}
		e := elems[s.next]
		col := Column{Name: e.name, leaf: s.leaves, Nullable: e.repetition != 0, element: e}
		col.Type, col.problem = s.column(0)
		col.leaves = s.leaves - col.leaf
		f.Columns = append(f.Columns, col)
	}
	switch {
	case s.problem != "":
		return 0, s.problem
	case len(f.Columns) != int(elems[0].children) || s.next != len(elems):
		return 0, "its schema is no tree"
	}
	return s.leaves, ""
}

type schemaWalk struct {
	elems   []schemaElement
	next    int
	leaves  int
	problem string
}

// column passes over the next column and all below it. why, where it is not empty, is the reason that it cannot be read.
func (s *schemaWalk) column(depth int) (t sqltype.Type, why string) {
	if s.next >= len(s.elems) || depth > 64 {
		s.problem = "its schema is no tree"
		return t, ""
	}
	e := s.elems[s.next]
	s.next++
	if e.repetition < 0 || e.repetition > 2 {
		s.problem = fmt.Sprintf("column %q has the unknown repetition %d", e.name, e.repetition)
		return t, ""
	}
	if e.children == 0 && e.typ >= 0 {
		s.leaves++
		t, why = leafType(e)
	} else {
		t, why = s.group(e, depth)
	}
	if e.repetition == 2 && !isListPart(e, t) {
		t, why = sqltype.ListOf(t), "lists are not supported yet"
	}
	return t, why
}

// isListPart tells the repeated group inside a LIST or MAP, whose parent makes the list.
func isListPart(e schemaElement, t sqltype.Type) bool {
	return e.children > 0 && t.Kind == sqltype.Struct && (e.name == "list" || e.name == "bag" || e.name == "array" || e.name == "key_value" || e.name == "map")
}

func (s *schemaWalk) group(e schemaElement, depth int) (sqltype.Type, string) {
	var fields []sqltype.Field
	for range e.children {
		if s.problem != "" {
			return sqltype.Type{}, ""
		}
		name := ""
		if s.next < len(s.elems) {
			name = s.elems[s.next].name
		}
		t, _ := s.column(depth + 1)
		fields = append(fields, sqltype.Field{Name: name, Type: t})
	}
	if isList := e.logical.id == logicalList || e.converted == convList; isList && len(fields) == 1 {
		elem := fields[0].Type
		if elem.Kind == sqltype.List { // a repeated element without a group around it
			return elem, "lists are not supported yet"
		}
		if elem.Kind == sqltype.Struct && len(elem.Fields) == 1 {
			elem = elem.Fields[0].Type
		}
		return sqltype.ListOf(elem), "lists are not supported yet"
	}
	if isMap := e.logical.id == logicalMap || e.converted == convMap || e.converted == convMapKeyValue; isMap && len(fields) == 1 {
		return sqltype.ListOf(fields[0].Type), "maps are not supported yet"
	}
	return sqltype.StructOf(fields...), "structs are not supported yet"
}

// leafType is the SQL type of a leaf. why, where it is not empty, is the reason that it cannot be read.
func leafType(e schemaElement) (t sqltype.Type, why string) {
	l := e.logical
	scale, precision := e.scale, e.precision
	if l.id == logicalDecimal {
		scale, precision = l.scale, l.precision
	}
	if l.id == logicalDecimal || l.id == logicalNone && e.converted == convDecimal {
		if precision < 1 || scale < 0 || scale > precision {
			return t, fmt.Sprintf("DECIMAL(%d,%d) is no type", precision, scale)
		}
		if precision > sqltype.MaxPrecision {
			return t, fmt.Sprintf("DECIMAL(%d,%d) has more than %d digits", precision, scale, sqltype.MaxPrecision)
		}
		switch e.typ {
		case typeInt32, typeInt64, typeByteArray:
			return sqltype.DecimalOf(int(precision), int(scale)), ""
		case typeFixed:
			if e.length < 1 || e.length > 64 {
				return t, fmt.Sprintf("a decimal of %d bytes", e.length)
			}
			return sqltype.DecimalOf(int(precision), int(scale)), ""
		}
		return t, fmt.Sprintf("%v is no DECIMAL", e.typ)
	}
	switch e.typ {
	case typeBoolean:
		return sqltype.Of(sqltype.Bool), ""
	case typeInt32:
		return int32Type(e)
	case typeInt64:
		return int64Type(e)
	case typeInt96:
		return sqltype.Of(sqltype.Timestamp), ""
	case typeFloat:
		return sqltype.Of(sqltype.Float32), ""
	case typeDouble:
		return sqltype.Of(sqltype.Float64), ""
	case typeByteArray:
		switch {
		case l.id == logicalString || l.id == logicalEnum || l.id == logicalJSON:
			return sqltype.Of(sqltype.Utf8), ""
		case l.id == logicalNone && (e.converted == convUTF8 || e.converted == convEnum || e.converted == convJSON):
			return sqltype.Of(sqltype.Utf8), ""
		}
		return sqltype.Of(sqltype.Binary), ""
	case typeFixed:
		if e.length < 1 || e.length > 1<<20 {
			return t, fmt.Sprintf("a value of %d bytes", e.length)
		}
		switch {
		case l.id == logicalUUID && e.length == 16:
			return sqltype.Of(sqltype.UUID), ""
		case l.id == logicalFloat16 && e.length == 2:
			return sqltype.Of(sqltype.Float32), ""
		case l.id == logicalNone && e.converted == convInterval && e.length == 12:
			return sqltype.Of(sqltype.Interval), ""
		}
		return sqltype.Of(sqltype.Binary), ""
	}
	return t, fmt.Sprintf("its physical type is %v", e.typ)
}

var integerKinds = [2][4]sqltype.Kind{
	{sqltype.Uint8, sqltype.Uint16, sqltype.Uint32, sqltype.Uint64},
	{sqltype.Int8, sqltype.Int16, sqltype.Int32, sqltype.Int64},
}

// integer is the type of an annotated integer, ok if it is one that fits the physical width.
func integer(e schemaElement, width int64) (t sqltype.Type, ok bool) {
	bits, signed := e.logical.bits, e.logical.signed
	switch c := e.converted; {
	case e.logical.id == logicalInteger:
	case e.logical.id == logicalNone && c >= convUint8 && c <= convInt64:
		bits, signed = 8<<((c-convUint8)%4), c >= convInt8
	default:
		bits, signed = width, true
	}
	kinds := integerKinds[0]
	if signed {
		kinds = integerKinds[1]
	}
	for i, k := range kinds {
		if bits == 8<<i && bits <= width {
			return sqltype.Of(k), true
		}
	}
	return t, false
}

func int32Type(e schemaElement) (sqltype.Type, string) {
	switch l := e.logical; {
	case l.id == logicalDate || l.id == logicalNone && e.converted == convDate:
		return sqltype.Of(sqltype.Date), ""
	case l.id == logicalTime && l.unit == unitMillis || l.id == logicalNone && e.converted == convTimeMillis:
		return sqltype.Of(sqltype.Time), ""
	case l.id == logicalUnknown:
		return sqltype.Of(sqltype.Int32), ""
	}
	if t, ok := integer(e, 32); ok {
		return t, ""
	}
	return sqltype.Type{}, "its logical type does not fit INT32"
}

func int64Type(e schemaElement) (sqltype.Type, string) {
	switch l := e.logical; {
	case l.id == logicalTime && (l.unit == unitMicros || l.unit == unitNanos) || l.id == logicalNone && e.converted == convTimeMicros:
		return sqltype.Of(sqltype.Time), ""
	case l.id == logicalTimestamp && l.unit >= unitMillis && l.unit <= unitNanos:
		if l.utc {
			return sqltype.Of(sqltype.TimestampTZ), ""
		}
		return sqltype.Of(sqltype.Timestamp), ""
	case l.id == logicalNone && (e.converted == convTimestampMillis || e.converted == convTimestampMicros):
		return sqltype.Of(sqltype.Timestamp), "" // what wrote no logical type did not mean an instant
	}
	if t, ok := integer(e, 64); ok {
		return t, ""
	}
	return sqltype.Type{}, "its logical type does not fit INT64"
}

// unit is the unit of a time or timestamp.
func (e *schemaElement) unit() int {
	switch {
	case e.logical.id != logicalNone:
		return e.logical.unit
	case e.converted == convTimeMillis || e.converted == convTimestampMillis:
		return unitMillis
	}
	return unitMicros
}
