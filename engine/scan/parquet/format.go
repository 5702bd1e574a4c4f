package parquet

import "fmt"

// A physType is how a column's values are stored.
type physType int32

const (
	typeBoolean physType = iota
	typeInt32
	typeInt64
	typeInt96
	typeFloat
	typeDouble
	typeByteArray
	typeFixed
)

var physNames = [...]string{"BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"}

func (t physType) String() string { return name(physNames[:], int32(t)) }

// An encoding is how the values of a page are written.
type encoding int32

const (
	encPlain           encoding = 0
	encPlainDictionary encoding = 2
	encRLE             encoding = 3
	encBitPacked       encoding = 4
	encDeltaBinary     encoding = 5
	encDeltaLength     encoding = 6
	encDeltaByteArray  encoding = 7
	encRLEDictionary   encoding = 8
	encByteStreamSplit encoding = 9
)

var encodingNames = [...]string{
	"PLAIN", "GROUP_VAR_INT", "PLAIN_DICTIONARY", "RLE", "BIT_PACKED", "DELTA_BINARY_PACKED", "DELTA_LENGTH_BYTE_ARRAY",
	"DELTA_BYTE_ARRAY", "RLE_DICTIONARY", "BYTE_STREAM_SPLIT",
}

func (e encoding) String() string { return name(encodingNames[:], int32(e)) }

func (e encoding) isDictionary() bool { return e == encPlainDictionary || e == encRLEDictionary }

// A codec is how a page is compressed.
type codec int32

const (
	codecNone codec = iota
	codecSnappy
	codecGzip
	codecLZO
	codecBrotli
	codecLZ4
	codecZstd
	codecLZ4Raw
)

var codecNames = [...]string{"UNCOMPRESSED", "SNAPPY", "GZIP", "LZO", "BROTLI", "LZ4", "ZSTD", "LZ4_RAW"}

func (c codec) String() string { return name(codecNames[:], int32(c)) }

func name(names []string, i int32) string {
	if i >= 0 && int(i) < len(names) {
		return names[i]
	}
	return fmt.Sprintf("number %d", i)
}

// The annotations of older writers that still say something no logical type does.
const (
	convNone            = -1
	convUTF8            = 0
	convMap             = 1
	convMapKeyValue     = 2
	convList            = 3
	convEnum            = 4
	convDecimal         = 5
	convDate            = 6
	convTimeMillis      = 7
	convTimeMicros      = 8
	convTimestampMillis = 9
	convTimestampMicros = 10
	convUint8           = 11
	convInt8            = 15
	convInt64           = 18
	convJSON            = 19
	convBSON            = 20
	convInterval        = 21
)

// The members of the LogicalType union.
const (
	logicalNone      = 0
	logicalString    = 1
	logicalMap       = 2
	logicalList      = 3
	logicalEnum      = 4
	logicalDecimal   = 5
	logicalDate      = 6
	logicalTime      = 7
	logicalTimestamp = 8
	logicalInteger   = 10
	logicalUnknown   = 11
	logicalJSON      = 12
	logicalBSON      = 13
	logicalUUID      = 14
	logicalFloat16   = 15
)

// The units of times and timestamps.
const (
	unitMillis = 1
	unitMicros = 2
	unitNanos  = 3
)

// What follows is the footer as the file has it, but for what no reader here needs.

type fileMeta struct {
	schema    []schemaElement
	rows      int64
	rowGroups []rowGroupMeta
	orders    []bool // per leaf: statistics are in the order of the type; nil: nothing is said
	createdBy string
	encrypted bool
}

type schemaElement struct {
	name       string
	typ        physType // of a leaf
	length     int32    // of FIXED_LEN_BYTE_ARRAY
	repetition int32    // 0 required, 1 optional, 2 repeated
	children   int32
	converted  int32
	scale      int32
	precision  int32
	logical    logicalType
}

type logicalType struct {
	id               int
	scale, precision int32
	unit             int
	utc              bool
	bits             int64
	signed           bool
}

type rowGroupMeta struct {
	rows   int64
	chunks []chunkMeta
}

type chunkMeta struct {
	typ              physType
	codec            codec
	external         bool // in another file
	encrypted        bool
	encodings        uint32 // bit per encoding that occurs
	values           int64
	compressed       int64
	uncompressed     int64
	dataOffset       int64
	dictOffset       int64
	stats            statsMeta
	pageEncodings    uint32 // bit per encoding of data pages; 0: not said
	offsetIndex      int64
	offsetIndexBytes int32
}

type statsMeta struct {
	min, max           []byte // of min_value and max_value; nil: not said
	nulls, distinct    int64  // −1: not said
	minExact, maxExact bool
}

func (d *thrift) fileMeta() (m fileMeta) {
	d.fields(func(id int, typ byte) bool {
		switch id {
		case 2:
			d.structs(typ, func() { m.schema = append(m.schema, d.schemaElement()) })
		case 3:
			m.rows = d.int(typ)
		case 4:
			d.structs(typ, func() { m.rowGroups = append(m.rowGroups, d.rowGroup()) })
		case 6:
			m.createdBy = string(d.binary(typ))
		case 7:
			d.structs(typ, func() {
				typeOrder := false
				d.fields(func(id int, _ byte) bool { typeOrder = id == 1; return false })
				m.orders = append(m.orders, typeOrder)
			})
		case 8:
			m.encrypted = true
			return false
		default:
			return false
		}
		return true
	})
	return m
}

