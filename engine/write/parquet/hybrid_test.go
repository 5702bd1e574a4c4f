package parquet

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
)

// decodeHybrid is the format's definition, bit by bit. It returns nil for what does not end with the bytes.
func decodeHybrid(b []byte, n, width int) []uint32 {
	var out []uint32
	for len(b) > 0 {
		head, size := binary.Uvarint(b)
		b = b[size:]
		count, bytes := int(head>>1), (width+7)/8
		if head&1 == 1 {
			count, bytes = count*8, count*width
		}
		if len(b) < bytes {
			return nil
		}
		for i := range count {
			at := 0
			if head&1 == 1 {
				at = i * width
			}
			var v uint32
			for bit := range width {
				v |= uint32(b[(at+bit)/8]>>((at+bit)%8)&1) << bit
			}
			out = append(out, v)
		}
		b = b[bytes:]
	}
	if len(out) < n || len(out) > n+7 {
		return nil
	}
	return out[:n]
}

func TestHybrid(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for width := range 21 {
		for _, longest := range []int{1, 30, 500} {
			var codes []uint32
			for len(codes) < 5000 {
				v := uint32(r.Uint64N(1 << width))
				for range 1 + r.IntN(longest) {
					codes = append(codes, v)
				}
			}
			for _, n := range []int{1, 7, 8, 9, 100, len(codes)} {
				got := appendHybrid(nil, codes[:n], width)
				if !slices.Equal(decodeHybrid(got, n, width), codes[:n]) {
					t.Fatalf("%d codes of %d bits in runs to %d do not come back", n, width, longest)
				}
			}
			if got := appendHybrid(nil, codes, width); longest == 500 && len(got) > len(codes)*width/32+100 {
				t.Errorf("runs of %d bits take %d bytes", width, len(got))
			}
		}
	}
}
