package kernel

import (
	"os"

	"golang.org/x/sys/cpu"
)

// simd is a set of instructions the assembly is written for.
type simd uint8

const (
	off simd = iota
	avx2
	avx512
)

func (s simd) String() string { return [...]string{"off", "avx2", "avx512"}[s] }

// level is the set in use. Each ...SIMD function does as many rows as its assembly can, in whole blocks from the first,
// and says how many; the scalar loop does the rest.
var level = choose(os.Getenv("FLETCH_SIMD"), best())

// SIMD names the kernels in use: off (the scalar ones), avx2 or avx512.
func SIMD() string { return level.String() }

// choose lowers best to what is asked for: a name that is unknown, or more than the CPU has, changes nothing.
func choose(name string, best simd) simd {
	for s := off; s < best; s++ {
		if s.String() == name {
			return s
		}
	}
	return best
}

func best() simd {
	x := &cpu.X86
	switch {
	case !x.HasAVX2 || !x.HasBMI1 || !x.HasBMI2 || !x.HasPOPCNT:
		return off
	case !x.HasAVX512F || !x.HasAVX512BW || !x.HasAVX512DQ || !x.HasAVX512VL || !x.HasAVX512VBMI || !x.HasAVX512VBMI2:
		return avx2
	}
	return avx512
}
