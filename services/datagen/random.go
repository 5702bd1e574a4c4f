package datagen

// dbgen draws every column from a stream of its own, the generator of Lehmer with the constants of Park and Miller. A
// stream gives each row the same number of draws, used or not, so that the streams of any row can be computed at once.
const (
	multiplier = 16807
	modulus    = 1<<31 - 1
)

// A stream is where a column's draws stand.
type stream struct {
	seed  uint64
	uses  int64  // draws that a row may take
	jump  uint64 // takes row to the row after
	row   uint64 // state before the row's first draw
	state uint64
}

func newStream(seed uint64, uses int64) stream {
	return stream{seed: seed, uses: uses, jump: power(uses), row: seed, state: seed}
}

// seek goes to the first draw of row, from 0.
func (s *stream) seek(row int64) {
	s.row = reduce(s.seed * power(s.uses*row))
	s.state = s.row
}

// nextRow goes to the first draw of the row after this one.
func (s *stream) nextRow() {
	s.row = reduce(s.row * s.jump)
	s.state = s.row
}

// between draws a number from low to high, both inclusive. The product of dbgen is in floating point; below 2²⁰ numbers the
// whole one gives the same, since no product comes nearer to a whole number than the rounding.
func (s *stream) between(low, high int64) int64 {
	s.state = step(s.state)
	if n := uint64(high - low + 1); n < 1<<20 {
		return low + int64(share(s.state, n))
	}
	return low + int64(float64(s.state)/modulus*float64(high-low+1))
}

// bits draws the number whose lowest 30 bits dbgen cuts into characters. Its range is that of dbgen, where the largest
// integer plus one has wrapped around to the smallest.
func (s *stream) bits() int64 {
	s.state = step(s.state)
	return int64(float64(s.state) / modulus * -(1 << 31))
}

// step is the state after s.
func step(s uint64) uint64 {
	x := s * multiplier
	x = x&modulus + x>>31
	if x >= modulus {
		x -= modulus
	}
	return x
}

// share is the state's part of n: s*n/modulus, for products below 2⁶².
func share(s, n uint64) uint64 {
	x := s * n
	return (x + x>>31 + 1) >> 31
}

// reduce is x modulo modulus, for any product of two states.
func reduce(x uint64) uint64 {
	x = x&modulus + x>>31
	x = x&modulus + x>>31
	if x >= modulus {
		x -= modulus
	}
	return x
}

// power is the multiplier of n steps.
func power(n int64) uint64 {
	result, square := uint64(1), uint64(multiplier)
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			result = reduce(result * square)
		}
		square = reduce(square * square)
	}
	return result
}
