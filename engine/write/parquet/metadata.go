package parquet

// Enumerations of parquet.thrift.
const (
	typeBoolean   = 0
	typeInt32     = 1
	typeInt64     = 2
	typeFloat     = 4
	typeDouble    = 5
	typeByteArray = 6
	typeFixed     = 7

	encodingPlain         = 0
	encodingRLE           = 3
	encodingRLEDictionary = 8

	pageData       = 0
	pageDictionary = 2

	codecNone   = 0
	codecSnappy = 1
	codecZstd   = 6

	orderNone       = 0
	orderAscending  = 1
	orderDescending = 2
)

// createdBy has the form that readers parse for the known faults of a writer.
const createdBy = "fletch version 0.1.0 (build dev)"

// bounds are the smallest and largest value of a page or a chunk as PLAIN bytes without a length; ok is false where there
// is no value that can be compared (only NULL, only NaN). exactMin and exactMax tell that the bound is itself a value.
type bounds struct {
	min, max           []byte
	ok                 bool
	exactMin, exactMax bool
}

// pageMeta is a data page, its place relative to the chunk until the chunk is written, then to the file.
type pageMeta struct {
	offset   int64
	size     int32 // with its header
	firstRow int64
	rows     int64
	nulls    int64
	bounds   bounds
}

type chunkMeta struct {
	leaf         *leaf
	codec        int32
	dictionaryAt int64 // -1 for none
	dataAt       int64
	distinct     int64 // size of the dictionary
	values       int64
	nulls        int64
	raw, size    int64 // bytes before and after compression, with page headers
	bounds       bounds
	stats        bool
	indexable    bool
	order        int32
	pages        []pageMeta

	columnIndexAt, offsetIndexAt   int64
	columnIndexLen, offsetIndexLen int32
}

type rowGroup struct {
	rows   int64
	offset int64
	chunks []chunkMeta
}

func (t *compact) pageHeader(kind int32, raw, size int, crc uint32, values, encoding int32) {
	t.open()
	t.i32(1, kind)
	t.i32(2, int32(raw))
	t.i32(3, int32(size))
	t.i32(4, int32(crc))
	if kind == pageDictionary {
		t.openField(7)
		t.i32(1, values)
		t.i32(2, encoding)
		t.close()
	} else {
		t.openField(5)
		t.i32(1, values)
		t.i32(2, encoding)
		t.i32(3, encodingRLE)
		t.i32(4, encodingRLE)
		t.close()
	}
	t.close()
}

func (t *compact) statistics(id int, m *chunkMeta) {
	t.openField(id)
	t.i64(3, m.nulls)
	if m.dictionaryAt >= 0 {
		t.i64(4, m.distinct)
	}
	if b := &m.bounds; b.ok {
		t.binary(5, b.max)
		t.binary(6, b.min)
		t.bool(7, b.exactMax)
		t.bool(8, b.exactMin)
	}
	t.close()
}

func (t *compact) columnIndex(m *chunkMeta) {
	t.open()
	t.list(1, thriftTrue, len(m.pages))
	for i := range m.pages {
		if m.pages[i].nulls == m.pages[i].rows {
			t.b = append(t.b, thriftTrue)
		} else {
			t.b = append(t.b, thriftFalse)
		}
	}
	t.list(2, thriftBinary, len(m.pages))
	for i := range m.pages {
		t.bytes(m.pages[i].bounds.min)
	}
	t.list(3, thriftBinary, len(m.pages))
	for i := range m.pages {
		t.bytes(m.pages[i].bounds.max)
	}
	t.i32(4, m.order)
	t.list(5, thriftI64, len(m.pages))
	for i := range m.pages {
		t.varint(m.pages[i].nulls)
	}
	t.close()
}

func (t *compact) offsetIndex(m *chunkMeta) {
	t.open()
	t.list(1, thriftStruct, len(m.pages))
	for i := range m.pages {
		t.open()
		t.i64(1, m.pages[i].offset)
		t.i32(2, m.pages[i].size)
		t.i64(3, m.pages[i].firstRow)
		t.close()
	}
	t.close()
}

