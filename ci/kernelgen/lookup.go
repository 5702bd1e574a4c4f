package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

func genLookup() {
	lookup8Wide()
	lookup8Narrow()
	lookup16Wide("lookup16SmallAVX512", 1)
	lookup16Wide("lookup16LargeAVX512", 4)
	lookupMemory(uint16s)
	lookupMemory(uint32s)
	for _, e := range []elem{uint8s, uint16s, uint32s} {
		maxCode(avx2, e) // wider vectors are no faster
	}
}

const bitOfByte = 0x8040201008040201 // byte i is 1<<i

// lookup8Wide finds the byte of the table by the code's high 5 bits and tests the bit of its low 3. VPERMB looks at 6 bits
// of an index only, so what VPSRLW shifts in from the neighbour does no harm while the table is there twice.
func lookup8Wide() {
	v := avx512
	function("lookup8AVX512", "dst *uint64, codes *uint8, words int, table *[4]uint64",
		"stores words words of the table's bits codes select.")
	dst, codes, words, tab := param("dst"), param("codes"), param("words"), param("table")
	t := v.reg()
	VBROADCASTI64X4(at(tab, 0), t)
	bits := v.constant(bitOfByte, 8)
	loop("loop", words, func() {
		c, x, k := v.load(at(codes, 0)), v.reg(), K()
		VPSRLW(Imm(3), c, x)
		VPERMB(t, x, x)
		VPERMB(bits, c, c)
		VPTESTMB(c, x, k)
		KMOVQ(k, at(dst, 0))
		advance(codes, 64)
		advance(dst, 8)
	})
	ret()
}

// lookup8Narrow has the table as two halves of 16 bytes: VPSHUFB gives 0 where an index has its top bit, which is made to
// be where the other half answers.
func lookup8Narrow() {
	v := avx2
	function("lookup8AVX2", "dst *uint64, codes *uint8, words int, table *[4]uint64",
		"stores words words of the table's bits codes select.")
	dst, codes, words, tab := param("dst"), param("codes"), param("words"), param("table")
	lo, hi := v.reg(), v.reg()
	VBROADCASTI128(at(tab, 0), lo)
	VBROADCASTI128(at(tab, 16), hi)
	bits := v.constant(bitOfByte, 8)
	low5, low3 := v.constant(31, 1), v.constant(7, 1)
	below16, from16 := v.constant(0x70, 1), v.constant(0xf0, 1)
	loop("loop", words, func() {
		acc := GP64()
		for i := range 2 {
			c, at5, x, y := v.load(at(codes, 32*i)), v.reg(), v.reg(), v.reg()
			VPSRLW(Imm(3), c, at5)
			VPAND(low5, at5, at5)
			VPADDB(below16, at5, x)
			VPADDB(from16, at5, y)
			VPSHUFB(x, lo, x)
			VPSHUFB(y, hi, y)
			VPOR(x, y, x)
			VPAND(low3, c, c)
			VPSHUFB(c, bits, c)
			VPAND(c, x, x)
			VPCMPEQB(c, x, x)
			if i == 0 {
				VPMOVMSKB(x, acc.As32())
				continue
			}
			r := GP64()
			VPMOVMSKB(x, r.As32())
			SHLQ(Imm(32), r)
			ORQ(r, acc)
		}
		MOVQ(acc, at(dst, 0))
		advance(codes, 64)
		advance(dst, 8)
	})
	ret()
}

