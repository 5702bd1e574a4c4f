package eventlog

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

var errFull = errors.New("no space left on device")

// A disk is a folder in memory that forgets, when its power is cut, what was not synced, and that can be full.
type disk struct {
	mu    sync.Mutex
	names map[string]*diskFile // as processes see it
	kept  map[string]*diskFile // as it is after a loss of power
	full  bool
	room  int // bytes that fit although it is full
	fails error
	held  chan struct{} // while it is open, Sync waits
}

func newDisk() *disk {
	return &disk{names: map[string]*diskFile{}, kept: map[string]*diskFile{}}
}

type diskFile struct {
	d            *disk
	data, synced []byte
	closed       bool
}

func (d *disk) Create(name string) (File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.full {
		return nil, errFull
	}
	if d.names[name] != nil {
		return nil, os.ErrExist
	}
	f := &diskFile{d: d}
	d.names[name] = f
	return f, nil
}

func (d *disk) Rename(from, to string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.names[to] = d.names[from]
	delete(d.names, from)
	return nil
}

func (d *disk) Remove(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.names[name] == nil {
		return os.ErrNotExist
	}
	delete(d.names, name)
	return nil
}

func (d *disk) Sync() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.kept = map[string]*diskFile{}
	for n, f := range d.names {
		d.kept[n] = f
	}
	return nil
}

func (f *diskFile) Write(b []byte) (int, error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if f.d.full && len(b) > f.d.room {
		n := f.d.room
		f.data = append(f.data, b[:n]...)
		f.d.room = 0
		return n, errFull
	}
	if f.d.full {
		f.d.room -= len(b)
	}
	f.data = append(f.data, b...)
	return len(b), nil
}

func (f *diskFile) Sync() error {
	f.d.mu.Lock()
	held := f.d.held
	f.d.mu.Unlock()
	if held != nil {
		<-held
	}
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if f.d.fails != nil {
		return f.d.fails
	}
	f.synced = append([]byte(nil), f.data...)
	return nil
}

func (f *diskFile) Truncate(size int64) error {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	f.d.room += len(f.data) - int(size)
	f.data = f.data[:size]
	return nil
}

func (f *diskFile) Close() error { f.closed = true; return nil }

// now writes what processes see into a folder.
func (d *disk) now(t *testing.T) string {
	return d.dump(t, d.names, func(f *diskFile) []byte { return f.data })
}

// powerLoss writes what is left when the power goes into a folder. Of the bytes that were not synced some may be there all the same.
func (d *disk) powerLoss(t *testing.T, also int) string {
	return d.dump(t, d.kept, func(f *diskFile) []byte { return f.data[:min(len(f.data), len(f.synced)+also)] })
}

func (d *disk) dump(t *testing.T, names map[string]*diskFile, content func(*diskFile) []byte) string {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	dir := t.TempDir()
	for n, f := range names {
		if err := os.WriteFile(filepath.Join(dir, n), content(f), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