func (t *compact) fileMetaData(w *Writer) {
	t.open()
	t.i32(1, 2)
	t.list(2, thriftStruct, len(w.columns)+1)
	t.open()
	t.string(4, "schema")
	t.i32(5, int32(len(w.columns)))
	t.close()
	for _, c := range w.columns {
		t.schemaElement(c.leaf)
	}
	t.i64(3, w.total)
	t.list(4, thriftStruct, len(w.groups))
	for i := range w.groups {
		t.rowGroup(&w.groups[i], i)
	}
	t.string(6, createdBy)
	t.list(7, thriftStruct, len(w.columns))
	for range w.columns {
		t.open()
		t.empty(1) // the order that the type defines
		t.close()
	}
	t.close()
}

func (t *compact) schemaElement(l *leaf) {
	t.open()
	t.i32(1, l.physical)
	if l.physical == typeFixed {
		t.i32(2, l.width)
	}
	if l.optional {
		t.i32(3, 1)
	} else {
		t.i32(3, 0)
	}
	t.string(4, l.name)
	if l.converted != convertedNone {
		t.i32(6, l.converted)
	}
	if l.logical == logicalDecimal {
		t.i32(7, l.scale)
		t.i32(8, l.precision)
	}
	if l.logical != logicalNone {
		t.openField(10)
		t.logicalType(l)
		t.close()
	}
	t.close()
}

func (t *compact) logicalType(l *leaf) {
	t.openField(l.logical)
	switch l.logical {
	case logicalDecimal:
		t.i32(1, l.scale)
		t.i32(2, l.precision)
	case logicalTimestamp:
		t.bool(1, l.utc)
		t.openField(2)
		t.empty(l.unit)
		t.close()
	case logicalInteger:
		t.i8(1, l.bits)
		t.bool(2, l.signed)
	}
	t.close()
}

func (t *compact) rowGroup(g *rowGroup, ordinal int) {
	t.open()
	t.list(1, thriftStruct, len(g.chunks))
	var raw, size int64
	for i := range g.chunks {
		t.columnChunk(&g.chunks[i])
		raw += g.chunks[i].raw
		size += g.chunks[i].size
	}
	t.i64(2, raw)
	t.i64(3, g.rows)
	t.i64(5, g.offset)
	t.i64(6, size)
	if ordinal <= 1<<15-1 { // the field has 16 bits; it is optional
		t.i16(7, int16(ordinal))
	}
	t.close()
}

func (t *compact) columnChunk(m *chunkMeta) {
	t.open()
	t.i64(2, 0) // where a copy of the metadata stands; the field is required, the copy is not
	t.openField(3)
	t.i32(1, m.leaf.physical)
	encodings := []int32{encodingPlain, encodingRLE}
	if m.dictionaryAt >= 0 {
		encodings = append(encodings, encodingRLEDictionary)
	}
	t.list(2, thriftI32, len(encodings))
	for _, e := range encodings {
		t.varint(int64(e))
	}
	t.list(3, thriftBinary, 1)
	t.bytes([]byte(m.leaf.name))
	t.i32(4, m.codec)
	t.i64(5, m.values)
	t.i64(6, m.raw)
	t.i64(7, m.size)
	t.i64(9, m.dataAt)
	if m.dictionaryAt >= 0 {
		t.i64(11, m.dictionaryAt)
	}
	if m.stats {
		t.statistics(12, m)
	}
	// Pages by encoding, from which a reader knows that a chunk is dictionary-coded throughout.
	if m.dictionaryAt >= 0 {
		t.list(13, thriftStruct, 2)
		t.encodingStats(pageDictionary, encodingPlain, 1)
		t.encodingStats(pageData, encodingRLEDictionary, int32(len(m.pages)))
	} else {
		t.list(13, thriftStruct, 1)
		t.encodingStats(pageData, encodingPlain, int32(len(m.pages)))
	}
	t.close()
	if m.offsetIndexLen > 0 {
		t.i64(4, m.offsetIndexAt)
		t.i32(5, m.offsetIndexLen)
	}
	if m.columnIndexLen > 0 {
		t.i64(6, m.columnIndexAt)
		t.i32(7, m.columnIndexLen)
	}
	t.close()
}

func (t *compact) encodingStats(page, encoding, count int32) {
	t.open()
	t.i32(1, page)
	t.i32(2, encoding)
	t.i32(3, count)
	t.close()
}
