package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

func genSum() {
	for _, v := range isas {
		sumInt64(v)
		sumInt64Masked(v)
		sumProductInt64(v)
		minMaxInt64(v)
		minMaxFloat64(v)
	}
	// Wider vectors are no faster here: one chain of additions per lane is what takes the time.
	sumFloat64(avx2)
	sumFloat64Masked(avx2)
	minMaxInt32()
	for _, e := range []elem{int32s, int64s} {
		minMaxMasked(e)
	}
	minMaxFloat64Masked()
}

// high32 is x>>32 with its sign, which AVX2 has for 32 bits only.
func high32(v isa, x VecVirtual) VecVirtual {
	h := v.reg()
	if v.wide() {
		VPSRAQ(Imm(32), x, h)
		return h
	}
	s := v.reg()
	VPSRAD(Imm(31), x, s)
	VPSHUFD(Imm(0xf5), x, h)
	VPBLENDD(Imm(0xaa), s, h, h)
	return h
}

// An exactSum adds rows modulo 2^64 and, apart, their high halves: of the two the 128-bit sum follows.
type exactSum struct {
	v         isa
	sums, his []VecVirtual
}

func newExactSum(v isa) exactSum {
	return exactSum{v, []VecVirtual{v.zero(), v.zero()}, []VecVirtual{v.zero(), v.zero()}}
}

func (s exactSum) add(i int, x VecVirtual) {
	i %= len(s.sums)
	VPADDQ(x, s.sums[i], s.sums[i])
	VPADDQ(high32(s.v, x), s.his[i], s.his[i])
}

func (s exactSum) store(lanes GPVirtual) {
	VPADDQ(s.sums[1], s.sums[0], s.sums[0])
	VPADDQ(s.his[1], s.his[0], s.his[0])
	s.v.move(s.sums[0], at(lanes, 0))
	s.v.move(s.his[0], at(lanes, s.v.bytes))
}

const exactDoc = "stores per lane the sum modulo 2^64 and then the sum of the rows' high halves, "

func sumInt64(v isa) {
	function("sumInt64"+v.name, "a *int64, blocks int, lanes *[2]["+label(v.bytes/8)+"]int64",
		label(exactDoc, "for blocks blocks of ", 4*v.bytes/8, " rows."))
	a, blocks, lanes := param("a"), param("blocks"), param("lanes")
	sum := newExactSum(v)
	loop("loop", blocks, func() {
		for i := range 4 {
			sum.add(i, v.load(at(a, i*v.bytes)))
		}
		advance(a, 4*v.bytes)
	})
	sum.store(lanes)
	ret()
}

func sumInt64Masked(v isa) {
	function("sumInt64Masked"+v.name, "a *int64, bm *uint64, words int, lanes *[2]["+label(v.bytes/8)+"]int64",
		exactDoc+"for the rows set in words words.")
	lanes := param("lanes")
	sum := newExactSum(v)
	maskedWords(v, func(i int, m Mem, k func() OpmaskVirtual, narrow func() VecVirtual) {
		x := v.reg()
		if v.wide() {
			VMOVDQU64_Z(m, k(), x)
		} else {
			VPMASKMOVQ(m, narrow(), x)
		}
		sum.add(i, x)
	})
	sum.store(lanes)
	ret()
}

// maskedWords runs body for each vector of 64-bit rows of each word that is not 0. body asks for the mask in the form its
// instructions take: an opmask, or a vector whose lanes have their sign set.
func maskedWords(v isa, body func(i int, m Mem, k func() OpmaskVirtual, narrow func() VecVirtual)) {
	a, bm, words := param("a"), param("bm"), param("words")
	var first, four VecVirtual
	if !v.wide() {
		first = v.load(table("masked_shifts", qwords(63, 62, 61, 60)))
		four = v.constant(4, 8)
	}
	loop("loop", words, func() {
		w := GP64()
		MOVQ(at(bm, 0), w)
		TESTQ(w, w)
		JZ(LabelRef("next"))
		var bits, shift VecVirtual
		if !v.wide() {
			bits, shift = v.broadcast(w, 8), v.reg()
			VMOVDQA(first, shift)
		}
		for i := range 64 * 8 / v.bytes {
			body(i, at(a, i*v.bytes), func() OpmaskVirtual {
				k := K()
				KMOVB(at(bm, i), k)
				return k
			}, func() VecVirtual {
				x := v.reg()
				VPSLLVQ(shift, bits, x)
				VPSUBQ(four, shift, shift)
				return x
			})
		}
		Label("next")
		advance(bm, 8)
		advance(a, 64*8)
	})
}

