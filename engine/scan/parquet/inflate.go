package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// An inflater decompresses pages for one goroutine and keeps what its codecs need between them.
type inflater struct {
	zstd   *zstd.Decoder
	gzip   *gzip.Reader
	brotli *brotli.Reader
	src    bytes.Reader
}

var errSize = errors.New("a page does not have the size that it says")

// inflate decompresses src, which must give exactly dst.
func (z *inflater) inflate(dst, src []byte, c codec) error {
	if len(dst) == 0 {
		return nil // some writers compress nothing to nothing
	}
	n, err := z.into(dst, src, c)
	if err == nil && n != len(dst) {
		return errSize
	}
	return err
}

func (z *inflater) into(dst, src []byte, c codec) (int, error) {
	switch c {
	case codecSnappy:
		if n, err := snappy.DecodedLen(src); err != nil || n != len(dst) {
			return n, err
		}
		out, err := snappy.Decode(dst, src)
		return len(out), err
	case codecZstd:
		if z.zstd == nil {
			d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true))
			if err != nil {
				return 0, err
			}
			z.zstd = d
		}
		out, err := z.zstd.DecodeAll(src, dst[:0:len(dst)])
		return len(out), err
	case codecGzip:
		z.src.Reset(src)
		if z.gzip == nil {
			z.gzip = new(gzip.Reader)
		}
		if err := z.gzip.Reset(&z.src); err != nil {
			return 0, err
		}
		return readExactly(z.gzip, dst)
	case codecBrotli:
		z.src.Reset(src)
		if z.brotli == nil {
			z.brotli = brotli.NewReader(nil)
		}
		if err := z.brotli.Reset(&z.src); err != nil {
			return 0, err
		}
		return readExactly(z.brotli, dst)
	case codecLZ4Raw:
		return lz4.UncompressBlock(src, dst)
	case codecLZ4:
		return lz4Frames(dst, src)
	}
	return 0, fmt.Errorf("the codec %v is not supported", c)
}

// readExactly is len(dst) only if r gives so many bytes and then ends.
func readExactly(r io.Reader, dst []byte) (int, error) {
	n, err := io.ReadFull(r, dst)
	if err != nil {
		return n, err
	}
	var more [1]byte
	if k, err := io.ReadFull(r, more[:]); k > 0 || !errors.Is(err, io.EOF) {
		return n + k, err
	}
	return n, nil
}

// lz4Frames reads what Hadoop calls LZ4: blocks, each after its two sizes in big-endian. Some writers left the sizes out.
func lz4Frames(dst, src []byte) (int, error) {
	done := 0
	for rest := src; ; {
		if len(rest) == 0 && done == len(dst) {
			return done, nil
		}
		if len(rest) < 8 {
			break
		}
		size, packed := binary.BigEndian.Uint32(rest), binary.BigEndian.Uint32(rest[4:])
		if uint64(size) > uint64(len(dst)-done) || uint64(packed) > uint64(len(rest)-8) {
			break
		}
		n, err := lz4.UncompressBlock(rest[8:8+packed], dst[done:done+int(size)])
		if err != nil || n != int(size) {
			break
		}
		done += n
		rest = rest[8+packed:]
	}
	return lz4.UncompressBlock(src, dst)
}

// Close frees the codecs.
func (z *inflater) Close() {
	if z.zstd != nil {
		z.zstd.Close()
		z.zstd = nil
	}
}
