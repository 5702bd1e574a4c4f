package rollout

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	apiv1 "github.com/fletchdb/fletch/gen/go/fletch/api/v1"
)

// maxFile is the most bytes that are read of a rollout file.
const maxFile = 64 << 10

// A Conflict says that the policy in force is not the one that the caller of Set saw.
type Conflict struct{ Now Policy }

func (e *Conflict) Error() string {
	return fmt.Sprintf("the policy was changed meanwhile: revision %d is in force, %s", e.Now.Revision, e.Now)
}

// A Store keeps the policy in force: in a file that coordinators share, or in memory. Its methods may be called from any goroutine.
type Store struct {
	path string

	disk sync.Mutex // held while the file is read or written, which may take long
	read []byte     // what the file held when it was last good; disk is held

	mu     sync.Mutex // never held while waiting for the disk: every query asks for the policy
	policy Policy
	broken error // why the file is not followed; nil: it is
}

// Open makes a store of the file at path, or of memory for "". Where there is no file, initial is in force until there is one. A file
// that is broken is an error: which policy was meant is not known yet.
func Open(path string, initial Policy) (*Store, error) {
	if err := initial.Check(); err != nil {
		return nil, err
	}
	s := &Store{path: path, policy: initial}
	if path == "" {
		return s, nil
	}
	content, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(filepath.Dir(path)); err != nil {
			return nil, fmt.Errorf("rollout file: %w", err)
		}
		return s, nil
	}
	if err != nil {
		return nil, fmt.Errorf("rollout file: %w", err)
	}
	s.policy, err = parse(content)
	if err != nil {
		return nil, fmt.Errorf("rollout file %s: %w", path, err)
	}
	s.read = content
	return s, nil
}

// Path is the file, "" for memory.
func (s *Store) Path() string { return s.path }

// Policy is the policy in force, and why the file is not what it says, if it is not.
func (s *Store) Policy() (Policy, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.policy, s.broken
}

// Refresh reads the file again, and tells whether the policy in force or what is wrong with the file has changed. A file that cannot
// be read, or holds no policy that this build knows, changes the former never.
func (s *Store) Refresh() (changed bool) {
	if s.path == "" {
		return false
	}
	s.disk.Lock()
	defer s.disk.Unlock()
	return s.refresh()
}

// refresh is Refresh. s.disk is held.
func (s *Store) refresh() (changed bool) {
	content, err := readFile(s.path)
	if errors.Is(err, fs.ErrNotExist) && s.read == nil {
		err = nil // there is none yet
	} else if err == nil && (s.read == nil || !bytes.Equal(content, s.read)) {
		var p Policy
		if p, err = parse(content); err == nil {
			s.read = content
			s.mu.Lock()
			defer s.mu.Unlock()
			s.policy, s.broken = p, nil
			return true
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	changed = (err == nil) != (s.broken == nil) || err != nil && err.Error() != s.broken.Error()
	s.broken = err
	return changed
}

// Set replaces the policy in force, if its revision is still p's, else it gives a *Conflict. The policy gets the next revision. The
// file is written under a lock that all coordinators take, and appears whole or not at all.
func (s *Store) Set(ctx context.Context, p Policy) (Policy, error) {
	if err := p.Check(); err != nil {
		return Policy{}, err
	}
	if s.path != "" {
		unlock, err := lock(ctx, s.path+".lock")
		if err != nil {
			return Policy{}, fmt.Errorf("lock the rollout file: %w", err)
		}
		defer unlock()
	}
	s.disk.Lock()
	defer s.disk.Unlock()
	if s.path != "" {
		s.refresh()
	}
	if now, _ := s.Policy(); p.Revision != now.Revision {
		return Policy{}, &Conflict{now}
	}
	p.Revision++
	p.Changed = time.Now()
	if s.path != "" {
		content, err := write(s.path, p)
		if err != nil {
			return Policy{}, fmt.Errorf("write the rollout file: %w", err)
		}
		s.read = content
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.policy, s.broken = p, nil
	return p, nil
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	content, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(content) > maxFile {
		err = fmt.Errorf("it has more than %d bytes", maxFile)
	}
	return content, err
}

func parse(content []byte) (Policy, error) {
	var m apiv1.Rollout
	if err := protojson.Unmarshal(content, &m); err != nil {
		return Policy{}, fmt.Errorf("it holds no policy: %w", err)
	}
	return FromMessage(&m)
}

func write(path string, p Policy) ([]byte, error) {
	content, err := protojson.MarshalOptions{Multiline: true}.Marshal(p.Message())
	if err != nil {
		return nil, err
	}
	content = append(content, '\n')
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(f.Name()) }() // gone already where all went well
	_, err = f.Write(content)
	err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close())
	if err != nil {
		return nil, err
	}
	return content, os.Rename(f.Name(), path)
}

// lock takes the lock that the file at path stands for, and waits for it until ctx ends. The system gives it back if the process dies.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	retry := time.NewTicker(10 * time.Millisecond)
	defer retry.Stop()
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(err, f.Close())
		}
		select {
		case <-retry.C:
		case <-ctx.Done():
			return nil, errors.Join(context.Cause(ctx), f.Close())
		}
	}
}
