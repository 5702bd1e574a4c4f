package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

// transcode appends to dst the values of a page, of which there are at most n, as PLAIN would write them. Only PLAIN
// and dictionary codes are worth decoders of their own: what writers choose for their other encodings is rare, and pays
// one more pass over it. width is the bytes of a value, 0 for BYTE_ARRAY.
func transcode(dst, src []byte, enc encoding, typ physType, width, n int) ([]byte, error) {
	size := len(src)
	var err error
	switch {
	case enc == encDeltaBinary && (typ == typeInt32 || typ == typeInt64):
		dst, _, err = deltaBinary(dst, src, width, n)
	case enc == encDeltaLength && typ == typeByteArray:
		dst, err = deltaLength(dst, src, n)
	case enc == encDeltaByteArray && (typ == typeByteArray || typ == typeFixed):
		dst, err = deltaByteArray(dst, src, width, n)
	case enc == encByteStreamSplit && width > 0:
		dst, err = byteStreamSplit(dst, src, width)
	case enc == encRLE && typ == typeBoolean:
		dst, err = runsOfBools(dst, src, n)
	default:
		return nil, fmt.Errorf("a page of %v with the encoding %v", typ, enc)
	}
	if err == nil && !sane(len(dst), size) {
		err = errBomb
	}
	return dst, err
}

var (
	errDelta = errors.New("a page of deltas is cut short or makes no sense")
	errBomb  = errors.New("a page has far more values than its size allows")
)

// deltaBinary appends the numbers of a DELTA_BINARY_PACKED run as width bytes each, and gives what follows the run.
func deltaBinary(dst, src []byte, width, most int) (out, rest []byte, err error) {
	u := func() uint64 {
		v, n := binary.Uvarint(src)
		if n <= 0 {
			err = errDelta
			return 0
		}
		src = src[n:]
		return v
	}
	z := func() int64 {
		v := u()
		return int64(v>>1) ^ -int64(v&1)
	}
	size := len(src)
	block, minis, total, value := u(), u(), u(), z()
	switch {
	case err != nil:
		return dst, nil, err
	case block == 0 || block%128 != 0 || minis == 0 || block%minis != 0 || block/minis%32 != 0 || block > 1<<20:
		return dst, nil, errDelta
	case total > uint64(most):
		return dst, nil, errBomb
	case total == 0:
		return dst, src, nil
	}
	put := func() {
		if width == 4 {
			dst = binary.LittleEndian.AppendUint32(dst, uint32(value))
		} else {
			dst = binary.LittleEndian.AppendUint64(dst, uint64(value))
		}
	}
	put()
	left := int(total) - 1
	perMini := int(block / minis)
	for left > 0 {
		least := z()
		if err != nil || uint64(len(src)) < minis {
			return dst, nil, errDelta
		}
		widths := src[:minis]
		src = src[minis:]
		for _, w := range widths {
			if left == 0 {
				break // the widths of what is not there mean nothing
			}
			if w > 64 {
				return dst, nil, errDelta
			}
			if !sane(len(dst), size) {
				return dst, nil, errBomb
			}
			need := perMini * int(w) / 8
			n := min(left, perMini)
			if len(src) < need && len(src) < (n*int(w)+7)/8 {
				return dst, nil, errDelta
			}
			if w == 0 {
				for range n {
					value += least
					put()
				}
			} else {
				mask := ^uint64(0) >> (64 - w)
				for i := range n {
					value += least + int64(bits64(src, i*int(w), int(w))&mask)
					put()
				}
			}
			left -= n
			src = src[min(need, len(src)):]
		}
	}
	return dst, src, nil
}

// bits64 is w bits of src from bit at on, and anything above them.
func bits64(src []byte, at, w int) uint64 {
	v := loadBits(src, at)
	if have := 64 - at%8; have < w {
		v = v&(^uint64(0)>>(64-have)) | uint64(src[at/8+8])<<have
	}
	return v
}

