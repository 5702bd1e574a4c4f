// Command wirepeer is what ci/bench transport compares Fletch's transport with: a process that serves record batches, or reads
// and checks them, over bare TCP or by arrow-go's Flight over grpc-go. Fletch's own leg is services/internal/wirebench, which
// takes the same orders.
package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
)

// An order comes as a line of JSON on standard input; standard input's end is the last.
type order struct {
	Op      string // load, run, alloc, profile
	File    string // of load: an Arrow IPC stream; of profile: where to write
	URL     string // of run
	Batches int    // of run
}

// An answer goes as a line of JSON to standard output.
type answer struct {
	URL   string `json:"url,omitempty"`
	Alloc uint64 `json:"alloc,omitempty"` // bytes allocated since the process began
	Error string `json:"error,omitempty"`
}

// A transport is one way to move record batches.
type transport interface {
	serve(p *peer) (url string, err error)
	read(ctx context.Context, url string, batches int, check func(arrow.RecordBatch) error) error
}

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "wirepeer:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	usage := errors.New("usage: wirepeer tcp|flight serve|read; see ci/bench transport")
	if len(os.Args) != 3 {
		return usage
	}
	p := &peer{}
	switch os.Args[1] {
	case "tcp":
		p.transport = tcp{}
	case "flight":
		p.transport = flights{}
	default:
		return usage
	}
	var first answer
	if os.Args[2] == "serve" {
		var err error
		if first.URL, err = p.transport.serve(p); err != nil {
			return err
		}
	}
	out := json.NewEncoder(os.Stdout)
	if err := out.Encode(first); err != nil {
		return err
	}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var o order
		if err := json.Unmarshal(in.Bytes(), &o); err != nil {
			return err
		}
		a, err := p.obey(ctx, o)
		if err != nil {
			a.Error = err.Error()
		}
		if err := out.Encode(a); err != nil {
			return err
		}
	}
	return nil
}

type peer struct {
	transport transport
	batches   atomic.Pointer[[]arrow.RecordBatch]
	sums      []uint64 // of batches
	profile   *os.File
}

func (p *peer) obey(ctx context.Context, o order) (answer, error) {
	switch o.Op {
	case "load":
		return answer{}, p.load(o.File)
	case "alloc":
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return answer{Alloc: m.TotalAlloc}, nil
	case "profile":
		if p.profile == nil {
			f, err := os.Create(o.File)
			if err != nil {
				return answer{}, err
			}
			p.profile = f
			return answer{}, pprof.StartCPUProfile(f)
		}
		pprof.StopCPUProfile()
		return answer{}, p.profile.Close()
	case "run":
		i := 0
		err := p.transport.read(ctx, o.URL, o.Batches, func(rec arrow.RecordBatch) error {
			if checksum(rec) != p.sums[i%len(p.sums)] {
				return fmt.Errorf("batch %d has other values", i)
			}
			i++
			return nil
		})
		if err == nil && i != o.Batches {
			err = fmt.Errorf("%d batches came", i)
		}
		return answer{}, err
	}
	return answer{}, fmt.Errorf("unknown order %q", o.Op)
}

func (p *peer) load(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	r, err := ipc.NewReader(bufio.NewReaderSize(f, 1<<20))
	if err != nil {
		return err
	}
	defer r.Release()
	var batches []arrow.RecordBatch
	p.sums = nil
	for r.Next() {
		rec := r.RecordBatch()
		rec.Retain()
		batches = append(batches, rec)
		p.sums = append(p.sums, checksum(rec))
	}
	p.batches.Store(&batches)
	return r.Err()
}

// checksum looks at every value of rec, which has columns of int64 and of strings without nulls.
func checksum(rec arrow.RecordBatch) uint64 {
	sum := uint64(rec.NumRows())
	for _, c := range rec.Columns() {
		switch c := c.(type) {
		case *array.Int64:
			var s uint64
			for _, v := range c.Int64Values() {
				s += uint64(v)
			}
			sum = sum*31 + s
		case *array.String:
			var s uint64
			for _, o := range c.ValueOffsets() {
				s = s*3 + uint64(o-c.ValueOffsets()[0])
			}
			text := c.ValueBytes()
			for ; len(text) >= 8; text = text[8:] {
				s += binary.LittleEndian.Uint64(text)
			}
			for _, b := range text {
				s = s*31 + uint64(b)
			}
			sum = sum*31 + s
		}
	}
	return sum
}
