package parquet

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
)

// presence tells which of a number of rows have a value. It holds bits only from the first NULL on.
type presence struct {
	rows, nulls int
	bits        []byte
}

func (p *presence) reset() { *p = presence{bits: p.bits[:0]} }

// addArray adds rows [from, to) of a.
func (p *presence) addArray(a arrow.Array, from, to int) {
	switch {
	case a.DataType().ID() == arrow.NULL:
		p.grow(to - from)
		bitutil.SetBitsTo(p.bits, int64(p.rows), int64(to-from), false)
		p.rows, p.nulls = p.rows+to-from, p.nulls+to-from
	case a.NullN() == 0:
		p.addBits(nil, 0, to-from)
	default:
		p.addBits(a.NullBitmapBytes(), a.Data().Offset()+from, to-from)
	}
}

// addBits adds n rows, whose bits start at bit from; no bits are n values.
func (p *presence) addBits(b []byte, from, n int) {
	nulls := 0
	if len(b) > 0 {
		nulls = n - bitutil.CountSetBits(b, from, n)
	}
	if nulls > 0 || p.nulls > 0 {
		p.grow(n)
		if nulls > 0 {
			bitutil.CopyBitmap(b, from, n, p.bits, p.rows)
		} else {
			bitutil.SetBitsTo(p.bits, int64(p.rows), int64(n), true)
		}
	}
	p.rows, p.nulls = p.rows+n, p.nulls+nulls
}

// grow makes room for the bits of n more rows, and fills in those that were not held so far.
func (p *presence) grow(n int) {
	had := len(p.bits)
	for len(p.bits) < (p.rows+n+7)/8 {
		p.bits = append(p.bits, 0)
	}
	if had == 0 {
		bitutil.SetBitsTo(p.bits, 0, int64(p.rows), true)
	}
}
