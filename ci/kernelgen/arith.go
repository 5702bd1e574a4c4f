package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// arithVectors is how many vectors an arithmetic loop does a turn.
const arithVectors = 4

// genArith is AVX2 but for absOr: memory bounds the other loops, and wider ones measured the same.
func genArith() {
	for _, e := range []elem{int32s, int64s, float64s} {
		add := arithOp{"add", "a+b", pick(e.size, nil, nil, VPADDD, VPADDQ)}
		sub := arithOp{"sub", "a-b", pick(e.size, nil, nil, VPSUBD, VPSUBQ)}
		mul := arithOp{"mul", "a*b", pick(e.size, nil, nil, VPMULLD, nil)}
		if e.float {
			add.f, sub.f, mul.f = VADDPD, VSUBPD, VMULPD
		}
		arithColumns(avx2, e, add)
		arithColumns(avx2, e, sub)
		arithConstant(avx2, e, add)
		arithConstant(avx2, e, arithOp{"rsub", "b-a", sub.f})
		if e.size == 8 && !e.float {
			mulColumns64()
			mulConstant64()
			continue
		}
		arithColumns(avx2, e, mul)
		arithConstant(avx2, e, mul)
	}
	for _, v := range isas {
		absOr(v, int64s)
	}
	absOr(avx2, int32s)
}

// An arithOp is an instruction that stores y op x for operands in Go's order, x, y, dst.
type arithOp struct {
	name, doc string
	f         func(...Op)
}

func arithColumns(v isa, e elem, op arithOp) {
	columnsLoop(v, e, op, func(a, b VecVirtual) { op.f(b, a, a) })
}

func columnsLoop(v isa, e elem, op arithOp, body func(a, b VecVirtual)) {
	function(op.name+e.title+v.name, "dst *"+e.name+", a *"+e.name+", b *"+e.name+", blocks int",
		label("stores ", op.doc, " for blocks blocks of ", arithVectors*v.bytes/e.size, " rows."))
	dst, a, b, blocks := param("dst"), param("a"), param("b"), param("blocks")
	loop("loop", blocks, func() {
		xs, ys := v.regs(arithVectors), v.regs(arithVectors)
		for i := range xs {
			v.move(at(a, i*v.bytes), xs[i])
			v.move(at(b, i*v.bytes), ys[i])
			body(xs[i], ys[i])
		}
		for i := range xs {
			v.move(xs[i], at(dst, i*v.bytes))
		}
		advance(a, arithVectors*v.bytes)
		advance(b, arithVectors*v.bytes)
		advance(dst, arithVectors*v.bytes)
	})
	ret()
}

func arithConstant(v isa, e elem, op arithOp) {
	constantLoop(v, e, op, func(c VecVirtual) func(a VecVirtual) {
		return func(a VecVirtual) {
			if op.name == "rsub" {
				op.f(a, c, a)
				return
			}
			op.f(c, a, a)
		}
	})
}

func constantLoop(v isa, e elem, op arithOp, setup func(c VecVirtual) func(a VecVirtual)) {
	function(op.name+"Const"+e.title+v.name, "dst *"+e.name+", a *"+e.name+", b "+e.name+", blocks int",
		label("stores ", op.doc, " for blocks blocks of ", arithVectors*v.bytes/e.size, " rows."))
	dst, a, blocks := param("dst"), param("a"), param("blocks")
	c := v.reg()
	if e.float {
		VBROADCASTSD(Load(Param("b"), XMM()), c)
	} else {
		c = v.broadcast(loadInt("b", e), e.size)
	}
	body := setup(c)
	loop("loop", blocks, func() {
		xs := v.regs(arithVectors)
		for i, x := range xs {
			v.move(at(a, i*v.bytes), x)
			body(x)
		}
		for i, x := range xs {
			v.move(x, at(dst, i*v.bytes))
		}
		advance(a, arithVectors*v.bytes)
		advance(dst, arithVectors*v.bytes)
	})
	ret()
}

// AVX2 multiplies 32 bits by 32 only: a*b modulo 2^64 is lo*lo plus the cross products in the high half.

func mulColumns64() {
	columnsLoop(avx2, int64s, arithOp{name: "mul", doc: "a*b"}, func(a, b VecVirtual) { mul64(a, b, a) })
}

func mul64(a, b, dst VecVirtual) {
	ah, bh := YMM(), YMM()
	VPSRLQ(Imm(32), a, ah)
	VPSRLQ(Imm(32), b, bh)
	VPMULUDQ(b, ah, ah)
	VPMULUDQ(a, bh, bh)
	VPADDQ(ah, bh, ah)
	VPSLLQ(Imm(32), ah, ah)
	VPMULUDQ(b, a, dst)
	VPADDQ(ah, dst, dst)
}

func mulConstant64() {
	constantLoop(avx2, int64s, arithOp{name: "mul", doc: "a*b"}, func(c VecVirtual) func(a VecVirtual) {
		ch := YMM()
		VPSRLQ(Imm(32), c, ch)
		return func(a VecVirtual) {
			ah := YMM()
			VPSRLQ(Imm(32), a, ah)
			mulConst64(a, ah, c, ch)
		}
	})
}

// mulConst64 multiplies a by a constant; ah and ch hold the high halves, and ah is lost.
func mulConst64(a, ah, c, ch VecVirtual) {
	cross := YMM()
	VPMULUDQ(c, ah, ah)
	VPMULUDQ(ch, a, cross)
	VPADDQ(ah, cross, cross)
	VPSLLQ(Imm(32), cross, cross)
	VPMULUDQ(c, a, a)
	VPADDQ(cross, a, a)
}

func absOr(v isa, e elem) {
	abs := pick(e.size, nil, nil, VPABSD, VPABSQ)
	function("absOr"+e.title+v.name, "a *"+e.name+", blocks int, lanes *["+label(v.bytes/e.size)+"]u"+e.name,
		label("stores for each lane of a vector the OR of the absolute values of blocks blocks of ", 2*v.bytes/e.size, " rows."))
	a, blocks, lanes := param("a"), param("blocks"), param("lanes")
	accs := []VecVirtual{v.zero(), v.zero()}
	zero := v.zero()
	loop("loop", blocks, func() {
		for i, acc := range accs {
			m, x := at(a, i*v.bytes), v.reg()
			if v.wide() || e.size == 4 {
				abs(m, x)
			} else {
				s := v.reg()
				v.move(m, x)
				VPCMPGTQ(x, zero, s)
				VPXOR(s, x, x)
				VPSUBQ(s, x, x)
			}
			v.or(x, acc, acc)
		}
		advance(a, 2*v.bytes)
	})
	v.or(accs[1], accs[0], accs[0])
	v.move(accs[0], at(lanes, 0))
	ret()
}