func sumProductInt64(v isa) {
	function("sumProductInt64"+v.name, "a *int64, b *int64, blocks int, lanes *["+label(v.bytes/8)+"]int64",
		label("stores per lane the sum of a*b modulo 2^64 for blocks blocks of ", 4*v.bytes/8, " rows."))
	a, b, blocks, lanes := param("a"), param("b"), param("blocks"), param("lanes")
	accs := []VecVirtual{v.zero(), v.zero()}
	loop("loop", blocks, func() {
		for i := range 4 {
			x := v.load(at(a, i*v.bytes))
			if v.wide() {
				VPMULLQ(at(b, i*v.bytes), x, x)
			} else {
				mul64(x, v.load(at(b, i*v.bytes)), x)
			}
			VPADDQ(x, accs[i%2], accs[i%2])
		}
		advance(a, 4*v.bytes)
		advance(b, 4*v.bytes)
	})
	VPADDQ(accs[1], accs[0], accs[0])
	v.move(accs[0], at(lanes, 0))
	ret()
}

// eightLanes is the accumulators of 8 rows, loaded from lanes.
func eightLanes(v isa, lanes GPVirtual) []VecVirtual {
	accs := v.regs(64 / v.bytes)
	for i, acc := range accs {
		v.move(at(lanes, i*v.bytes), acc)
	}
	return accs
}

func sumFloat64(v isa) {
	function("sumFloat64"+v.name, "lanes *[8]float64, a *float64, blocks int", "adds blocks blocks of 8 rows to the lanes.")
	lanes, a, blocks := param("lanes"), param("a"), param("blocks")
	accs := eightLanes(v, lanes)
	loop("loop", blocks, func() {
		for i, acc := range accs {
			VADDPD(at(a, i*v.bytes), acc, acc)
		}
		advance(a, 64)
	})
	for i, acc := range accs {
		v.move(acc, at(lanes, i*v.bytes))
	}
	ret()
}

func sumFloat64Masked(v isa) {
	function("sumFloat64Masked"+v.name, "lanes *[8]float64, a *float64, bm *uint64, words int",
		"adds the rows set in words words to the lanes, none of which is -0.")
	lanes := param("lanes")
	accs := eightLanes(v, lanes)
	maskedWords(v, func(i int, m Mem, _ func() OpmaskVirtual, narrow func() VecVirtual) {
		acc, x := accs[i%len(accs)], v.reg()
		VMASKMOVPD(m, narrow(), x)
		VADDPD(x, acc, acc) // an unset row adds +0
	})
	for i, acc := range accs {
		v.move(acc, at(lanes, i*v.bytes))
	}
	ret()
}

func minMaxInt64(v isa) {
	function("minMaxInt64"+v.name, "a *int64, blocks int, lo *["+label(v.bytes/8)+"]int64, hi *["+label(v.bytes/8)+"]int64",
		label("lowers lo and raises hi, per lane, by blocks blocks of ", 2*v.bytes/8, " rows."))
	a, blocks, plo, phi := param("a"), param("blocks"), param("lo"), param("hi")
	los, his := []VecVirtual{v.load(at(plo, 0)), v.load(at(plo, 0))}, []VecVirtual{v.load(at(phi, 0)), v.load(at(phi, 0))}
	lower := func(x, acc VecVirtual) {
		if v.wide() {
			VPMINSQ(x, acc, acc)
			return
		}
		m := v.reg()
		VPCMPGTQ(x, acc, m)
		VPBLENDVB(m, x, acc, acc)
	}
	raise := func(x, acc VecVirtual) {
		if v.wide() {
			VPMAXSQ(x, acc, acc)
			return
		}
		m := v.reg()
		VPCMPGTQ(acc, x, m)
		VPBLENDVB(m, x, acc, acc)
	}
	loop("loop", blocks, func() {
		for i := range 2 {
			x := v.load(at(a, i*v.bytes))
			lower(x, los[i])
			raise(x, his[i])
		}
		advance(a, 2*v.bytes)
	})
	lower(los[1], los[0])
	raise(his[1], his[0])
	v.move(los[0], at(plo, 0))
	v.move(his[0], at(phi, 0))
	ret()
}

func minMaxInt32() {
	v := avx2
	function("minMaxInt32AVX2", "a *int32, blocks int, lo *[8]int32, hi *[8]int32",
		"lowers lo and raises hi, per lane, by blocks blocks of 16 rows.")
	a, blocks, plo, phi := param("a"), param("blocks"), param("lo"), param("hi")
	los, his := []VecVirtual{v.load(at(plo, 0)), v.load(at(plo, 0))}, []VecVirtual{v.load(at(phi, 0)), v.load(at(phi, 0))}
	loop("loop", blocks, func() {
		for i := range 2 {
			x := v.load(at(a, i*v.bytes))
			VPMINSD(x, los[i], los[i])
			VPMAXSD(x, his[i], his[i])
		}
		advance(a, 2*v.bytes)
	})
	VPMINSD(los[1], los[0], los[0])
	VPMAXSD(his[1], his[0], his[0])
	v.move(los[0], at(plo, 0))
	v.move(his[0], at(phi, 0))
	ret()
}

