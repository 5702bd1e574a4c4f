package parquet

import (
	"errors"
	"fmt"
	"hash/crc32"
)

// A page is where a page of a column chunk lies, from its header.
type page struct {
	kind     int64
	enc      encoding
	levels   encoding // of the definition levels of a data page v1
	from, to int      // its body in the chunk's bytes
	size     int      // of its body, uncompressed
	values   int      // NULLs too; of a dictionary page: entries
	row      int64    // its first row, in the row group

	compressed bool // if the chunk is
	defBytes   int  // of a data page v2: of definition levels, which are not compressed
	repBytes   int

	crc    uint32
	hasCRC bool
}

const (
	// A page that says to be over 64 MiB and over a thousand times what it takes in the file is a bomb, not data.
	pageSlack = 64 << 20
	pageRatio = 1 << 10
	// No writer puts more values into a page; without a limit, one of few bytes could claim 2³¹ of them.
	maxPageValues = 1 << 28
)

// sane tells whether n bytes may come out of from bytes.
func sane(n, from int) bool { return n >= 0 && n <= pageSlack+from*pageRatio }

var errPageEnd = errors.New("a page ends too early")

// pages appends to list the pages of n rows from row first on. A dictionary may be the first of them, unless it was read
// already.
func pages(list []page, chunk []byte, first, n int64, haveDict bool) ([]page, error) {
	row, dict := first, haveDict
	for at := 0; row < first+n; {
		if at >= len(chunk) {
			return list, fmt.Errorf("its pages have %d rows of %d", row-first, n)
		}
		p, err := pageAt(chunk, at)
		if err != nil {
			return list, err
		}
		at = p.to
		switch p.kind {
		case pageDictionary:
			if dict || row != first {
				return list, errors.New("its dictionary is not its first page, or not the only one")
			}
			dict = true
		case pageData, pageDataV2:
			if p.enc.isDictionary() && !dict {
				return list, errors.New("a page has codes of a dictionary, but there is none")
			}
			p.row = row
			row += int64(p.values)
		default: // an index page, or what a later format may add: nothing a row needs
			continue
		}
		list = append(list, p)
	}
	if row != first+n {
		return list, fmt.Errorf("its pages have %d rows of %d", row-first, n)
	}
	return list, nil
}

// pageAt is the page whose header is at a byte of chunk.
func pageAt(chunk []byte, at int) (page, error) {
	d := thrift{b: chunk[at:]}
	p := d.pageHeader()
	if d.bad != "" {
		return p, fmt.Errorf("the header of a page at byte %d of the chunk cannot be read: %s", at, d.bad)
	}
	size := p.to
	p.from = at + d.pos
	if size < 0 || size > len(chunk)-p.from {
		return p, fmt.Errorf("a page of %d bytes at byte %d of a chunk of %d", size, at, len(chunk))
	}
	p.to = p.from + size
	switch {
	case !sane(p.size, size):
		return p, fmt.Errorf("a page of %d bytes would have %d when uncompressed", size, p.size)
	case p.values < 0 || p.values > maxPageValues:
		return p, fmt.Errorf("a page of %d values", p.values)
	case p.defBytes < 0 || p.repBytes < 0 || p.defBytes > size || p.repBytes > size-p.defBytes:
		return p, errors.New("the levels of a page are longer than the page")
	case p.kind == pageDictionary && p.enc != encPlain && p.enc != encPlainDictionary:
		return p, fmt.Errorf("its dictionary has the encoding %v", p.enc)
	}
	return p, nil
}

// pageHeader reads the header of a page, whose compressed size it leaves in to.
func (d *thrift) pageHeader() page {
	p := page{kind: -1, enc: -1, compressed: true, values: -1}
	d.fields(func(id int, typ byte) bool {
		switch id {
		case 1:
			p.kind = d.int(typ)
		case 2:
			p.size = int(d.int32(typ))
		case 3:
			p.to = int(d.int32(typ))
		case 4:
			p.crc, p.hasCRC = uint32(d.int(typ)), true
		case 5, 7:
			d.union(typ, func(id int, typ byte) bool {
				switch id {
				case 1:
					p.values = int(d.int32(typ))
				case 2:
					p.enc = encoding(d.int32(typ))
				case 3:
					if typ == thriftTrue || typ == thriftFalse { // of a dictionary page: it is sorted
						return true
					}
					p.levels = encoding(d.int32(typ))
				default:
					return false
				}
				return true
			})
		case 8:
			d.union(typ, func(id int, typ byte) bool {
				switch id {
				case 1:
					p.values = int(d.int32(typ))
				case 4:
					p.enc = encoding(d.int32(typ))
				case 5:
					p.defBytes = int(d.int32(typ))
				case 6:
					p.repBytes = int(d.int32(typ))
				case 7:
					p.compressed = d.bool(typ)
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
	if p.kind == pageData || p.kind == pageDataV2 || p.kind == pageDictionary {
		if p.values < 0 {
			d.fail("it does not say how many values there are")
		}
	} else if p.kind < 0 {
		d.fail("it has no kind")
	}
	if p.values < 0 {
		p.values = 0
	}
	return p
}

// check compares the page's body with its checksum, where it has one.
func (p *page) check(body []byte) error {
	if p.hasCRC && crc32.ChecksumIEEE(body) != p.crc {
		return errors.New("the checksum of a page is wrong")
	}
	return nil
}
