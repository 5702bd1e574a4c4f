package kernel

import "github.com/fletchdb/fletch/engine/vector/int128"

// An Op is a comparison.
type Op uint8

// The comparisons.
const (
	Eq Op = iota
	Ne
	Lt
	Le
	Gt
	Ge
)

// String gives the operator as SQL writes it.
func (op Op) String() string { return [...]string{"=", "<>", "<", "<=", ">", ">="}[op] }

// Negate gives the comparison that holds exactly where op does not.
func (op Op) Negate() Op { return [...]Op{Ne, Eq, Ge, Gt, Le, Lt}[op] }

// Swap gives the comparison with its sides exchanged: a op b is b op.Swap() a.
func (op Op) Swap() Op { return [...]Op{Eq, Ne, Gt, Ge, Lt, Le}[op] }

// base gives one of Eq, Lt and Le, and whether op is its complement. The order is total – NaN included – so three loops
// are enough.
func (op Op) base() (rel Op, flip uint64) {
	switch op {
	case Ne, Gt, Ge:
		return op.Negate(), ^uint64(0)
	}
	return op, 0
}

// Compare sets bit i of dst to a[i] op c, for Words(len(a)) words. Floats have PostgreSQL's order: NaN equals NaN and is
// greater than everything else, -0 equals 0.
func Compare[T Number](op Op, dst []uint64, a []T, c T) {
	dst = dst[:Words(len(a))]
	n := compareSIMD(op, dst, a, c)
	compareConstant(op, dst[n/64:], a[n:], c)
}

func compareConstant[T Number](op Op, dst []uint64, a []T, c T) {
	rel, flip := op.base()
	n := len(a)
	for w := range dst {
		block := a[:min(len(a), 64)]
		a = a[len(block):]
		var b uint64
		switch {
		case c != c: // NaN
			switch rel {
			case Eq:
				for i, v := range block {
					b |= bit(v != v) << (uint(i) % 64)
				}
			case Lt:
				for i, v := range block {
					b |= bit(v == v) << (uint(i) % 64)
				}
			case Le:
				b = ^uint64(0)
			}
		case rel == Eq:
			for i, v := range block {
				b |= bit(v == c) << (uint(i) % 64)
			}
		case rel == Lt:
			for i, v := range block {
				b |= bit(v < c) << (uint(i) % 64)
			}
		case rel == Le:
			for i, v := range block {
				b |= bit(v <= c) << (uint(i) % 64)
			}
		}
		dst[w] = b ^ flip
	}
	maskTail(dst, n)
}

// CompareColumns sets bit i of dst to a[i] op b[i], for Words(len(a)) words, in the order of Compare. b has len(a) rows.
func CompareColumns[T Number](op Op, dst []uint64, a, b []T) {
	dst, b = dst[:Words(len(a))], b[:len(a)]
	n := compareColumnsSIMD(op, dst, a, b)
	compareColumns(op, dst[n/64:], a[n:], b[n:])
}

func compareColumns[T Number](op Op, dst []uint64, a, b []T) {
	rel, flip := op.base()
	n := len(a)
	for w := range dst {
		x := a[:min(len(a), 64)]
		y := b[:len(x)]
		a, b = a[len(x):], b[len(x):]
		var m uint64
		// The terms with v != v are NaN's; for integers they compile to nothing.
		switch rel {
		case Eq:
			for i, v := range x {
				u := y[i]
				m |= (bit(v == u) | bit(v != v)&bit(u != u)) << (uint(i) % 64)
			}
		case Lt:
			for i, v := range x {
				u := y[i]
				m |= (bit(v < u) | bit(v == v)&bit(u != u)) << (uint(i) % 64)
			}
		case Le:
			for i, v := range x {
				u := y[i]
				m |= (bit(v <= u) | bit(u != u)) << (uint(i) % 64)
			}
		}
		dst[w] = m ^ flip
	}
	maskTail(dst, n)
}

// Between sets bit i of dst to lo <= a[i] && a[i] <= hi, for Words(len(a)) words.
func Between[T Integer](dst []uint64, a []T, lo, hi T) {
	dst = dst[:Words(len(a))]
	n := betweenSIMD(dst, a, lo, hi)
	between(dst[n/64:], a[n:], lo, hi)
}

func between[T Integer](dst []uint64, a []T, lo, hi T) {
	for w := range dst {
		block := a[:min(len(a), 64)]
		a = a[len(block):]
		var b uint64
		for i, v := range block {
			b |= bit(lo <= v) & bit(v <= hi) << (uint(i) % 64)
		}
		dst[w] = b
	}
}

// CompareInt128 is Compare for 128-bit integers.
func CompareInt128(op Op, dst []uint64, a []int128.Int128, c int128.Int128) {
	dst = dst[:Words(len(a))]
	rel, flip := op.base()
	n := len(a)
	for w := range dst {
		block := a[:min(len(a), 64)]
		a = a[len(block):]
		var b uint64
		for i, v := range block {
			b |= bit(holds128(rel, v, c)) << (uint(i) % 64)
		}
		dst[w] = b ^ flip
	}
	maskTail(dst, n)
}

// CompareColumnsInt128 is CompareColumns for 128-bit integers.
func CompareColumnsInt128(op Op, dst []uint64, a, b []int128.Int128) {
	dst, b = dst[:Words(len(a))], b[:len(a)]
	rel, flip := op.base()
	n := len(a)
	for w := range dst {
		x := a[:min(len(a), 64)]
		y := b[:len(x)]
		a, b = a[len(x):], b[len(x):]
		var m uint64
		for i, v := range x {
			m |= bit(holds128(rel, v, y[i])) << (uint(i) % 64)
		}
		dst[w] = m ^ flip
	}
	maskTail(dst, n)
}

// holds128 is a rel b for Eq, Lt and Le; rel does not change within a loop, so its branches cost little.
func holds128(rel Op, a, b int128.Int128) bool {
	switch rel {
	case Eq:
		return a == b
	case Lt:
		return a.Less(b)
	}
	return !b.Less(a)
}
