package kernel

import "testing"

// levels runs f once for each set of instructions this CPU has.
func levels(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	was := level
	defer func() { level = was }()
	for l := off; l <= best(); l++ {
		level = l
		t.Run(l.String(), f)
	}
}

// benchLevels is levels for benchmarks.
func benchLevels(b *testing.B, f func(b *testing.B)) {
	was := level
	defer func() { level = was }()
	for l := off; l <= best(); l++ {
		level = l
		b.Run(l.String(), f)
	}
}

func TestChoose(t *testing.T) {
	for _, tc := range []struct {
		name       string
		best, want simd
	}{
		{"", avx512, avx512},
		{"off", avx512, off},
		{"avx2", avx512, avx2},
		{"avx512", avx2, avx2},
		{"avx512", off, off},
		{"neon", avx2, avx2},
	} {
		if got := choose(tc.name, tc.best); got != tc.want {
			t.Errorf("choose(%q, %s) = %s, want %s", tc.name, tc.best, got, tc.want)
		}
	}
}
