package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// The relations the loops know, in the order of their argument rel; the rest are complements, by flip.
const (
	relEq = iota
	relLt
	relGt
)

// Predicates of VCMPPD and VCMPPS, none of which traps. NaN makes all false but fUnord and fNge.
const (
	fEq    = 0x00
	fUnord = 0x03
	fOrd   = 0x07
	fLt    = 0x11
	fNge   = 0x19
	fGt    = 0x1e
)

func genCompare() {
	for _, v := range isas {
		for _, e := range []elem{int8s, int16s, int32s, int64s, uint8s, uint16s, uint32s, uint64s, float32s, float64s} {
			compareConstant(v, e)
		}
		for _, e := range []elem{int32s, int64s, float64s} {
			compareColumns(v, e)
		}
		between(v, int32s)
		between(v, int64s)
	}
}

func compareConstant(v isa, e elem) {
	name := "compare" + e.title + v.name
	function(name, "dst *uint64, a *"+e.name+", words int, c "+e.name+", rel int, flip uint64",
		"stores words words of (a rel c) ^ flip, where rel is 0 for =, 1 for <, 2 for >. c is not NaN, and NaN is above it.")
	dst, a, words, flip := param("dst"), param("a"), param("words"), param("flip")
	c := compareOperand(v, e)
	relations(name, []int{relEq, relLt, relGt}, func(rel int, label string) {
		sign := compareSign(v, e)
		if sign != nil {
			cs := v.reg()
			v.xor(c, sign, cs)
			compareLoop(v, e, rel, label, dst, a, words, flip, sign, func(int) VecVirtual { return cs }, false)
			return
		}
		compareLoop(v, e, rel, label, dst, a, words, flip, nil, func(int) VecVirtual { return c }, false)
	})
}

// compareOperand loads and broadcasts the argument c.
func compareOperand(v isa, e elem) VecVirtual {
	d := v.reg()
	switch {
	case e.float && e.size == 8:
		VBROADCASTSD(Load(Param("c"), XMM()), d)
		return d
	case e.float:
		VBROADCASTSS(Load(Param("c"), XMM()), d)
		return d
	}
	return v.broadcast(loadInt("c", e), e.size)
}

// loadInt loads an integer argument of any width.
func loadInt(name string, e elem) GPVirtual {
	r := GP64()
	switch e.size {
	case 1:
		Load(Param(name), r.As8())
	case 2:
		Load(Param(name), r.As16())
	case 4:
		Load(Param(name), r.As32())
	case 8:
		Load(Param(name), r)
	}
	return r
}

// compareSign is what turns unsigned order into signed, the only one AVX2 has; nil where it is not needed.
func compareSign(v isa, e elem) VecVirtual {
	if v.wide() || !e.unsigned {
		return nil
	}
	return v.constant(1<<(8*e.size-1), e.size)
}

// relations emits one loop per relation and the jump to it.
func relations(name string, rels []int, body func(rel int, label string)) {
	rel := param("rel")
	for _, r := range rels[1:] {
		CMPQ(rel, Imm(uint64(r)))
		JEQ(LabelRef(label(name, "_rel", r)))
	}
	for i, r := range rels {
		if i > 0 {
			Label(label(name, "_rel", r))
		}
		body(r, label("loop", r))
		ret()
	}
}

// compareLoop compares 64 rows a turn; other gives the right side of the i-th vector of the block.
func compareLoop(v isa, e elem, rel int, name string, dst, a, words, flip GPVirtual, sign VecVirtual, other func(i int) VecVirtual, columns bool) {
	lanes := v.bytes / e.size
	loop(name, words, func() {
		acc := GP64()
		if v.wide() {
			k := mergeMasks(64/lanes, lanes, func(i int) OpmaskVirtual {
				return compareMask(e, rel, at(a, i*v.bytes), other(i), columns)
			})
			KMOVQ(k, acc)
		} else {
			compareBits(v, e, acc, func(i int) VecVirtual {
				return compareVector(v, e, rel, at(a, i*v.bytes), other(i), sign, columns)
			})
		}
		XORQ(flip, acc)
		MOVQ(acc, at(dst, 0))
		advance(dst, 8)
		advance(a, 64*e.size)
	})
}

