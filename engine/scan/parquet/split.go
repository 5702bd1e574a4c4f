package parquet

import (
	"context"
	"errors"
	"fmt"

	"github.com/fletchdb/fletch/engine/sqlerr"
)

// splitRows is how many rows a row group may have to be one morsel: more, and one goroutine would work while others wait.
const splitRows = 128 << 10

// A location is where a data page lies, from the offset index of a column chunk.
type location struct {
	row      int64 // its first
	from, to int64 // in the file, header too
}

// split cuts a large row group into morsels of about splitRows, where the file has an index of its pages. They begin with
// pages of the column that takes most of the file; pages of others that lie across a cut are read twice.
func (s *source) split(ctx context.Context, m morsel) ([]morsel, error) {
	if m.rows <= splitRows || len(m.file.columns) == 0 {
		return []morsel{m}, nil
	}
	parts, err := m.locations(ctx, s)
	if parts == nil || err != nil {
		return []morsel{m}, err
	}
	widest := 0
	for j, c := range m.file.columns {
		if m.chunk(c).compressed > m.chunk(m.file.columns[widest]).compressed {
			widest = j
		}
	}
	var cut []morsel
	first := int64(0)
	end := func(row int64) {
		part := m
		part.first, part.rows, part.parts = first, row-first, parts
		cut = append(cut, part)
		first = row
	}
	for _, l := range parts[widest] {
		if l.row-first >= splitRows && m.rows-l.row >= splitRows/2 {
			end(l.row)
		}
	}
	end(m.rows)
	return cut, nil
}

// locations is the pages of every column of the scan; nil where a column has no index, or one that cannot be.
func (m *morsel) locations(ctx context.Context, s *source) ([][]location, error) {
	parts := make([][]location, len(m.file.columns))
	for j, c := range m.file.columns {
		meta := m.chunk(c)
		whole, err := m.extent(j)
		if err != nil || meta.offsetIndexBytes <= 0 || meta.offsetIndex < whole.to || meta.offsetIndex > m.file.Size-int64(meta.offsetIndexBytes) {
			return nil, nil //nolint:nilerr // whoever reads the chunk itself gets the error
		}
		f, err := m.file.open(ctx, s.in)
		if err != nil {
			return nil, err
		}
		buf := make([]byte, meta.offsetIndexBytes)
		if err := readAt(ctx, f, buf, meta.offsetIndex, m.file.Path); err != nil {
			return nil, err
		}
		d := thrift{b: buf}
		list := d.offsetIndex()
		if d.bad != "" || !plausible(list, m.rows, whole) {
			return nil, nil
		}
		parts[j] = list
	}
	return parts, nil
}

// plausible tells whether the pages of list can be those of a chunk of some rows.
func plausible(list []location, rows int64, whole byteRange) bool {
	if len(list) == 0 || list[0].row != 0 {
		return false
	}
	for i, l := range list {
		if l.from < whole.from || l.to <= l.from || l.to > whole.to || l.row >= rows {
			return false
		}
		if i > 0 && (l.row <= list[i-1].row || l.from < list[i-1].to) {
			return false
		}
	}
	return true
}

func (d *thrift) offsetIndex() (list []location) {
	d.fields(func(id int, typ byte) bool {
		if id != 1 {
			return false
		}
		d.structs(typ, func() {
			var l location
			d.fields(func(id int, typ byte) bool {
				switch id {
				case 1:
					l.from = d.int(typ)
				case 2:
					l.to = int64(d.int32(typ))
				case 3:
					l.row = d.int(typ)
				default:
					return false
				}
				return true
			})
			l.to += l.from
			list = append(list, l)
		})
		return true
	})
	return list
}

// extent is where the pages of a column lie that the morsel needs.
func (m *morsel) extent(column int) (run byteRange, err error) {
	c := m.chunk(m.file.columns[column])
	switch {
	case c.external:
		return run, errors.New("it lies in another file")
	case c.encrypted:
		return run, sqlerr.Newf(sqlerr.Unsupported, sqlerr.Pos{}, "column %q of %q is encrypted", m.file.columns[column].Name, m.file.Path)
	}
	from := c.dataOffset
	if c.dictOffset > 0 && c.dictOffset < from {
		from = c.dictOffset
	}
	if from < int64(len(magic)) || c.compressed > m.file.end-from {
		return run, fmt.Errorf("it lies at bytes %d to %d of a file whose data ends at %d", from, from+c.compressed, m.file.end)
	}
	run = byteRange{column: column, from: from, to: from + c.compressed, first: m.first, rows: m.rows}
	if m.parts == nil {
		return run, nil
	}
	pages := m.parts[column]
	lo, hi := 0, len(pages)
	for lo+1 < len(pages) && pages[lo+1].row <= m.first {
		lo++
	}
	for hi > 0 && pages[hi-1].row >= m.first+m.rows {
		hi--
	}
	run.from, run.to, run.first = pages[lo].from, pages[hi-1].to, pages[lo].row
	end := m.file.RowGroups[m.group].Rows
	if hi < len(pages) {
		end = pages[hi].row
	}
	run.rows = end - run.first
	if pages[0].from > from {
		run.dictFrom, run.dictTo = from, pages[0].from
	}
	return run, nil
}

func (r byteRange) bytes() int64 { return r.to - r.from + r.dictTo - r.dictFrom }
