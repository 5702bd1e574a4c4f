package parquet

import "encoding/binary"

// appendHybrid writes codes of width bits as Parquet's mix of repeated runs and bit-packed groups of eight. Repeats shorter
// than minRun are packed: they would save little space and cost the reader a change of run.
func appendHybrid(dst []byte, codes []uint32, width int) []byte {
	if width == 0 {
		return appendRun(dst, len(codes), 0, 0)
	}
	minRun := max(16, 128/width)
	literals := 0 // start of the codes that are not written yet
	for i := 0; i < len(codes); {
		j := i + 1
		for v := codes[i]; j < len(codes) && codes[j] == v; {
			j++
		}
		fill := -(i - literals) & 7 // codes of this run that complete the group of eight before it
		if j-i-fill >= minRun {
			dst = appendPacked(dst, codes[literals:i+fill], width)
			dst = appendRun(dst, j-i-fill, codes[i], width)
			literals = j
		}
		i = j
	}
	return appendPacked(dst, codes[literals:], width)
}

func appendRun(dst []byte, n int, code uint32, width int) []byte {
	if n == 0 {
		return dst
	}
	dst = binary.AppendUvarint(dst, uint64(n)<<1)
	for ; width > 0; width -= 8 {
		dst = append(dst, byte(code))
		code >>= 8
	}
	return dst
}

func appendPacked(dst []byte, codes []uint32, width int) []byte {
	if len(codes) == 0 {
		return dst
	}
	groups := (len(codes) + 7) / 8
	dst = binary.AppendUvarint(dst, uint64(groups)<<1|1)
	var word uint64
	held := 0
	for _, v := range codes {
		word |= uint64(v) << held
		held += width
		if held >= 32 {
			dst = binary.LittleEndian.AppendUint32(dst, uint32(word))
			word >>= 32
			held -= 32
		}
	}
	held += (groups*8 - len(codes)) * width // zeros that complete the last group
	for ; held > 0; held -= 8 {
		dst = append(dst, byte(word))
		word >>= 8
	}
	return dst
}
