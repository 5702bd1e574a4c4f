// Package datagen makes benchmark data as Parquet files: the tables of TPC-H at any scale factor, with the rows that the
// council's own generator makes, in its order. It is written from the specification's clause 4.2 and never asks for more
// than a seed and a row's number, so it needs no input. It knows nothing of queries, of servers or of the command line.
package datagen

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/write/parquet"
)

// TPCHOptions says what TPCH makes. The zero value is everything at scale factor 1.
type TPCHOptions struct {
	// Scale is the scale factor; default 1, from above 0 up to 10,000. A table of n rows at scale factor 1 has the whole
	// part of n × Scale rows, at least one; region and nation are always the same.
	Scale float64

	Tables      []string            // default all eight
	Threads     int                 // default GOMAXPROCS
	Compression parquet.Compression // default snappy

	// Progress, where it is set, is told of rows written, by one goroutine at a time and at least twice per table: with done
	// 0, and at the end with done equal to total. The total of lineitem is an estimate until then.
	Progress func(table string, done, total int64)
}

// maxScale is well below the 30,000 from which dbgen draws keys from other streams.
const maxScale = 10_000

// TPCHTables are the names that TPCHOptions.Tables may hold, in the order in which they are made.
func TPCHTables() []string {
	names := make([]string, len(tables))
	for i := range tables {
		names[i] = tables[i].name
	}
	return names
}

// TPCH makes one file NAME.parquet per table in dir, which it makes if need be. Files of those names are replaced, all of
// them once the last one is whole; an error, also that of a ctx that ended, leaves dir as it was. The same options make the
// same bytes. Memory stays below some hundred MB whatever the scale.
func TPCH(ctx context.Context, dir string, opts TPCHOptions) error {
	if opts.Scale == 0 {
		opts.Scale = 1
	}
	if !(opts.Scale > 0 && opts.Scale <= maxScale) {
		return sqlerr.Newf(sqlerr.InvalidParameter, sqlerr.Pos{}, "no TPC-H data at scale factor %v", opts.Scale).
			WithHint("use one above 0 and up to %d, such as 0.01 or 1", maxScale)
	}
	if opts.Threads <= 0 {
		opts.Threads = runtime.GOMAXPROCS(0)
	}
	chosen, err := choose(opts.Tables)
	if err != nil {
		return err
	}
	made := !exists(dir)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fileError("making", dir, err)
	}
	var files []partial
	defer func() {
		for _, f := range files {
			os.Remove(f.temporary)
		}
		if made {
			os.Remove(dir) // goes only if it is empty
		}
	}()
	words, err := newText(ctx)
	if err != nil {
		return err
	}
	for _, t := range chosen {
		f := partial{
			temporary: filepath.Join(dir, fmt.Sprintf(".%s.%d.partial", t.name, os.Getpid())),
			final:     filepath.Join(dir, t.name+".parquet"),
		}
		files = append(files, f)
		if err := t.write(ctx, f.temporary, scale(opts.Scale), words, opts); err != nil {
			return err
		}
	}
	for len(files) > 0 {
		if err := os.Rename(files[0].temporary, files[0].final); err != nil {
			return fileError("replacing", files[0].final, err)
		}
		files = files[1:]
	}
	return nil
}

// A partial is a file that is not whole yet: its name until then, and the one it will have.
type partial struct{ temporary, final string }

func choose(names []string) ([]*table, error) {
	var chosen []*table
	for i := range tables {
		if len(names) == 0 || slices.Contains(names, tables[i].name) {
			chosen = append(chosen, &tables[i])
		}
	}
	for _, name := range names {
		if all := TPCHTables(); !slices.Contains(all, name) {
			return nil, sqlerr.Newf(sqlerr.UnknownTable, sqlerr.Pos{}, "TPC-H has no table %q", name).
				WithHint("its tables are %s", strings.Join(all, ", "))
		}
	}
	return chosen, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func fileError(doing, path string, err error) error {
	code := sqlerr.IO
	switch {
	case errors.Is(err, syscall.ENOSPC):
		code = sqlerr.DiskFull
	case errors.Is(err, fs.ErrPermission):
		code = sqlerr.FileDenied
	}
	return sqlerr.Newf(code, sqlerr.Pos{}, "%s %s: %w", doing, path, err)
}

// write makes the table's file.
func (t *table) write(ctx context.Context, path string, s scale, words *text, opts TPCHOptions) (err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o666)
	if err != nil {
		return fileError("making", path, err)
	}
	defer func() {
		if closed := file.Close(); err == nil && closed != nil {
			err = fileError("writing", path, closed)
		}
	}()
	out := bufio.NewWriterSize(file, 1<<20)
	schema := t.schema(t.filler(s, words))
	w, err := parquet.NewWriter(out, schema, parquet.Options{Compression: opts.Compression, Threads: opts.Threads})
	if err != nil {
		return err
	}
	total := t.units(s) * t.perUnit
	progress := func(done, total int64) {
		if opts.Progress != nil {
			opts.Progress(t.name, done, total)
		}
	}
	progress(0, total)
	err = t.batches(ctx, s, words, schema, opts.Threads, func(rec arrow.RecordBatch) error {
		err := w.Write(rec)
		progress(w.Rows(), max(total, w.Rows()))
		return err
	})
	if err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	if err := out.Flush(); err != nil {
		return fileError("writing", path, err)
	}
	progress(w.Rows(), w.Rows())
	return nil
}

// batches makes the table on threads goroutines and gives it to write in order, on this one. A batch is good for the time
// of the call. No goroutine outlives batches.
func (t *table) batches(
	ctx context.Context, s scale, words *text, schema *arrow.Schema, threads int, write func(arrow.RecordBatch) error,
) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel(nil)

	// A slot is a filler with what became of its last units. They go round: idle, at work, and, in the order of the units,
	// through the writer.
	type slot struct {
		filler   filler
		from, to int64
		done     chan struct{}
	}
	slots := threads + 1
	idle, work, order := make(chan *slot, slots), make(chan *slot, slots), make(chan *slot, slots)
	for range slots {
		idle <- &slot{filler: t.filler(s, words), done: make(chan struct{}, 1)}
	}
	wg.Go(func() {
		defer close(work)
		defer close(order)
		units := t.units(s)
		for from := int64(0); from < units; from += t.batch {
			select {
			case sl := <-idle:
				sl.from, sl.to = from, min(from+t.batch, units)
				work <- sl
				order <- sl
			case <-ctx.Done():
				return
			}
		}
	})
	for range threads {
		wg.Go(func() {
			for sl := range work {
				if ctx.Err() == nil {
					for _, c := range sl.filler.columns() {
						c.reset()
					}
					sl.filler.fill(sl.from, sl.to)
				}
				sl.done <- struct{}{}
			}
		})
	}
	for sl := range order {
		select {
		case <-sl.done:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
		if err := write(record(schema, sl.filler)); err != nil {
			return err
		}
		idle <- sl
	}
	return context.Cause(ctx)
}

func record(schema *arrow.Schema, f filler) arrow.RecordBatch {
	columns := f.columns()
	arrays := make([]arrow.Array, len(columns))
	for i, c := range columns {
		arrays[i] = c.array()
	}
	return array.NewRecordBatch(schema, arrays, int64(columns[0].len()))
}
