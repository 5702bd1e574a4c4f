package datagen

import (
	"context"
	"errors"
	"testing"
)

// The generator's authors published where it stands after 10,000 steps from 1.
func TestStreamIsMinimalStandard(t *testing.T) {
	state := uint64(1)
	for range 10_000 {
		state = step(state)
	}
	if state != 1043618065 || power(10_000) != state {
		t.Errorf("10,000 steps from 1: %d, by powers %d", state, power(10_000))
	}
}

func TestSeekIsManyRows(t *testing.T) {
	walked, sought := newStream(709314158, 92), newStream(709314158, 92)
	for range 12_345 {
		walked.between(1, 5) // as many draws of a row as one likes
		walked.nextRow()
	}
	sought.seek(12_345)
	if walked != sought {
		t.Errorf("walked to %v, sought %v", walked, sought)
	}
}

// Draws in whole numbers are those of dbgen's floating point, up to the range where between changes over.
func TestShareIsDbgensProduct(t *testing.T) {
	state := uint64(poolSeed)
	for _, n := range []uint64{1, 2, 3, 7, 54, 92, 121, 2406, 9999, 99_901, 1<<20 - 1} {
		for _, s := range []uint64{1, modulus - 1, modulus / 2, modulus/2 + 1, (modulus + n - 1) / n, (modulus - 1) / n} {
			if got, want := share(s, n), uint64(float64(s)/modulus*float64(n)); got != want {
				t.Fatalf("state %d of %d: %d, want %d", s, n, got, want)
			}
		}
		for range 100_000 {
			state = step(state)
			if got, want := share(state, n), uint64(float64(state)/modulus*float64(n)); got != want {
				t.Fatalf("state %d of %d: %d, want %d", state, n, got, want)
			}
		}
	}
}

func TestRowsAtScale(t *testing.T) {
	for _, tc := range []struct {
		scale scale
		want  int64
	}{{1e-9, 1}, {0.0003, 60}, {0.0057, 1140}, {0.29, 58_000}, {1, 200_000}, {1.5, 300_000}, {maxScale, 2_000_000_000}} {
		if got := tc.scale.rows(partBase); got != tc.want { // 0.29 × 200,000 is below 58,000 in floating point
			t.Errorf("%d parts at scale %v, want %d", got, tc.scale, tc.want)
		}
	}
}

// The index needs a sentence start in every block, and one byte for its place there.
func TestSentencesFitBlocks(t *testing.T) {
	var buf [2 * maxSentence]byte
	state, longest, at := uint64(poolSeed), 0, 0
	for at < poolSize {
		next, n := sentence(state, buf[:], 0)
		state, longest, at = next, max(longest, n), at+n
	}
	if longest != maxSentence {
		t.Errorf("the longest sentence has %d bytes, not %d", longest, maxSentence)
	}
	words, err := newText(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if blocks := poolSize / blockSize; len(words.seeds) != blocks || len(words.starts) != blocks {
		t.Errorf("%d blocks, want %d", len(words.seeds), blocks)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := newText(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a canceled index: error %v", err)
	}
}

func TestTextAnywhere(t *testing.T) {
	words, err := newText(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	pool := make([]byte, 1<<20)
	state := uint64(poolSeed)
	for at := 0; at < len(pool)-2*maxSentence; {
		state, at = sentence(state, pool, at)
	}
	scratch := make([]byte, scratchSize)
	for offset := range 100_000 {
		n := offset % (maxComment + 1)
		if got := words.append(nil, offset, n, scratch); string(got) != string(pool[offset:offset+n]) {
			t.Fatalf("%d bytes from %d: %q, want %q", n, offset, got, pool[offset:offset+n])
		}
	}
}

func BenchmarkText(b *testing.B) {
	b.Run("index", func(b *testing.B) {
		for b.Loop() {
			if _, err := newText(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
	words, err := newText(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.Run("comment", func(b *testing.B) {
		draws := newCommenter(words, 1095462486, 27, maxLines)
		var out texts
		for b.Loop() {
			out.reset()
			draws.add(&out)
			draws.nextRow()
		}
	})
}

func BenchmarkLineItems(b *testing.B) {
	words, err := newText(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	f := newLineItems(1, words)
	rows := 0
	for b.Loop() {
		for _, c := range f.columns() {
			c.reset()
		}
		f.fill(0, 4096)
		rows += f.order.len()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(rows), "ns/row")
}
