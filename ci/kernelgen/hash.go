package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// The multipliers of the kernel's mix.
const (
	mixA = 0x9e3779b97f4a7c15
	mixB = 0x243f6a8885a308d3
)

// hashVectors is how many vectors a hash loop does a turn, to hide the latency of the multiplications.
const hashVectors = 4

func genHash() {
	for _, v := range isas {
		hash(v, "hash", int64s, "stores the hash of a", false)
		hash(v, "hash32", int32s, "stores the hash of a, widened,", false)
		hash(v, "hashCombine", int64s, "replaces dst by the hash of dst and a", true)
	}
}

func hash(v isa, name string, e elem, doc string, combine bool) {
	rows := hashVectors * v.bytes / 8
	function(name+v.name, "dst *uint64, a *"+e.name+", blocks int", label(doc, " for blocks blocks of ", rows, " rows."))
	dst, a, blocks := param("dst"), param("a"), param("blocks")
	first, second := newMultiplier(v, mixA), newMultiplier(v, mixB)
	loop("loop", blocks, func() {
		xs := v.regs(hashVectors)
		for i, x := range xs {
			if e.size == 4 {
				VPMOVSXDQ(at(a, i*v.bytes/2), x)
			} else {
				v.move(at(a, i*v.bytes), x)
			}
			if combine {
				v.xor(at(dst, i*v.bytes), x, x)
			}
			first.mix(x)
		}
		for _, x := range xs {
			second.mix(x)
		}
		for i, x := range xs {
			h := v.reg()
			VPSRLQ(Imm(32), x, h)
			v.xor(h, x, x)
			v.move(x, at(dst, i*v.bytes))
		}
		advance(a, rows*e.size)
		advance(dst, rows*8)
	})
	ret()
}

// A multiplier is a constant in the form the instructions take.
type multiplier struct {
	v     isa
	c, ch VecVirtual
}

func newMultiplier(v isa, c uint64) multiplier {
	m := multiplier{v: v, c: v.constant(c, 8)}
	if !v.wide() {
		m.ch = v.constant(c>>32, 8)
	}
	return m
}

// mix does x ^= x>>32; x *= c. The high half of x is what it was before the XOR, so AVX2's product need not shift again.
func (m multiplier) mix(x VecVirtual) {
	h := m.v.reg()
	VPSRLQ(Imm(32), x, h)
	m.v.xor(h, x, x)
	if m.v.wide() {
		VPMULLQ(m.c, x, x)
		return
	}
	mulConst64(x, h, m.c, m.ch)
}
