package parquet

import (
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
	"unsafe"

	"github.com/fletchdb/fletch/engine/vector/kernel"
)

// A hybrid reads numbers of width bits in Parquet's mix of runs: one value repeated, or groups of eight values packed.
type hybrid struct {
	b     []byte // what follows the present run
	width uint
	limit uint64 // every number must be below

	left   int    // values of the present run
	packed []byte // the present run from its first value, nil if it is one value repeated
	at     int    // of a packed run: values before
	value  uint32 // of a repeated one
}

var (
	errRun  = errors.New("a run of codes or levels is cut short")
	errCode = errors.New("a code is beyond the dictionary")
)

// reset begins with the runs in b. Numbers of no bits are 0 and need no runs.
func (h *hybrid) reset(b []byte, width uint, limit uint64) {
	*h = hybrid{b: b, width: width, limit: limit}
	if width == 0 {
		h.left = math.MaxInt
		h.b = nil
	}
}

// next begins the next run.
func (h *hybrid) next() error {
	header, n := binary.Uvarint(h.b)
	if n <= 0 {
		return errRun
	}
	h.b = h.b[n:]
	count := header >> 1
	if count == 0 || count > maxPageValues {
		return errRun
	}
	if header&1 == 0 {
		size := int(h.width+7) / 8
		if len(h.b) < size {
			return errRun
		}
		v := uint32(0)
		for i := range size {
			v |= uint32(h.b[i]) << (8 * i)
		}
		h.b = h.b[size:]
		h.left, h.packed, h.value = int(count), nil, v
		return nil
	}
	// The last group of a page may lack the bytes that no value needs.
	size := min(int(count)*int(h.width), len(h.b))
	h.left = min(int(count)*8, size*8/int(h.width))
	h.packed, h.at = h.b[:size], 0
	h.b = h.b[size:]
	if h.left == 0 {
		return errRun
	}
	return nil
}

func (h *hybrid) skip(n int) error {
	for n > 0 {
		if h.left == 0 {
			if err := h.next(); err != nil {
				return err
			}
		}
		k := min(n, h.left)
		h.at += k
		h.left -= k
		n -= k
	}
	return nil
}

// readCodes reads len(dst) codes, all below h.limit.
func readCodes[C uint8 | uint16 | uint32](h *hybrid, dst []C) error {
	for len(dst) > 0 {
		if h.left == 0 {
			if err := h.next(); err != nil {
				return err
			}
		}
		n := min(len(dst), h.left)
		out := dst[:n]
		dst = dst[n:]
		h.left -= n
		if h.packed == nil {
			if uint64(h.value) >= h.limit {
				return errCode
			}
			fill(out, C(h.value))
			continue
		}
		if h.width > 8*uint(unsafe.Sizeof(*new(C))) {
			if err := narrowCodes(h, out); err != nil {
				return err
			}
			continue
		}
		check := out
		for len(out) > 0 {
			if off := h.at % 8; off != 0 { // in the middle of a group
				var group [8]C
				b := h.packed[h.at/8*int(h.width):]
				unpack(group[:min(8, len(b)*8/int(h.width))], b, h.width)
				k := copy(out, group[off:])
				h.at += k
				out = out[k:]
				continue
			}
			k := len(out)
			if k > 8 {
				k &^= 7
			}
			unpack(out[:k], h.packed[h.at/8*int(h.width):], h.width)
			h.at += k
			out = out[k:]
		}
		if uint64(1)<<h.width > h.limit && maxCode(check) >= h.limit {
			return errCode
		}
	}
	return nil
}

// narrowCodes reads codes that are packed in more bits than a dictionary of this size needs.
func narrowCodes[C uint8 | uint16 | uint32](h *hybrid, dst []C) error {
	var group [8]uint32
	for len(dst) > 0 {
		b := h.packed[h.at/8*int(h.width):]
		have := min(8, len(b)*8/int(h.width))
		kernel.Unpack32(group[:have], b, h.width)
		for _, c := range group[h.at%8 : have] {
			if len(dst) == 0 {
				break
			}
			if uint64(c) >= h.limit {
				return errCode
			}
			dst[0] = C(c)
			dst = dst[1:]
			h.at++
		}
	}
	return nil
}

// unpack is the kernel of C's width.
func unpack[C uint8 | uint16 | uint32](dst []C, src []byte, width uint) {
	switch p := unsafe.Pointer(unsafe.SliceData(dst)); unsafe.Sizeof(*new(C)) {
	case 1:
		kernel.Unpack8(unsafe.Slice((*uint8)(p), len(dst)), src, width)
	case 2:
		kernel.Unpack16(unsafe.Slice((*uint16)(p), len(dst)), src, width)
	default:
		kernel.Unpack32(unsafe.Slice((*uint32)(p), len(dst)), src, width)
	}
}