func (d *thrift) schemaElement() schemaElement {
	e, named := schemaElement{typ: -1, converted: convNone}, false
	d.fields(func(id int, typ byte) bool {
		switch id {
		case 1:
			e.typ = physType(d.int32(typ))
		case 2:
			e.length = d.int32(typ)
		case 3:
			e.repetition = d.int32(typ)
		case 4:
			e.name, named = string(d.binary(typ)), true
		case 5:
			e.children = d.int32(typ)
		case 6:
			e.converted = d.int32(typ)
		case 7:
			e.scale = d.int32(typ)
		case 8:
			e.precision = d.int32(typ)
		case 10:
			e.logical = d.logicalType(typ)
		default:
			return false
		}
		return true
	})
	if !named {
		d.fail("a column has no name")
	}
	return e
}

func (d *thrift) logicalType(typ byte) (l logicalType) {
	d.union(typ, func(id int, typ byte) bool {
		l.id = id
		switch id {
		case logicalDecimal:
			d.union(typ, func(id int, typ byte) bool {
				switch id {
				case 1:
					l.scale = d.int32(typ)
				case 2:
					l.precision = d.int32(typ)
				default:
					return false
				}
				return true
			})
		case logicalTime, logicalTimestamp:
			d.union(typ, func(id int, typ byte) bool {
				switch id {
				case 1:
					l.utc = d.bool(typ)
				case 2:
					d.union(typ, func(id int, _ byte) bool { l.unit = id; return false })
				default:
					return false
				}
				return true
			})
		case logicalInteger:
			d.union(typ, func(id int, typ byte) bool {
				switch id {
				case 1:
					l.bits = d.int(typ)
				case 2:
					l.signed = d.bool(typ)
				default:
					return false
				}
				return true
			})
		default:
			return false
		}
		return true
	})
	return l
}

func (d *thrift) rowGroup() (g rowGroupMeta) {
	d.fields(func(id int, typ byte) bool {
		switch id {
		case 1:
			d.structs(typ, func() { g.chunks = append(g.chunks, d.chunk()) })
		case 3:
			g.rows = d.int(typ)
		default:
			return false
		}
		return true
	})
	return g
}

func (d *thrift) chunk() chunkMeta {
	c := chunkMeta{typ: -1, codec: -1, stats: statsMeta{nulls: -1, distinct: -1}}
	d.fields(func(id int, typ byte) bool {
		switch id {
		case 1:
			c.external = len(d.binary(typ)) > 0
		case 3:
			if typ != thriftStruct {
				d.fail("a field has type %d where a struct belongs", typ)
			}
			d.fields(func(id int, typ byte) bool { return d.chunkField(&c, id, typ) })
		case 4:
			c.offsetIndex = d.int(typ)
		case 5:
			c.offsetIndexBytes = d.int32(typ)
		case 8:
			c.encrypted = true
			return false
		default:
			return false
		}
		return true
	})
	if c.typ < 0 && !c.encrypted {
		d.fail("a column chunk has no type")
	}
	return c
}

func (d *thrift) chunkField(c *chunkMeta, id int, typ byte) bool {
	switch id {
	case 1:
		c.typ = physType(d.int32(typ))
	case 2:
		n, elem := d.list(typ)
		for range n {
			c.encodings |= bitOf(d.int(elem))
		}
	case 4:
		c.codec = codec(d.int32(typ))
	case 5:
		c.values = d.int(typ)
	case 6:
		c.uncompressed = d.int(typ)
	case 7:
		c.compressed = d.int(typ)
	case 9:
		c.dataOffset = d.int(typ)
	case 11:
		c.dictOffset = d.int(typ)
	case 12:
		d.union(typ, func(id int, typ byte) bool { return d.statsField(&c.stats, id, typ) })
	case 13:
		d.structs(typ, func() {
			page, enc := int64(-1), int64(-1)
			d.fields(func(id int, typ byte) bool {
				switch id {
				case 1:
					page = d.int(typ)
				case 2:
					enc = d.int(typ)
				default:
					return false
				}
				return true
			})
			if page == pageData || page == pageDataV2 {
				c.pageEncodings |= bitOf(enc)
			}
		})
	default:
		return false
	}
	return true
}

// bitOf is the bit of an encoding; one that does not exist is as good as any other that is no dictionary's.
func bitOf(enc int64) uint32 {
	if enc < 0 || enc > 30 {
		return 1 << 31
	}
	return 1 << enc
}

func (d *thrift) statsField(s *statsMeta, id int, typ byte) bool {
	switch id {
	case 3:
		s.nulls = d.int(typ)
	case 4:
		s.distinct = d.int(typ)
	case 5:
		s.max = append([]byte{}, d.binary(typ)...)
	case 6:
		s.min = append([]byte{}, d.binary(typ)...)
	case 7:
		s.maxExact = d.bool(typ)
	case 8:
		s.minExact = d.bool(typ)
	default: // 1 and 2 are the old max and min, whose order nobody can know
		return false
	}
	return true
}

// The kinds of pages.
const (
	pageData       = 0
	pageIndex      = 1
	pageDictionary = 2
	pageDataV2     = 3
)
