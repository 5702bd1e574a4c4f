package parquet

import (
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"

	"github.com/fletchdb/fletch/engine/sqlerr"
)

// codec compresses pages, for many goroutines at once.
type codec struct {
	id   int32
	zstd *zstd.Encoder
}

func newCodec(c Compression, threads int) (*codec, error) {
	switch c {
	case Snappy:
		return &codec{id: codecSnappy}, nil
	case None:
		return &codec{id: codecNone}, nil
	case Zstd:
		// Pages carry a checksum of their own, and a window larger than a page is of no use.
		e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(threads), zstd.WithEncoderCRC(false),
			zstd.WithWindowSize(1<<20), zstd.WithZeroFrames(true))
		if err != nil {
			return nil, sqlerr.Newf(sqlerr.Internal, sqlerr.Pos{}, "starting zstd: %w", err)
		}
		return &codec{id: codecZstd, zstd: e}, nil
	}
	return nil, sqlerr.Newf(sqlerr.InvalidParameter, sqlerr.Pos{}, "no Parquet %s", c).WithHint("use snappy, zstd or none")
}

// compress appends nothing: it returns src compressed, in the memory of dst where that is enough.
func (c *codec) compress(dst, src []byte) []byte {
	if c.id == codecZstd {
		return c.zstd.EncodeAll(src, dst[:0])
	}
	return s2.EncodeSnappy(dst[:cap(dst)], src)
}

// inParallel runs f(0) … f(n-1) on up to threads goroutines, the caller's among them, and returns one of their errors.
func inParallel(threads, n int, f func(int) error) error {
	if threads <= 1 || n <= 1 {
		for i := range n {
			if err := f(i); err != nil {
				return err
			}
		}
		return nil
	}
	var (
		next   atomic.Int64
		failed atomic.Pointer[error]
		wg     sync.WaitGroup
	)
	work := func() {
		for failed.Load() == nil {
			i := int(next.Add(1)) - 1
			if i >= n {
				return
			}
			if err := f(i); err != nil {
				failed.CompareAndSwap(nil, &err)
			}
		}
	}
	for range min(threads, n) - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}
