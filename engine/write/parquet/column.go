package parquet

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/bitutil"

	"github.com/fletchdb/fletch/engine/sqlerr"
)

const (
	stepRows = 1024 // rows taken at once, between looks at the size of page and dictionary

	// A dictionary in which more than nine of ten of the first probeValues values are new is given up there.
	probeValues = 8192

	// After a chunk without use for a dictionary, so many chunks go without a try.
	dictionaryPause = 7
)

// values reads the arrays of a column and encodes what is not NULL. It holds the current values, those of the last load or
// recall, and the bounds of the values that plain has encoded.
type values interface {
	begin(a arrow.Array)
	load(from, to int) (next int, err error) // current = values of rows [from, next); next may be less than to
	end()                                    // forgets the array

	plain(dst []byte) []byte // appends the current values
	takeBounds() bounds      // of the values since the last call
}

// dictionary is values that can also be written as codes. It holds the values of the chunk that got one.
type dictionary interface {
	values
	intern(codes []uint32) []uint32 // appends the current values' codes, new ones get the next
	size() dictionarySize
	page(dst []byte) []byte
	recall(codes []uint32)          // current = values of codes
	boundsOf(codes []uint32) bounds // of the values under codes
	reset()                         // forgets the values
}

// A dictionarySize is the number of values, their bytes in a PLAIN page, and those of all values that were interned.
type dictionarySize struct{ values, bytes, interned int }

// A column encodes the chunk of a row group. While the chunk is dictionary-coded all its rows are pending, as codes; once
// it is not, the rows of the open page are.
type column struct {
	leaf    *leaf
	values  values
	interns dictionary // values, nil where they have no dictionary
	opts    *Options
	codec   *codec

	open    bool // has rows of this chunk
	coded   bool // all rows of the chunk are pending, as codes
	probed  bool
	pause   int // chunks to go before the next dictionary is tried
	codes   []uint32
	page    []byte // PLAIN values of the pending rows
	pending presence

	chunk    []byte // pages as they go to the file
	out      chunkMeta
	pageRows int64 // rows in out.pages
	body     []byte
	packed   []byte
	head     compact
	replayed presence
}

// add encodes rows [from, to) of a.
func (c *column) add(a arrow.Array, from, to int) error {
	if !c.open {
		c.begin()
	}
	c.values.begin(a)
	defer c.values.end()
	for from < to {
		next, err := c.values.load(from, min(to, from+stepRows))
		if err != nil {
			return c.named(err)
		}
		c.pending.addArray(a, from, next)
		from = next
		if c.coded {
			c.codes = c.interns.intern(c.codes)
			err = c.judgeDictionary()
		} else {
			c.page = c.values.plain(c.page)
			err = c.endFullPage()
		}
		if err != nil {
			return c.named(err)
		}
	}
	return nil
}

func (c *column) begin() {
	c.open = true
	c.out.dictionaryAt = -1
	c.coded = c.interns != nil && c.pause == 0
	c.pause = max(c.pause-1, 0)
}

// named says which column err is of.
func (c *column) named(err error) error {
	code := sqlerr.Internal
	if e := (*sqlerr.Error)(nil); errors.As(err, &e) {
		code = e.Code
	}
	return sqlerr.Newf(code, sqlerr.Pos{}, "column %q: %w", c.leaf.name, err)
}

// judgeDictionary drops a dictionary that is too large, or that a first look shows to be useless.
func (c *column) judgeDictionary() error {
	size := c.interns.size()
	if size.bytes > c.opts.DictionaryBytes {
		return c.dropDictionary()
	}
	if !c.probed && len(c.codes) >= probeValues {
		c.probed = true
		if size.values*10 > len(c.codes)*9 {
			return c.dropDictionary()
		}
	}
	return nil
}

// dropDictionary writes the pending rows as PLAIN, and those to come.
func (c *column) dropDictionary() error {
	c.coded, c.pause = false, dictionaryPause
	c.pending, c.replayed = c.replayed, c.pending
	c.pending.reset()
	codes := c.codes
	for row := 0; row < c.replayed.rows; row += stepRows {
		n := min(stepRows, c.replayed.rows-row)
		c.pending.addBits(c.replayed.bits, row, n)
		set := n
		if len(c.replayed.bits) > 0 {
			set = bitutil.CountSetBits(c.replayed.bits, row, n)
		}
		c.interns.recall(codes[:set])
		codes = codes[set:]
		c.page = c.values.plain(c.page)
		if err := c.endFullPage(); err != nil {
			return err
		}
	}
	c.codes = c.codes[:0]
	c.interns.reset()
	return nil
}

func (c *column) endFullPage() error {
	if len(c.page) < c.opts.PageBytes {
		return nil
	}
	return c.endPlainPage()
}

func (c *column) endPlainPage() error {
	err := c.writeDataPage(encodingPlain, c.pending.rows, c.pending.nulls, c.pending.bits, c.page, c.values.takeBounds())
	c.page = c.page[:0]
	c.pending.reset()
	return err
}

// finish ends the chunk, which is then whole in c.chunk until reset.
func (c *column) finish() error {
	if c.coded {
		size := c.interns.size()
		width := codeWidth(size.values)
		if size.bytes+len(c.codes)*width/8 >= size.interned {
			if err := c.dropDictionary(); err != nil {
				return c.named(err)
			}
		} else if err := c.writeCoded(size.values, width); err != nil {
			return c.named(err)
		}
	}
	if !c.coded && c.pending.rows > 0 {
		if err := c.endPlainPage(); err != nil {
			return c.named(err)
		}
	}
	return nil
}

// codeWidth is the number of bits of a code of a dictionary of n values.
func codeWidth(n int) int { return bits.Len(uint(max(n, 1) - 1)) }

