//go:build unix

package eventlog

import (
	"errors"
	"os"
	"syscall"
)

// lock takes the file for this process, until it is closed.
func lock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }

// lockedByOther tells whether a writer has the file; known is false where the file system does not say.
func lockedByOther(f *os.File) (held, known bool) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	switch {
	case err == nil:
		_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
		return false, true
	case errors.Is(err, syscall.EWOULDBLOCK):
		return true, true
	}
	return false, false
}