func maxCode[C uint8 | uint16 | uint32](codes []C) uint64 {
	switch p := unsafe.Pointer(unsafe.SliceData(codes)); unsafe.Sizeof(*new(C)) {
	case 1:
		return uint64(kernel.MaxCode8(unsafe.Slice((*uint8)(p), len(codes))))
	case 2:
		return uint64(kernel.MaxCode16(unsafe.Slice((*uint16)(p), len(codes))))
	}
	return uint64(kernel.MaxCode32(unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(codes))), len(codes))))
}

func fill[T any](dst []T, v T) {
	if len(dst) == 0 {
		return
	}
	dst[0] = v
	for n := 1; n < len(dst); n *= 2 {
		copy(dst[n:], dst[:n])
	}
}

// readBits reads n numbers of one bit into dst from bit at on, whose bits there are 0, and counts those set.
func (h *hybrid) readBits(dst []uint64, at, n int) (set int, err error) {
	for n > 0 {
		if h.left == 0 {
			if err := h.next(); err != nil {
				return set, err
			}
		}
		k := min(n, h.left)
		switch {
		case h.packed != nil:
			set += copyBits(dst, at, h.packed, h.at, k)
			h.at += k
		case h.value == 1:
			kernel.SetRange(dst, at, at+k)
			set += k
		case h.value > 1:
			return set, errors.New("a level is too high")
		}
		h.left -= k
		at += k
		n -= k
	}
	return set, nil
}

// skipBits passes over n numbers of one bit and counts those set.
func (h *hybrid) skipBits(n int) (set int, err error) {
	for n > 0 {
		if h.left == 0 {
			if err := h.next(); err != nil {
				return set, err
			}
		}
		k := min(n, h.left)
		switch {
		case h.packed != nil:
			set += countBits(h.packed, h.at, k)
			h.at += k
		case h.value == 1:
			set += k
		case h.value > 1:
			return set, errors.New("a level is too high")
		}
		h.left -= k
		n -= k
	}
	return set, nil
}

// loadBits is up to 64 bits of src from bit at on; those past the k-th are anything, k ≤ 56 or at a multiple of 8.
func loadBits(src []byte, at int) uint64 {
	i := at / 8
	if i+8 <= len(src) {
		return binary.LittleEndian.Uint64(src[i:]) >> (at % 8)
	}
	var w uint64
	for j, b := range src[i:] {
		w |= uint64(b) << (8 * j)
	}
	return w >> (at % 8)
}

// copyBits puts n bits of src, from bit from on, to dst from bit at on, whose bits there are 0, and counts those set.
func copyBits(dst []uint64, at int, src []byte, from, n int) (set int) {
	for n > 0 {
		k := min(n, 64-at%64)
		if from%8 != 0 {
			k = min(k, 56)
		}
		w := loadBits(src, from) & (^uint64(0) >> (64 - k))
		dst[at/64] |= w << (at % 64)
		set += bits.OnesCount64(w)
		at += k
		from += k
		n -= k
	}
	return set
}

func countBits(src []byte, from, n int) (set int) {
	for n > 0 {
		k := min(n, 64)
		if from%8 != 0 {
			k = min(k, 56)
		}
		set += bits.OnesCount64(loadBits(src, from) & (^uint64(0) >> (64 - k)))
		from += k
		n -= k
	}
	return set
}

// spread moves the k first elements of s to the places where valid, from bit at on, has its k bits set, and leaves legal
// values – one of the k, or zero – in between. It goes from the end, so that no element is overwritten before it moved.
func spread[T any](s []T, k int, valid []uint64, at int) {
	if k < len(s) {
		s[k] = *new(T) // what the rows after the last value get
	}
	for i := len(s) - 1; i >= 0 && k <= i; i-- {
		k -= int(valid[(at+i)/64] >> ((at + i) % 64) & 1)
		s[i] = s[k]
	}
}

// spreadBits is spread for a bitmap from bit at on, up to n rows.
func spreadBits(s []uint64, at, n, k int, valid []uint64) {
	for i := n - 1; i >= 0 && k <= i; i-- {
		var b uint64
		if valid[(at+i)/64]>>((at+i)%64)&1 != 0 {
			k--
			b = s[(at+k)/64] >> ((at + k) % 64) & 1
		}
		w, off := (at+i)/64, (at+i)%64
		s[w] = s[w]&^(1<<off) | b<<off
	}
}
