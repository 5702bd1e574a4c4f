package ast

// A TypeName is a type as it was written; which type it means, and whether the modifiers fit it, is the binder's to say.
//
// Name is the words in lower case with single spaces and without what the other fields hold: "double precision", "character varying",
// "timestamp with time zone" also for TIMESTAMP(3) WITH TIME ZONE, "bigint unsigned"; WITHOUT TIME ZONE and pg_catalog. are dropped, a
// quoted name keeps its case.
type TypeName struct {
	Span
	Name   string
	Quoted bool
	Mods   []*Literal  // numeric(15, 2): integers with an optional "-" in Value, or strings
	Fields []TypeField // STRUCT(a int, b text), STRUCT<a: int>, MAP(k, v), LIST<t>, ARRAY<t>; names are empty but for structs and rows
	Dims   []int       // one for each [] or [n], outermost last as written; -1 for []
	Unit   string      // INTERVAL DAY TO SECOND: "day to second"
}

// A TypeField is a field of a struct type, or an argument of another nested type.
type TypeField struct {
	Span
	Name Ident
	Type *TypeName
}
