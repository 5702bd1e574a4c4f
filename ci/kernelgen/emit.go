package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// An isa is a width of vector and the instructions whose names depend on it.
type isa struct {
	name  string
	bytes int
}

var (
	avx2   = isa{"AVX2", 32}
	avx512 = isa{"AVX512", 64}
	isas   = []isa{avx2, avx512}
)

func (v isa) wide() bool { return v.bytes == 64 }

func (v isa) reg() VecVirtual {
	if v.wide() {
		return ZMM()
	}
	return YMM()
}

func (v isa) regs(n int) []VecVirtual {
	rs := make([]VecVirtual, n)
	for i := range rs {
		rs[i] = v.reg()
	}
	return rs
}

// move loads, stores or copies a whole vector, at any alignment.
func (v isa) move(src, dst Op) {
	if v.wide() {
		VMOVDQU64(src, dst)
		return
	}
	VMOVDQU(src, dst)
}

func (v isa) load(m Mem) VecVirtual {
	r := v.reg()
	v.move(m, r)
	return r
}

func (v isa) xor(a, b, dst Op) {
	if v.wide() {
		VPXORQ(a, b, dst)
		return
	}
	VPXOR(a, b, dst)
}

func (v isa) or(a, b, dst Op) {
	if v.wide() {
		VPORQ(a, b, dst)
		return
	}
	VPOR(a, b, dst)
}

func (v isa) zero() VecVirtual {
	r := v.reg()
	v.xor(r, r, r)
	return r
}

// broadcast fills a vector with the low size bytes of a general register.
func (v isa) broadcast(r GPVirtual, size int) VecVirtual {
	d := v.reg()
	if v.wide() {
		switch size {
		case 1:
			VPBROADCASTB(r.As32(), d)
		case 2:
			VPBROADCASTW(r.As32(), d)
		case 4:
			VPBROADCASTD(r.As32(), d)
		case 8:
			VPBROADCASTQ(r.As64(), d)
		}
		return d
	}
	x := XMM()
	VMOVQ(r.As64(), x)
	switch size {
	case 1:
		VPBROADCASTB(x, d)
	case 2:
		VPBROADCASTW(x, d)
	case 4:
		VPBROADCASTD(x, d)
	case 8:
		VPBROADCASTQ(x, d)
	}
	return d
}

// constant fills a vector with one value of size bytes.
func (v isa) constant(c uint64, size int) VecVirtual {
	r := GP64()
	MOVQ(U64(c), r)
	return v.broadcast(r, size)
}

// An elem is a Go element type as the instructions see it.
type elem struct {
	title, name     string
	size            int
	unsigned, float bool
}

var (
	int8s    = elem{title: "Int8", name: "int8", size: 1}
	int16s   = elem{title: "Int16", name: "int16", size: 2}
	int32s   = elem{title: "Int32", name: "int32", size: 4}
	int64s   = elem{title: "Int64", name: "int64", size: 8}
	uint8s   = elem{title: "Uint8", name: "uint8", size: 1, unsigned: true}
	uint16s  = elem{title: "Uint16", name: "uint16", size: 2, unsigned: true}
	uint32s  = elem{title: "Uint32", name: "uint32", size: 4, unsigned: true}
	uint64s  = elem{title: "Uint64", name: "uint64", size: 8, unsigned: true}
	float32s = elem{title: "Float32", name: "float32", size: 4, float: true}
	float64s = elem{title: "Float64", name: "float64", size: 8, float: true}
)

// pick gives the instruction for an element size.
func pick[T any](size int, b, w, d, q T) T {
	switch size {
	case 1:
		return b
	case 2:
		return w
	case 4:
		return d
	}
	return q
}

// function starts one; doc follows its name.
func function(name, signature, doc string) {
	TEXT(name, NOSPLIT, "func("+signature+")")
	Pragma("noescape")
	Doc(name + " " + doc)
}

func param(name string) GPVirtual { return Load(Param(name), GP64()).(GPVirtual) }

// at is the memory off bytes after the address in r.
func at(r Register, off int) Mem { return Mem{Base: r, Disp: off} }

// loop runs body n times; n is counted down and may be 0 at first.
func loop(name string, n Register, body func()) {
	TESTQ(n, n)
	JZ(LabelRef(name + "_done"))
	Label(name)
	body()
	DECQ(n)
	JNZ(LabelRef(name))
	Label(name + "_done")
}

func ret() {
	VZEROUPPER()
	RET()
}

var tables = map[string]Mem{}

// table puts bytes into read-only memory, once for each name.
func table(name string, b []byte) Mem {
	if m, ok := tables[name]; ok {
		return m
	}
	m := GLOBL(name, RODATA|NOPTR)
	tables[name] = m
	for i := 0; i < len(b); i += 8 {
		var w uint64
		for j := range 8 {
			w |= uint64(b[i+j]) << (8 * j)
		}
		DATA(i, U64(w))
	}
	return m
}

// dwords is the bytes of little-endian 32-bit values.
func dwords(vs ...uint32) []byte {
	var b []byte
	for _, v := range vs {
		b = append(b, byte(v), byte(v>>8), byte(v>>16), byte(v>>24))
	}
	return b
}

// qwords is the bytes of little-endian 64-bit values.
func qwords(vs ...uint64) []byte {
	var b []byte
	for _, v := range vs {
		b = append(b, dwords(uint32(v), uint32(v>>32))...)
	}
	return b
}

// dwordTable is a vector of 32-bit constants.
func dwordTable(vs ...uint32) Mem {
	name := "dwords"
	for _, x := range vs {
		name += label("_", x)
	}
	return table(name, dwords(vs...))
}

func label(parts ...any) string { return fmt.Sprint(parts...) }

// advance moves a pointer on by n bytes.
func advance(r Op, n int) {
	if n < 128 {
		ADDQ(Imm(uint64(n)), r)
		return
	}
	ADDQ(U32(n), r)
}