// mergeMasks joins n masks of some lanes each into one of 64 bits.
func mergeMasks(n, lanes int, mask func(i int) OpmaskVirtual) OpmaskVirtual {
	var merge func(lo, n int) OpmaskVirtual
	merge = func(lo, n int) OpmaskVirtual {
		if n == 1 {
			return mask(lo)
		}
		l := merge(lo, n/2)
		h := merge(lo+n/2, n/2)
		k := K()
		switch n / 2 * lanes {
		case 8:
			KUNPCKBW(l, h, k)
		case 16:
			KUNPCKWD(l, h, k)
		case 32:
			KUNPCKDQ(l, h, k)
		}
		return k
	}
	return merge(0, n)
}

// compareMask is a rel c as a mask. Intel's predicates have c on the left: a < c is c > a.
func compareMask(e elem, rel int, a Mem, c VecVirtual, columns bool) OpmaskVirtual {
	k := K()
	if e.float {
		cmp := pick(e.size, nil, nil, VCMPPS, VCMPPD)
		if !columns {
			cmp(Imm(pick2(rel, fEq, fGt, fNge)), a, c, k)
			return k
		}
		cmp(Imm(pick2(rel, fEq, fGt, fLt)), a, c, k)
		// NaN equals NaN and is greater than everything else.
		va := avx512.load(a)
		x := K()
		switch rel {
		case relEq:
			cmp(Imm(fUnord), c, c, x)
			cmp(Imm(fUnord), va, va, x, x)
		case relLt:
			cmp(Imm(fUnord), c, c, x)
			cmp(Imm(fOrd), va, va, x, x)
		case relGt:
			cmp(Imm(fUnord), va, va, x)
			cmp(Imm(fOrd), c, c, x, x)
		}
		KORB(k, x, k)
		return k
	}
	cmp := pick(e.size, VPCMPB, VPCMPW, VPCMPD, VPCMPQ)
	if e.unsigned {
		cmp = pick(e.size, VPCMPUB, VPCMPUW, VPCMPUD, VPCMPUQ)
	}
	const eq, lt, nle = 0, 1, 6
	cmp(Imm(pick2(rel, eq, nle, lt)), a, c, k)
	return k
}

func pick2(rel int, eq, lt, gt uint64) uint64 {
	switch rel {
	case relEq:
		return eq
	case relLt:
		return lt
	}
	return gt
}

// compareVector is a rel c as all ones or zeros in each lane.
func compareVector(v isa, e elem, rel int, a Mem, c, sign VecVirtual, columns bool) VecVirtual {
	d := v.reg()
	if e.float {
		cmp := pick(e.size, nil, nil, VCMPPS, VCMPPD)
		if !columns {
			cmp(Imm(pick2(rel, fEq, fGt, fNge)), a, c, d)
			return d
		}
		cmp(Imm(pick2(rel, fEq, fGt, fLt)), a, c, d)
		va, x, y := v.load(a), v.reg(), v.reg()
		switch rel {
		case relEq:
			cmp(Imm(fUnord), c, c, x)
			cmp(Imm(fUnord), va, va, y)
		case relLt:
			cmp(Imm(fUnord), c, c, x)
			cmp(Imm(fOrd), va, va, y)
		case relGt:
			cmp(Imm(fUnord), va, va, x)
			cmp(Imm(fOrd), c, c, y)
		}
		VPAND(x, y, x)
		VPOR(x, d, d)
		return d
	}
	eq := pick(e.size, VPCMPEQB, VPCMPEQW, VPCMPEQD, VPCMPEQQ)
	gt := pick(e.size, VPCMPGTB, VPCMPGTW, VPCMPGTD, VPCMPGTQ)
	switch {
	case rel == relEq && sign == nil:
		eq(a, c, d)
	case rel == relLt && sign == nil:
		gt(a, c, d)
	default:
		va := v.reg()
		if sign != nil {
			VPXOR(a, sign, va)
		} else {
			v.move(a, va)
		}
		switch rel {
		case relEq:
			eq(va, c, d)
		case relLt:
			gt(va, c, d)
		case relGt:
			gt(c, va, d)
		}
	}
	return d
}

