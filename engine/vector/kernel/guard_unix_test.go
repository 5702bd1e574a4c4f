//go:build unix

package kernel

import (
	"os"
	"syscall"
	"testing"
	"unsafe"
)

// guarded gives n elements that end exactly where memory that faults begins, so that a kernel which reads or writes past
// its slice kills the test. They start as garbage.
func guarded[T any](t testing.TB, n int) []T {
	var zero T
	size := n * int(unsafe.Sizeof(zero))
	page := os.Getpagesize()
	length := (size + page - 1) / page * page
	mem, err := syscall.Mmap(-1, 0, length+page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Munmap(mem); err != nil {
			t.Error(err)
		}
	})
	if err := syscall.Mprotect(mem[length:], syscall.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	for i := range length {
		mem[i] = byte(i*7 + 1)
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(mem[length-size:]))), n)
}
