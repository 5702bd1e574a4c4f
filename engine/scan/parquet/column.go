package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/vector"
)

// A column decodes one column, row group after row group, into vectors of up to a batch of rows. It belongs to one
// goroutine; its memory is reused, so a vector is valid until the next read, and its dictionary until the next open.
type column struct {
	def     *Column
	vals    values
	inflate *inflater

	chunk   []byte
	codec   codec
	pages   []page // data pages
	all     []page // backing of pages, with the dictionary's
	dictBuf []byte // of a compressed dictionary page
	dictID  uint64 // 0: no dictionary

	at     int    // the present page
	row    int64  // of the present page: the next row to decode
	loaded bool   // its body is decompressed
	cur    []byte // memory of the page's body, nil if it lies in chunk
	held   [][]byte
	spare  [][]byte
	grown  int64 // bytes of memory that it had to get since the last look

	isDict bool
	runs   hybrid // codes
	levels hybrid // definition levels; only of a nullable column
	flip   []byte // levels of an old kind, turned

	codes codes
	valid []uint64
	vec   vector.Vector
}

// codes is room for a batch of codes, of a width that fits the dictionary.
type codes struct {
	width int
	c8    []uint8
	c16   []uint16
	c32   []uint32
}

// newColumn decodes columns like def – the same name and kind of values – for batches of up to n rows.
func newColumn(def *Column, z *inflater, n int) *column {
	return &column{def: def, vals: newValues(def, n), inflate: z, valid: make([]uint64, vector.Words(n))}
}

// open begins with the n rows from row first of a row group on; chunk holds their pages, dict the dictionary's page, where it
// is not the first of chunk.
func (c *column) open(meta *chunkMeta, dict, chunk []byte, first, n int64) (err error) {
	c.drop()
	c.release()
	c.chunk, c.codec, c.at, c.row, c.dictID = chunk, meta.codec, 0, first, 0
	if c.all, err = pages(c.all[:0], chunk, first, n, len(dict) > 0); err != nil {
		return err
	}
	c.pages = c.all
	switch {
	case len(dict) > 0:
		p, err := pageAt(dict, 0)
		if err != nil {
			return err
		}
		if p.kind != pageDictionary {
			return errors.New("where its dictionary should be is another page")
		}
		return c.dictionary(&p, dict[p.from:p.to])
	case len(c.pages) > 0 && c.pages[0].kind == pageDictionary:
		p := &c.pages[0]
		c.pages = c.pages[1:]
		return c.dictionary(p, chunk[p.from:p.to])
	}
	return nil
}

func (c *column) dictionary(p *page, body []byte) error {
	if err := p.check(body); err != nil {
		return err
	}
	if c.codec != codecNone {
		if cap(c.dictBuf) < p.size {
			c.dictBuf = aligned(p.size)
			c.grown += int64(p.size)
		}
		c.dictBuf = c.dictBuf[:p.size]
		if err := c.inflate.inflate(c.dictBuf, body, c.codec); err != nil {
			return fmt.Errorf("its dictionary cannot be decompressed: %w", err)
		}
		body = c.dictBuf
	}
	if err := c.vals.dictionary(body, p.values); err != nil {
		return fmt.Errorf("its dictionary makes no sense: %w", err)
	}
	c.dictID = vector.NewDictID()
	rows := len(c.valid) * 64
	switch {
	case p.values <= 1<<8:
		c.codes.width, c.codes.c8 = 1, atLeast(c.codes.c8, rows)
	case p.values <= 1<<16:
		c.codes.width, c.codes.c16 = 2, atLeast(c.codes.c16, rows)
	default:
		c.codes.width, c.codes.c32 = 4, atLeast(c.codes.c32, rows)
	}
	return nil
}

// atLeast is s, or new memory, of n elements or more.
func atLeast[T any](s []T, n int) []T {
	if len(s) < n {
		return make([]T, n)
	}
	return s
}

// everyEntry is a vector of the entries of the dictionary that all values of the chunk are from, each once; nil if there may
// be others.
func (c *column) everyEntry() *vector.Vector {
	if c.dictID == 0 {
		return nil
	}
	for i := range c.pages {
		if !c.pages[i].enc.isDictionary() {
			return nil
		}
	}
	dict := c.vals.entries()
	switch n := dict.Len; {
	case n == 0:
		return nil
	case c.codes.width == 1:
		vector.SetDict(&c.vec, dict, c.dictID, ascending(&c.codes.c8, n), nil)
	case c.codes.width == 2:
		vector.SetDict(&c.vec, dict, c.dictID, ascending(&c.codes.c16, n), nil)
	default:
		vector.SetDict(&c.vec, dict, c.dictID, ascending(&c.codes.c32, n), nil)
	}
	return &c.vec
}

