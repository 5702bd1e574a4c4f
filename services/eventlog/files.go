package eventlog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Files is what a writer needs of the folder that it writes to, so that tests can take its disk away.
type Files interface {
	// Create makes a file that must not be there yet, for appending, and locks it until it is closed.
	Create(name string) (File, error)
	Rename(from, to string) error
	Remove(name string) error
	// Sync makes creations, renames and removals last.
	Sync() error
}

// A File is appended to.
type File interface {
	Write(b []byte) (int, error)
	// Sync returns when all that was written is on disk.
	Sync() error
	Truncate(size int64) error
	Close() error
}

// folder is a folder of the operating system.
type folder string

// openFolder takes dir for a log, and makes it if it is not there. One that has files in it and no segment among them is some other
// folder, whose name was given by mistake.
func openFolder(dir string) (folder, error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return "", fmt.Errorf("make the event log's folder: %w", err)
	}
	l, err := List(dir)
	if errors.Is(err, ErrNoLog) {
		for _, name := range l.Foreign {
			if !strings.HasPrefix(name, ".") && !strings.HasSuffix(name, ".tmp") && name != "lost+found" {
				return "", fmt.Errorf("%w: %s holds %s and no segment: name an empty folder, or none", ErrNoLog, dir, name)
			}
		}
		return folder(dir), nil
	}
	return folder(dir), err
}

func (d folder) path(name string) string { return filepath.Join(string(d), name) }

func (d folder) Create(name string) (File, error) {
	f, err := os.OpenFile(d.path(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o640)
	if err != nil {
		return nil, err
	}
	if err := lock(f); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", name, err), f.Close(), d.Remove(name))
	}
	return f, nil
}

func (d folder) Rename(from, to string) error {
	if _, err := os.Lstat(d.path(to)); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is there already", to)
	}
	return os.Rename(d.path(from), d.path(to))
}

func (d folder) Remove(name string) error { return os.Remove(d.path(name)) }

func (d folder) Sync() error {
	f, err := os.Open(string(d))
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// bootID is the id of the system's boot, "" where there is none.
func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
