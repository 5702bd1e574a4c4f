package parquet

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// bools encodes truth values, one bit each.
type bools struct {
	array    *array.Boolean
	from, to int
	set      int // bits in the open page
	seen     [2]bool
}

func (b *bools) begin(a arrow.Array) { b.array = a.(*array.Boolean) }

func (b *bools) load(from, to int) (int, error) {
	b.from, b.to = from, to
	return to, nil
}

func (b *bools) end() { b.array = nil }

func (b *bools) plain(dst []byte) []byte {
	for i := b.from; i < b.to; i++ {
		if b.array.IsNull(i) {
			continue
		}
		if b.set&7 == 0 {
			dst = append(dst, 0)
		}
		if b.array.Value(i) {
			dst[len(dst)-1] |= 1 << (b.set & 7)
			b.seen[1] = true
		} else {
			b.seen[0] = true
		}
		b.set++
	}
	return dst
}

func (b *bools) takeBounds() bounds {
	out := bounds{exactMin: true, exactMax: true, ok: b.seen[0] || b.seen[1]}
	if out.ok {
		out.min, out.max = []byte{1}, []byte{0}
		if b.seen[0] {
			out.min = []byte{0}
		}
		if b.seen[1] {
			out.max = []byte{1}
		}
	}
	b.set, b.seen = 0, [2]bool{}
	return out
}

// nulls encodes a column that is nothing but NULL.
type nulls struct{}

func (nulls) begin(arrow.Array)           {}
func (nulls) load(_, to int) (int, error) { return to, nil }
func (nulls) end()                        {}
func (nulls) plain(dst []byte) []byte     { return dst }
func (nulls) takeBounds() bounds          { return bounds{} }