// ascending fills buf, which may grow, with the codes below n.
func ascending[C uint8 | uint16 | uint32](buf *[]C, n int) []C {
	*buf = atLeast(*buf, n)
	out := (*buf)[:n]
	for i := range out {
		out[i] = C(i)
	}
	return out
}

// memory is a buffer of n bytes that no vector points into.
func (c *column) memory(n int) []byte {
	for i, b := range c.spare {
		if cap(b) >= n {
			c.spare[i] = c.spare[len(c.spare)-1]
			c.spare = c.spare[:len(c.spare)-1]
			return b[:n]
		}
	}
	if k := len(c.spare); k > 0 { // too small for this chunk's pages
		c.grown -= int64(cap(c.spare[k-1]))
		c.spare = c.spare[:k-1]
	}
	b := aligned(n + n/8)
	c.grown += int64(cap(b))
	return b[:n]
}

// drop leaves the present page; its memory is held until the batch that points into it is over.
func (c *column) drop() {
	if c.cur != nil {
		c.held = append(c.held, c.cur)
		c.cur = nil
	}
	c.loaded = false
}

// release makes the memory of pages that are done fit for new ones.
func (c *column) release() {
	c.spare = append(c.spare, c.held...)
	c.held = c.held[:0]
}

// load makes the present page's values ready to decode.
func (c *column) load() error {
	p := &c.pages[c.at]
	body := c.chunk[p.from:p.to]
	if err := p.check(body); err != nil {
		return err
	}
	var levels []byte
	if p.kind == pageDataV2 {
		if p.repBytes != 0 {
			return errors.New("a page has levels of repetition, but the column is no list")
		}
		n := p.defBytes
		levels = body[:n]
		if c.codec != codecNone && p.compressed {
			if p.size < n {
				return errSize
			}
			c.cur = c.memory(p.size - n)
			if err := c.inflate.inflate(c.cur, body[n:], c.codec); err != nil {
				return fmt.Errorf("a page cannot be decompressed: %w", err)
			}
			body = c.cur
		} else {
			body = body[n:]
		}
	} else {
		if c.codec != codecNone {
			c.cur = c.memory(p.size)
			if err := c.inflate.inflate(c.cur, body, c.codec); err != nil {
				return fmt.Errorf("a page cannot be decompressed: %w", err)
			}
			body = c.cur
		}
		if c.def.Nullable {
			var err error
			if levels, body, err = c.oldLevels(p, body); err != nil {
				return err
			}
		}
	}
	if c.def.Nullable {
		c.levels.reset(levels, 1, 2)
		if p.kind == pageData && p.levels == encBitPacked {
			c.levels.packed, c.levels.left = levels, p.values
		}
	}
	c.isDict, c.loaded, c.row = p.enc.isDictionary(), true, p.row
	return c.begin(p, body)
}

// oldLevels parts the body of a data page v1 into definition levels and values.
func (c *column) oldLevels(p *page, body []byte) (levels, rest []byte, err error) {
	switch p.levels {
	case encRLE:
		if len(body) < 4 {
			return nil, nil, errPageEnd
		}
		n := uint64(binary.LittleEndian.Uint32(body))
		if n > uint64(len(body)-4) {
			return nil, nil, errPageEnd
		}
		return body[4 : 4+n], body[4+n:], nil
	case encBitPacked:
		n := (p.values + 7) / 8
		if n > len(body) {
			return nil, nil, errPageEnd
		}
		c.flip = reverseBytes(c.flip[:0], body[:n])
		return c.flip, body[n:], nil
	}
	return nil, nil, fmt.Errorf("levels with the encoding %v", p.levels)
}

func (c *column) begin(p *page, body []byte) error {
	switch {
	case c.isDict:
		if len(body) == 0 { // a page of NULLs only may lack even the width
			c.runs.reset(nil, 1, 0)
			return nil
		}
		if body[0] > 32 {
			return fmt.Errorf("codes of %d bits", body[0])
		}
		c.runs.reset(body[1:], uint(body[0]), uint64(c.vals.entries().Len))
		if body[0] == 0 && c.vals.entries().Len == 0 {
			c.runs.left = 0 // without an entry there is no code 0 either
		}
		return nil
	case p.enc == encPlain:
		c.vals.begin(body)
		return nil
	}
	e := &c.def.element
	width := 0
	switch e.typ {
	case typeInt32, typeFloat:
		width = 4
	case typeInt64, typeDouble:
		width = 8
	case typeInt96:
		width = 12
	case typeFixed:
		width = int(e.length)
	}
	out, err := transcode(c.memory(2 * len(body))[:0], body, p.enc, e.typ, width, p.values)
	if err != nil {
		return err
	}
	if c.cur != nil {
		c.spare = append(c.spare, c.cur)
	}
	c.cur = out
	c.vals.begin(out)
	return nil
}