// lookup16Wide keeps the table in pairs of registers of 64 16-bit words each: VPERMI2W picks among a pair by the low 6 bits
// of the word's index, the two bits above choose the pair.
func lookup16Wide(name string, pairs int) {
	v := avx512
	function(name, label("dst *uint64, codes *uint16, words int, table *[", 16*pairs, "]uint64"),
		label("stores words words of the table's bits codes select, 0 for codes from ", 1024*pairs, "."))
	dst, codes, words, tab := param("dst"), param("codes"), param("words"), param("table")
	t := v.regs(2 * pairs)
	for i, r := range t {
		v.move(at(tab, 64*i), r)
	}
	var bitOfWord []byte
	for i := range 32 {
		w := uint16(1) << (i % 16)
		bitOfWord = append(bitOfWord, byte(w), byte(w>>8))
	}
	bits := v.load(table(name+"_bits", bitOfWord))
	limit := v.constant(uint64(1024*pairs), 2)
	var bit6, bit7 VecVirtual
	if pairs > 1 {
		bit6, bit7 = v.constant(1<<6, 2), v.constant(1<<7, 2)
	}
	loop("loop", words, func() {
		k := mergeMasks(2, 32, func(i int) OpmaskVirtual {
			c, index, k := v.load(at(codes, 64*i)), v.reg(), K()
			VPSRLW(Imm(4), c, index)
			xs := v.regs(pairs)
			for j, x := range xs {
				VMOVDQA64(index, x)
				VPERMI2W(t[2*j+1], t[2*j], x)
			}
			if pairs > 1 {
				k6, k7 := K(), K()
				VPTESTMW(bit6, index, k6)
				VPTESTMW(bit7, index, k7)
				VPBLENDMW(xs[1], xs[0], k6, xs[0])
				VPBLENDMW(xs[3], xs[2], k6, xs[2])
				VPBLENDMW(xs[2], xs[0], k7, xs[0])
			}
			const lt = 1
			VPCMPUW(Imm(lt), limit, c, k)
			VPERMW(bits, c, c)
			VPTESTMW(c, xs[0], k, k)
			return k
		})
		KMOVQ(k, at(dst, 0))
		advance(codes, 128)
		advance(dst, 8)
	})
	ret()
}

func maxCode(v isa, e elem) {
	max := pick(e.size, VPMAXUB, VPMAXUW, VPMAXUD, nil)
	function("maxCode"+e.title+v.name, "codes *"+e.name+", blocks int, lanes *[32]byte",
		label("stores for each lane of a vector the largest of blocks blocks of ", 2*v.bytes, " bytes."))
	codes, blocks, lanes := param("codes"), param("blocks"), param("lanes")
	x, y := v.zero(), v.zero()
	loop("loop", blocks, func() {
		max(at(codes, 0), x, x)
		max(at(codes, v.bytes), y, y)
		advance(codes, 2*v.bytes)
	})
	max(y, x, x)
	v.move(x, at(lanes, 0))
	ret()
}

// lookupMemory gathers from a table that does not fit registers, 32 bits at a time.
func lookupMemory(e elem) {
	v := avx512
	function("lookup"+e.title+"AVX512", "dst *uint64, codes *"+e.name+", words int, table *uint64, length int",
		"stores words words of the table's bits codes select, 0 for codes from 64*length; length is below 2^26.")
	dst, codes, words, tab := param("dst"), param("codes"), param("words"), param("table")
	bits := GP64()
	Load(Param("length"), bits)
	SHLQ(Imm(6), bits)
	limit, one := v.broadcast(bits, 4), v.constant(1, 4)
	loop("loop", words, func() {
		k := mergeMasks(4, 16, func(i int) OpmaskVirtual {
			c, index, word := v.reg(), v.reg(), v.zero()
			if e.size == 2 {
				VPMOVZXWD(at(codes, 32*i), c)
			} else {
				v.move(at(codes, 64*i), c)
			}
			const lt = 1
			in, m := K(), K()
			VPCMPUD(Imm(lt), limit, c, in)
			VPSRLD(Imm(5), c, index)
			VPGATHERDD(Mem{Base: tab, Index: index, Scale: 4}, in, word)
			VPROLVD(c, one, c)
			VPTESTMD(c, word, m)
			return m
		})
		KMOVQ(k, at(dst, 0))
		advance(codes, 64*e.size)
		advance(dst, 8)
	})
	ret()
}