// writeCoded writes the dictionary and the pending rows as codes.
func (c *column) writeCoded(n, width int) error {
	c.out.distinct = int64(n)
	c.out.dictionaryAt = int64(len(c.chunk))
	c.body = c.interns.page(c.body[:0])
	if err := c.writePage(pageDictionary, encodingPlain, n, c.body); err != nil {
		return err
	}
	perPage := c.pending.rows
	if width > 0 {
		perPage = max(c.opts.PageBytes*8/width&^7, 8)
	}
	codes := c.codes
	for row := 0; row < c.pending.rows; row += perPage {
		rows := min(perPage, c.pending.rows-row)
		set, present := rows, []byte(nil)
		if len(c.pending.bits) > 0 {
			set = bitutil.CountSetBits(c.pending.bits, row, rows)
			present = c.pending.bits[row/8:]
		}
		c.page = append(c.page[:0], byte(width))
		c.page = appendHybrid(c.page, codes[:set], width)
		var b bounds
		if !c.opts.NoStatistics {
			b = c.interns.boundsOf(codes[:set])
		}
		if err := c.writeDataPage(encodingRLEDictionary, rows, rows-set, present, c.page, b); err != nil {
			return err
		}
		codes = codes[set:]
	}
	c.page = c.page[:0]
	return nil
}

// writeDataPage adds a page of rows rows; present has their bits where there are NULLs.
func (c *column) writeDataPage(encoding int32, rows, nulls int, present, encoded []byte, b bounds) error {
	body := encoded
	if c.leaf.optional {
		c.body = appendLevels(c.body[:0], rows, nulls, present)
		c.body = append(c.body, encoded...)
		body = c.body
	}
	start := len(c.chunk)
	if len(c.out.pages) == 0 {
		c.out.dataAt = int64(start)
	}
	if err := c.writePage(pageData, encoding, rows, body); err != nil {
		return err
	}
	c.out.pages = append(c.out.pages, pageMeta{
		offset: int64(start), size: int32(len(c.chunk) - start),
		firstRow: c.pageRows, rows: int64(rows), nulls: int64(nulls), bounds: b,
	})
	c.pageRows += int64(rows)
	return nil
}

// appendLevels writes the definition levels of rows: Arrow's validity bits are Parquet's bit-packed levels as they are.
func appendLevels(dst []byte, rows, nulls int, present []byte) []byte {
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	switch nulls {
	case 0:
		dst = append(binary.AppendUvarint(dst, uint64(rows)<<1), 1)
	case rows:
		dst = append(binary.AppendUvarint(dst, uint64(rows)<<1), 0)
	default:
		groups := (rows + 7) / 8
		dst = append(binary.AppendUvarint(dst, uint64(groups)<<1|1), present[:groups]...)
	}
	binary.LittleEndian.PutUint32(dst[start:], uint32(len(dst)-start-4))
	return dst
}

func (c *column) writePage(kind, encoding int32, n int, body []byte) error {
	if len(body) > math.MaxInt32 {
		return sqlerr.New(sqlerr.Unsupported, sqlerr.Pos{}, "a value of 2 GiB or more has no place in a Parquet file")
	}
	packed := body
	if c.codec.id != codecNone {
		c.packed = c.codec.compress(c.packed[:0], body)
		packed = c.packed
	}
	c.head.b = c.head.b[:0]
	c.head.pageHeader(kind, len(body), len(packed), crc32.ChecksumIEEE(packed), int32(n), encoding)
	c.out.raw += int64(len(c.head.b) + len(body))
	c.chunk = append(append(c.chunk, c.head.b...), packed...)
	return nil
}

// meta is the finished chunk's metadata, for a chunk that stands at byte at of the file.
func (c *column) meta(at int64) chunkMeta {
	m := c.out
	m.leaf, m.codec = c.leaf, c.codec.id
	m.size, m.values, m.stats = int64(len(c.chunk)), c.pageRows, !c.opts.NoStatistics
	m.dataAt += at
	if m.dictionaryAt >= 0 {
		m.dictionaryAt += at
	}
	m.pages = append([]pageMeta(nil), m.pages...)
	m.indexable = m.stats
	ascending, descending := true, true
	var before *bounds
	for i := range m.pages {
		p := &m.pages[i]
		p.offset += at
		m.nulls += p.nulls
		if p.nulls == p.rows {
			continue
		}
		if !p.bounds.ok { // only NaN: the format has no page index for that
			m.indexable = false
			continue
		}
		if before != nil {
			low, high := c.leaf.compare(before.min, p.bounds.min), c.leaf.compare(before.max, p.bounds.max)
			ascending = ascending && low <= 0 && high <= 0
			descending = descending && low >= 0 && high >= 0
		}
		before = &p.bounds
		c.widen(&m.bounds, p.bounds)
	}
	switch {
	case ascending:
		m.order = orderAscending
	case descending:
		m.order = orderDescending
	}
	return m
}

// widen takes b into the bounds of the chunk.
func (c *column) widen(to *bounds, b bounds) {
	if !to.ok {
		*to = b
		return
	}
	if c.leaf.compare(b.min, to.min) < 0 {
		to.min, to.exactMin = b.min, b.exactMin
	}
	if c.leaf.compare(b.max, to.max) > 0 {
		to.max, to.exactMax = b.max, b.exactMax
	}
}

// reset makes the column ready for the next row group.
func (c *column) reset() {
	c.open, c.probed = false, false
	c.codes, c.page, c.chunk = c.codes[:0], c.page[:0], c.chunk[:0]
	c.pending.reset()
	c.out = chunkMeta{pages: c.out.pages[:0]}
	c.pageRows = 0
	if c.interns != nil {
		c.interns.reset()
	}
}