// lengths reads a run of n DELTA_BINARY_PACKED lengths, as four bytes each.
func lengths(src []byte, n int) (lens, rest []byte, err error) {
	lens, rest, err = deltaBinary(nil, src, 4, n)
	for i := 0; err == nil && i < len(lens); i += 4 {
		if int32(binary.LittleEndian.Uint32(lens[i:])) < 0 {
			err = errDelta
		}
	}
	return lens, rest, err
}

func deltaLength(dst, src []byte, n int) ([]byte, error) {
	lens, src, err := lengths(src, n)
	for ; err == nil && len(lens) > 0; lens = lens[4:] {
		k := int(binary.LittleEndian.Uint32(lens))
		if k > len(src) {
			return dst, errDelta
		}
		dst = append(append(dst, lens[:4]...), src[:k]...)
		src = src[k:]
	}
	return dst, err
}

func deltaByteArray(dst, src []byte, width, n int) ([]byte, error) {
	size := len(src)
	prefixes, src, err := lengths(src, n)
	if err != nil {
		return dst, err
	}
	suffixes, src, err := lengths(src, n)
	if err != nil {
		return dst, err
	}
	if len(prefixes) != len(suffixes) {
		return dst, errDelta
	}
	from, to := 0, 0 // the value before, in dst
	for ; len(prefixes) > 0; prefixes, suffixes = prefixes[4:], suffixes[4:] {
		p, s := int(binary.LittleEndian.Uint32(prefixes)), int(binary.LittleEndian.Uint32(suffixes))
		if p > to-from || s > len(src) || width > 0 && p+s != width {
			return dst, errDelta
		}
		if !sane(len(dst)+p+s, size) {
			return dst, errBomb
		}
		if width == 0 {
			dst = binary.LittleEndian.AppendUint32(dst, uint32(p+s))
		}
		at := len(dst)
		dst = append(append(dst, dst[from:from+p]...), src[:s]...)
		src = src[s:]
		from, to = at, len(dst)
	}
	return dst, nil
}

func byteStreamSplit(dst, src []byte, width int) ([]byte, error) {
	if len(src)%width != 0 {
		return dst, errPageEnd
	}
	n := len(src) / width
	at := len(dst)
	dst = append(dst, src...) // for its length
	out := dst[at:]
	switch width {
	case 4:
		a, b, c, d := src[:n], src[n:2*n], src[2*n:3*n], src[3*n:4*n]
		for i := range a {
			binary.LittleEndian.PutUint32(out[4*i:], uint32(a[i])|uint32(b[i])<<8|uint32(c[i])<<16|uint32(d[i])<<24)
		}
	default:
		for j := range width {
			stream := src[j*n : (j+1)*n]
			for i, b := range stream {
				out[i*width+j] = b
			}
		}
	}
	return dst, nil
}

// runsOfBools appends the truth values of an RLE page as a bitmap.
func runsOfBools(dst, src []byte, n int) ([]byte, error) {
	if len(src) < 4 {
		return dst, errPageEnd
	}
	size := binary.LittleEndian.Uint32(src)
	if uint64(size) > uint64(len(src)-4) {
		return dst, errPageEnd
	}
	if !sane(n/8, len(src)) {
		return dst, errBomb
	}
	var h hybrid
	h.reset(src[4:4+size], 1, 2)
	words := make([]uint64, (n+63)/64)
	at := 0
	for at < n && (h.left > 0 || len(h.b) > 0) { // fewer than n are values where some are NULL
		if h.left == 0 {
			if err := h.next(); err != nil {
				return dst, err
			}
		}
		k := min(n-at, h.left)
		if _, err := h.readBits(words, at, k); err != nil {
			return dst, err
		}
		at += k
	}
	for i := 0; i < at; i += 8 {
		dst = append(dst, byte(words[i/64]>>(i%64)))
	}
	return dst, nil
}

// reverseBytes turns levels that are packed from the highest bit down into ones packed from the lowest up.
func reverseBytes(dst, src []byte) []byte {
	for _, b := range src {
		dst = append(dst, bits.Reverse8(b))
	}
	return dst
}