// skip passes over n rows of the present page, which is loaded.
func (c *column) skip(n int) error {
	if n == 0 {
		return nil
	}
	c.row += int64(n)
	if c.def.Nullable {
		var err error
		if n, err = c.levels.skipBits(n); err != nil {
			return err
		}
	}
	if c.isDict {
		return c.runs.skip(n)
	}
	return c.vals.skip(n)
}

// read gives n rows from row on, at most a batch, which were opened; rows go up from call to call. Pages of which no row
// is read are not even decompressed.
func (c *column) read(row int64, n int) (*vector.Vector, error) {
	c.seek(row)
	c.release() // the batch before is over
	asCodes := c.dictID != 0
	for i := c.at; i < len(c.pages) && c.pages[i].row < row+int64(n); i++ {
		asCodes = asCodes && (c.pages[i].enc.isDictionary() || c.pages[i].values == 0)
	}
	clear(c.valid)
	present, viewed := 0, false
	for done := 0; done < n; {
		c.seek(row)
		p := &c.pages[c.at]
		if !c.loaded {
			if err := c.load(); err != nil {
				return nil, err
			}
		}
		if err := c.skip(int(row - c.row)); err != nil {
			return nil, err
		}
		m := min(n-done, int(p.row+int64(p.values)-row))
		k := m
		if c.def.Nullable {
			var err error
			if k, err = c.levels.readBits(c.valid, done, m); err != nil {
				return nil, err
			}
		}
		switch {
		case asCodes:
			if err := c.readCodes(done, m, k); err != nil {
				return nil, err
			}
		case c.isDict: // beside a page of other values
			if err := c.readCodes(0, k, k); err != nil {
				return nil, err
			}
			c.vals.look(&c.codes, done, k)
		case m == n && k == n && c.vals.view(n):
			viewed = true
		default:
			if err := c.vals.read(done, k); err != nil {
				return nil, err
			}
		}
		if !asCodes && !viewed && k < m {
			c.vals.spread(done, m, k, c.valid)
		}
		present += k
		done += m
		row += int64(m)
		c.row = row
	}
	valid := c.valid[:vector.Words(n)]
	switch {
	case present == 0:
		vector.SetNull(&c.vec, c.def.Type, n)
		return &c.vec, nil
	case present == n:
		valid = nil
	}
	switch {
	case !asCodes:
		c.vals.vector(&c.vec, n, valid)
	case c.codes.width == 1:
		vector.SetDict(&c.vec, c.vals.entries(), c.dictID, c.codes.c8[:n], valid)
	case c.codes.width == 2:
		vector.SetDict(&c.vec, c.vals.entries(), c.dictID, c.codes.c16[:n], valid)
	default:
		vector.SetDict(&c.vec, c.vals.entries(), c.dictID, c.codes.c32[:n], valid)
	}
	return &c.vec, nil
}

// seek goes to the page that row is in.
func (c *column) seek(row int64) {
	for c.at < len(c.pages)-1 && row >= c.pages[c.at].row+int64(c.pages[c.at].values) {
		c.drop()
		c.at++
	}
}

// readCodes reads k codes for the m rows from row at of the batch on, of which those that valid has are not NULL.
func (c *column) readCodes(at, m, k int) (err error) {
	switch b := &c.codes; b.width {
	case 1:
		err = readCodes(&c.runs, b.c8[at:at+k])
		if k < m {
			spread(b.c8[at:at+m], k, c.valid, at)
		}
	case 2:
		err = readCodes(&c.runs, b.c16[at:at+k])
		if k < m {
			spread(b.c16[at:at+m], k, c.valid, at)
		}
	default:
		err = readCodes(&c.runs, b.c32[at:at+k])
		if k < m {
			spread(b.c32[at:at+m], k, c.valid, at)
		}
	}
	return err
}

// fault is the error for what is wrong with the chunk of a column.
func fault(f *File, col *Column, rowGroup int, err error) error {
	if e := (*sqlerr.Error)(nil); errors.As(err, &e) {
		return err
	}
	e := corrupt(f.Path, fmt.Sprintf("column %q of row group %d: %v", col.Name, rowGroup, err))
	e.Err = err
	return e
}