// minMaxMasked leaves a lane as it is where the row is not set.
func minMaxMasked(e elem) {
	v := avx512
	lanes := v.bytes / e.size
	arg := label("[", lanes, "]", e.name)
	function("minMax"+e.title+"MaskedAVX512", "a *"+e.name+", bm *uint64, words int, lo *"+arg+", hi *"+arg,
		"lowers lo and raises hi, per lane, by the rows set in words words.")
	a, bm, words, plo, phi := param("a"), param("bm"), param("words"), param("lo"), param("hi")
	lo, hi := v.load(at(plo, 0)), v.load(at(phi, 0))
	lower, raise := pick(e.size, nil, nil, VPMINSD, VPMINSQ), pick(e.size, nil, nil, VPMAXSD, VPMAXSQ)
	loop("loop", words, func() {
		for i := range 64 / lanes {
			k, x := K(), v.load(at(a, i*v.bytes))
			if lanes == 8 {
				KMOVB(at(bm, i), k)
			} else {
				KMOVW(at(bm, 2*i), k)
			}
			lower(x, lo, k, lo)
			raise(x, hi, k, hi)
		}
		advance(bm, 8)
		advance(a, 64*e.size)
	})
	v.move(lo, at(plo, 0))
	v.move(hi, at(phi, 0))
	ret()
}

// The minimum and maximum instructions give their second operand when either is NaN: with the accumulator there, NaN
// changes nothing, and is only noted.

func minMaxFloat64(v isa) {
	lanes := label(v.bytes / 8)
	function("minMaxFloat64"+v.name, "a *float64, blocks int, lo *["+lanes+"]float64, hi *["+lanes+"]float64) (nans uint64",
		label("lowers lo and raises hi, per lane, by the numbers among blocks blocks of ", 2*v.bytes/8,
			" rows; nans is not 0 if one was not a number."))
	a, blocks, plo, phi := param("a"), param("blocks"), param("lo"), param("hi")
	lo, hi := v.load(at(plo, 0)), v.load(at(phi, 0))
	var nans VecVirtual
	var kn OpmaskVirtual
	if v.wide() {
		kn = emptyMask()
	} else {
		nans = v.zero()
	}
	loop("loop", blocks, func() {
		x, y := v.load(at(a, 0)), v.load(at(a, v.bytes))
		// One comparison notes NaN in either.
		if v.wide() {
			k := K()
			VCMPPD(Imm(fUnord), y, x, k)
			KORB(k, kn, kn)
		} else {
			n := v.reg()
			VCMPPD(Imm(fUnord), y, x, n)
			VPOR(n, nans, nans)
		}
		for _, x := range []VecVirtual{x, y} {
			VMINPD(lo, x, lo)
			VMAXPD(hi, x, hi)
		}
		advance(a, 2*v.bytes)
	})
	v.move(lo, at(plo, 0))
	v.move(hi, at(phi, 0))
	r := GP64()
	if v.wide() {
		KMOVB(kn, r.As32())
	} else {
		VMOVMSKPD(nans, r.As32())
	}
	Store(r, ReturnIndex(0))
	ret()
}

func emptyMask() OpmaskVirtual {
	r, k := GP64(), K()
	XORQ(r, r)
	KMOVB(r.As32(), k)
	return k
}

func minMaxFloat64Masked() {
	v := avx512
	function("minMaxFloat64MaskedAVX512", "a *float64, bm *uint64, words int, lo *[8]float64, hi *[8]float64) (nans uint64",
		"lowers lo and raises hi, per lane, by the numbers among the rows set in words words; nans is not 0 if one was not a number.")
	plo, phi := param("lo"), param("hi")
	lo, hi := v.load(at(plo, 0)), v.load(at(phi, 0))
	kn := emptyMask()
	maskedWords(v, func(_ int, m Mem, mask func() OpmaskVirtual, _ func() VecVirtual) {
		k, x, n := mask(), v.load(m), K()
		VCMPPD(Imm(fUnord), x, x, k, n)
		KORB(n, kn, kn)
		VMINPD(lo, x, k, lo)
		VMAXPD(hi, x, k, hi)
	})
	v.move(lo, at(plo, 0))
	v.move(hi, at(phi, 0))
	r := GP64()
	KMOVB(kn, r.As32())
	Store(r, ReturnIndex(0))
	ret()
}