// compareBits gathers the lanes' signs of one block into acc.
func compareBits(v isa, e elem, acc GPVirtual, vector func(i int) VecVirtual) {
	part := func(i, shift int, movmsk func(GPVirtual)) {
		r := acc
		if i > 0 {
			r = GP64()
		}
		movmsk(r)
		if i > 0 {
			SHLQ(Imm(uint64(shift)), r)
			ORQ(r, acc)
		}
	}
	switch e.size {
	case 1:
		for i := range 2 {
			x := vector(i)
			part(i, 32*i, func(r GPVirtual) { VPMOVMSKB(x, r.As32()) })
		}
	case 2:
		for i := range 2 {
			x, y := vector(2*i), vector(2*i+1)
			VPACKSSWB(y, x, x)
			VPERMQ(Imm(0xd8), x, x) // the pack goes by 128-bit halves
			part(i, 32*i, func(r GPVirtual) { VPMOVMSKB(x, r.As32()) })
		}
	case 4:
		for i := range 8 {
			x := vector(i)
			part(i, 8*i, func(r GPVirtual) { VMOVMSKPS(x, r.As32()) })
		}
	case 8:
		for i := range 16 {
			x := vector(i)
			part(i, 4*i, func(r GPVirtual) { VMOVMSKPD(x, r.As32()) })
		}
	}
}

func compareColumns(v isa, e elem) {
	name := "compareColumns" + e.title + v.name
	function(name, "dst *uint64, a *"+e.name+", b *"+e.name+", words int, rel int, flip uint64",
		"stores words words of (a rel b) ^ flip, where rel is 0 for =, 1 for <, 2 for >, and NaN is above all.")
	dst, a, b, words, flip := param("dst"), param("a"), param("b"), param("words"), param("flip")
	relations(name, []int{relEq, relLt, relGt}, func(rel int, label string) {
		SUBQ(a, b) // b is kept as its distance from a
		compareLoop(v, e, rel, label, dst, a, words, flip, nil, func(i int) VecVirtual {
			return v.load(Mem{Base: a, Index: b, Scale: 1, Disp: i * v.bytes})
		}, true)
	})
}

func between(v isa, e elem) {
	function("between"+e.title+v.name, "dst *uint64, a *"+e.name+", words int, lo "+e.name+", hi "+e.name,
		"stores words words of lo <= a && a <= hi.")
	dst, a, words := param("dst"), param("a"), param("words")
	lo, hi := v.broadcast(loadInt("lo", e), e.size), v.broadcast(loadInt("hi", e), e.size)
	loop("loop", words, func() {
		acc := GP64()
		if v.wide() {
			cmp := pick(e.size, nil, nil, VPCMPD, VPCMPQ)
			lanes := v.bytes / e.size
			k := mergeMasks(64/lanes, lanes, func(i int) OpmaskVirtual {
				const le, nlt = 2, 5
				k, x := K(), v.load(at(a, i*v.bytes))
				cmp(Imm(le), x, lo, k)
				cmp(Imm(nlt), x, hi, k, k)
				return k
			})
			KMOVQ(k, acc)
		} else {
			gt := pick(e.size, nil, nil, VPCMPGTD, VPCMPGTQ)
			compareBits(v, e, acc, func(i int) VecVirtual {
				x, y := v.load(at(a, i*v.bytes)), v.reg()
				gt(x, lo, y)
				gt(hi, x, x)
				VPOR(x, y, x)
				return x
			})
			NOTQ(acc)
		}
		MOVQ(acc, at(dst, 0))
		advance(dst, 8)
		advance(a, 64*e.size)
	})
	ret()
}
