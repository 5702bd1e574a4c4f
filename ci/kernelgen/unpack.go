package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

func genUnpack() {
	for _, e := range []elem{uint8s, uint16s, uint32s} {
		unpackWide(e)
	}
	shuffle := unpackShuffles()
	for _, e := range []elem{uint8s, uint16s, uint32s} {
		unpackNarrow(e, shuffle)
	}
}

// unpackWide does 64 bytes of result a turn, from as many bytes as hold them and not one more: the load is masked. Each
// 64-bit lane gets the 8 bytes its values start in (VPERMB), then each result byte the 8 bits it starts at
// (VPMULTISHIFTQB). That needs the values of a lane, with the bits before them, to fit 64 bits: all widths but 31.
func unpackWide(e elem) {
	v := avx512
	name := "unpack" + e.title + v.name
	perLane, most := 8/e.size, 8*e.size
	var tables []byte
	for width := range most + 1 {
		var perm, shift, mask [64]byte
		for lane := range 8 {
			start := lane * perLane * width
			for b := range 8 {
				perm[lane*8+b] = byte(min(start/8+b, 63))
				value, part := b/e.size, b%e.size
				shift[lane*8+b] = byte(start%8+value*width+part*8) % 64
				mask[lane*8+b] = byte((uint64(1)<<width - 1) >> (8 * part))
			}
		}
		tables = append(append(append(tables, perm[:]...), shift[:]...), mask[:]...)
	}
	function(name, "dst *"+e.name+", src *byte, blocks int, width int",
		label("unpacks blocks blocks of ", 64/e.size, " values; it reads exactly their bytes. width is at least 1 and not 31."))
	data := table(name+"_tables", tables)
	dst, src, blocks, width := param("dst"), param("src"), param("blocks"), param("width")
	p, row := GP64(), GP64()
	LEAQ(data, p)
	IMUL3Q(U32(3*64), width, row)
	ADDQ(row, p)
	perm, shift, mask := v.load(at(p, 0)), v.load(at(p, 64)), v.load(at(p, 128))
	// A block is 64/size values of width bits: width*8/size bytes.
	stride := GP64()
	MOVQ(width, stride)
	SHLQ(Imm(pick(e.size, uint64(3), 2, 1, 0)), stride)
	ones, k := GP64(), K()
	MOVQ(I32(-1), ones)
	BZHIQ(stride, ones, ones)
	KMOVQ(ones, k)
	loop("loop", blocks, func() {
		x := v.reg()
		VMOVDQU8_Z(at(src, 0), k, x)
		VPERMB(x, perm, x)
		VPMULTISHIFTQB(x, shift, x)
		VPANDQ(mask, x, x)
		v.move(x, at(dst, 0))
		ADDQ(stride, src)
		advance(dst, 64)
	})
	ret()
}

// narrowWidth is the largest width whose values, with up to 7 bits before them, fit the 32 bits unpackNarrow shifts in.
const narrowWidth = 25

// unpackShuffles has for each width which bytes 8 values start in, per half of 4, and by how many bits to shift them.
func unpackShuffles() Mem {
	var tables []byte
	for width := range narrowWidth + 1 {
		var shuffle []byte
		var shift []uint32
		for i := range 8 {
			start := i % 4 * width
			if i >= 4 {
				start += 4 * width % 8 // the second half is loaded from the byte it starts in
			}
			for b := range 4 {
				shuffle = append(shuffle, byte(start/8+b))
			}
			shift = append(shift, uint32(start%8))
		}
		tables = append(append(tables, shuffle...), dwords(shift...)...)
	}
	return table("unpackAVX2_tables", tables)
}

// unpackNarrow makes vectors of 8 values of 32 bits from two loads of 16 bytes, and packs them down to the result's size.
func unpackNarrow(e elem, tables Mem) {
	v := avx2
	vectors := 4 / e.size
	function("unpack"+e.title+v.name, "dst *"+e.name+", src *byte, blocks int, width int",
		label("unpacks blocks blocks of ", 8*vectors, " values of 1 to ", narrowWidth,
			" bits. It reads 16 bytes at byte width/2 after the start of a block's last 8 values."))
	dst, src, blocks, width := param("dst"), param("src"), param("blocks"), param("width")
	p, row := GP64(), GP64()
	LEAQ(tables, p)
	MOVQ(width, row)
	SHLQ(Imm(6), row)
	ADDQ(row, p)
	shuffle, shift := v.load(at(p, 0)), v.load(at(p, 32))
	ones := GP64()
	MOVQ(I32(-1), ones)
	BZHIQ(width, ones, ones)
	mask := v.broadcast(ones, 4)
	half := GP64()
	MOVQ(width, half)
	SHRQ(Imm(1), half)
	loop("loop", blocks, func() {
		xs := v.regs(vectors)
		for _, x := range xs {
			VMOVDQU(at(src, 0), x.AsX())
			VINSERTI128(Imm(1), Mem{Base: src, Index: half, Scale: 1}, x, x)
			VPSHUFB(shuffle, x, x)
			VPSRLVD(shift, x, x)
			VPAND(mask, x, x)
			ADDQ(width, src)
		}
		switch vectors {
		case 2:
			VPACKUSDW(xs[1], xs[0], xs[0])
			VPERMQ(Imm(0xd8), xs[0], xs[0])
		case 4:
			VPACKUSDW(xs[1], xs[0], xs[0])
			VPACKUSDW(xs[3], xs[2], xs[2])
			VPACKUSWB(xs[2], xs[0], xs[0])
			order := v.load(dwordTable(0, 4, 1, 5, 2, 6, 3, 7))
			VPERMD(xs[0], order, xs[0])
		}
		v.move(xs[0], at(dst, 0))
		advance(dst, 32)
	})
	ret()
}
