// Package lock reads, writes and checks the lock of a release: the list of what was frozen, each file by its SHA-256, the trees
// it was frozen from, and the previous release's lock, so that the releases form a chain. It must never know what the files mean.
package lock

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Name is the name of a lock in its release's folder.
const Name = "lock"

// A Lock is what a release froze.
type Lock struct {
	Release  string
	Previous string // the release before, "" for the first
	Chain    string // SHA-256 of the previous release's lock
	Buf      string // version of buf that compiled the baselines, may be empty
	Trees    []Tree
	Surfaces []Surface
	Files    map[string]string // path in the release's folder, with slashes, to SHA-256
	Fixtures map[string]string // path in the repository to SHA-256: files that stay where they are
}

// A Tree is a folder of the sources and its git tree hash.
type Tree struct{ Folder, Hash string }

// A Surface is how a surface was configured.
type Surface struct {
	Name, Policy, Path string
	Option             string   // full name of its version option, "-" for none
	Versions           string   // as people read them
	Rules              []string // ascending
}

// Image is the path of a surface's baseline in a release's folder.
func Image(surface string) string { return surface + ".binpb" }

// Vectors is the folder of a surface's golden vectors in a release's folder.
func Vectors(surface string) string { return "vectors/" + surface }

// Sum is the SHA-256 of data in hex.
func Sum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Surface is the surface of that name.
func (l *Lock) Surface(name string) (Surface, bool) {
	i := slices.IndexFunc(l.Surfaces, func(s Surface) bool { return s.Name == name })
	if i < 0 {
		return Surface{}, false
	}
	return l.Surfaces[i], true
}

const banner = "# Frozen by protogate release. protogate check refuses every change to it and to what it lists."

// Text is the lock as it is written. It is the same for the same lock.
func (l *Lock) Text() string {
	var b strings.Builder
	line := func(fields ...string) { fmt.Fprintln(&b, strings.Join(fields, " ")) }
	line(banner)
	line("release", l.Release)
	if l.Previous != "" {
		line("previous", l.Previous, l.Chain)
	}
	if l.Buf != "" {
		line("buf", l.Buf)
	}
	for _, t := range l.Trees {
		line("tree", t.Hash, t.Folder)
	}
	for _, s := range l.Surfaces {
		line("surface", s.Name, s.Policy, s.Path, s.Option, strconv.Quote(s.Versions), strings.Join(s.Rules, ","))
	}
	for _, p := range sorted(l.Files) {
		line("file", l.Files[p], p)
	}
	for _, p := range sorted(l.Fixtures) {
		line("fixture", l.Fixtures[p], p)
	}
	return b.String()
}

func sorted(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// Parse reads a lock. It refuses whatever Text would not have written.
func Parse(text string) (*Lock, error) {
	l := &Lock{Files: map[string]string{}, Fixtures: map[string]string{}}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		key, rest, _ := strings.Cut(line, " ")
		a, b, _ := strings.Cut(rest, " ")
		switch key {
		case "#":
		case "release":
			l.Release = a
		case "previous":
			l.Previous, l.Chain = a, b
		case "buf":
			l.Buf = a
		case "tree":
			l.Trees = append(l.Trees, Tree{Folder: b, Hash: a})
		case "surface":
			s, err := parseSurface(rest)
			if err != nil {
				return nil, err
			}
			l.Surfaces = append(l.Surfaces, s)
		case "file":
			l.Files[b] = a
		case "fixture":
			l.Fixtures[b] = a
		default:
			return nil, fmt.Errorf("the line %q is none of a lock", line)
		}
	}
	if l.Text() != text {
		return nil, errors.New("it is not as protogate release writes it")
	}
	return l, nil
}

func parseSurface(rest string) (s Surface, err error) {
	fields := strings.SplitN(rest, " ", 5)
	if len(fields) != 5 {
		return s, fmt.Errorf("the surface %q is cut off", rest)
	}
	s = Surface{Name: fields[0], Policy: fields[1], Path: fields[2], Option: fields[3]}
	quoted, err := strconv.QuotedPrefix(fields[4])
	if err != nil {
		return s, fmt.Errorf("the surface %q has no version in quotes", rest)
	}
	s.Versions, err = strconv.Unquote(quoted)
	if err != nil {
		return s, err
	}
	s.Rules = strings.Split(strings.TrimPrefix(fields[4][len(quoted):], " "), ",")
	return s, nil
}

var version = regexp.MustCompile(`^v(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)$`)

// CheckVersion tells why s cannot be a release: it is vX.Y.Z.
func CheckVersion(s string) error {
	if !version.MatchString(s) {
		return fmt.Errorf("%q is no release: write vX.Y.Z", s)
	}
	return nil
}

// Compare orders two releases by their numbers.
func Compare(a, b string) int {
	x, y := version.FindStringSubmatch(a), version.FindStringSubmatch(b)
	for i := 1; i < len(x) && i < len(y); i++ {
		if d := len(x[i]) - len(y[i]); d != 0 {
			return d
		}
		if d := strings.Compare(x[i], y[i]); d != 0 {
			return d
		}
	}
	return 0
}

// A Release is a folder of frozen files with its lock.
type Release struct {
	Dir  string // absolute
	Lock *Lock
	Sum  string // SHA-256 of the lock
}

// A Fault is something that is not as its lock says.
type Fault struct {
	Kind    Kind
	Release string
	Path    string // in the folder of releases; of a fixture in the repository
	Message string
}

// A Kind is a kind of fault.
type Kind string

// The kinds of faults.
const (
	Unreadable Kind = "unreadable" // a lock that is no lock
	Missing    Kind = "missing"
	Changed    Kind = "changed"
	Unlisted   Kind = "unlisted"
	Unchained  Kind = "unchained" // the previous release is not the one that was there
)

// Load reads all releases below dir, oldest first, and tells what is not as the locks say. No folder is no release. root is where
// fixtures stand.
func Load(root, dir string) (releases []*Release, faults []Fault, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the releases: %w", err)
	}
	for _, e := range entries {
		if !e.IsDir() || CheckVersion(e.Name()) != nil {
			faults = append(faults, Fault{Unlisted, "", e.Name(), "it is no release"})
			continue
		}
		r, found, err := load(root, filepath.Join(dir, e.Name()), e.Name())
		if err != nil {
			return nil, nil, err
		}
		faults = append(faults, found...)
		if r != nil {
			releases = append(releases, r)
		}
	}
	slices.SortFunc(releases, func(a, b *Release) int { return Compare(a.Lock.Release, b.Lock.Release) })
	for i, r := range releases {
		previous, chain := "", ""
		if i > 0 {
			previous, chain = releases[i-1].Lock.Release, releases[i-1].Sum
		}
		if r.Lock.Previous != previous || r.Lock.Chain != chain {
			was := "none"
			if r.Lock.Previous != "" {
				was = fmt.Sprintf("%s with a lock of SHA-256 %.12s…", r.Lock.Previous, r.Lock.Chain)
			}
			now := "none"
			if previous != "" {
				now = fmt.Sprintf("%s with a lock of SHA-256 %.12s…", previous, chain)
			}
			faults = append(faults, Fault{Unchained, r.Lock.Release, r.Lock.Release + "/" + Name, fmt.Sprintf("the release before it was %s, and is now %s", was, now)})
		}
	}
	return releases, faults, nil
}

func load(root, dir, name string) (*Release, []Fault, error) {
	text, err := os.ReadFile(filepath.Join(dir, Name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, []Fault{{Missing, name, name + "/" + Name, "a release has a lock, and it is not there"}}, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the lock of %s: %w", name, err)
	}
	l, wrong := parseAs(name, string(text))
	if wrong != "" {
		return nil, []Fault{{Unreadable, name, name + "/" + Name, wrong}}, nil
	}
	var faults []Fault
	have, err := Files(dir)
	if err != nil {
		return nil, nil, err
	}
	delete(have, Name)
	faults = append(faults, compare(name, name+"/", l.Files, have)...)
	for _, p := range sorted(have) {
		if _, ok := l.Files[p]; !ok {
			faults = append(faults, Fault{Unlisted, name, name + "/" + p, "the lock does not list it"})
		}
	}
	fixtures := map[string]string{}
	for p := range l.Fixtures {
		data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(p)))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, fmt.Errorf("read fixture: %w", err)
		}
		if err == nil {
			fixtures[p] = Sum(data)
		}
	}
	faults = append(faults, compare(name, "", l.Fixtures, fixtures)...)
	return &Release{dir, l, Sum(text)}, faults, nil
}

// parseAs reads the lock of a release; wrong says why it is none.
func parseAs(release, text string) (l *Lock, wrong string) {
	l, err := Parse(text)
	switch {
	case err != nil:
		return nil, err.Error()
	case l.Release != release:
		return nil, "it is the lock of " + l.Release
	}
	return l, ""
}

func compare(release, prefix string, want, have map[string]string) []Fault {
	var faults []Fault
	for _, p := range sorted(want) {
		switch sum, ok := have[p]; {
		case !ok:
			faults = append(faults, Fault{Missing, release, prefix + p, "the lock lists it, and it is not there"})
		case sum != want[p]:
			faults = append(faults, Fault{Changed, release, prefix + p, fmt.Sprintf("its SHA-256 is %.12s…, the lock says %.12s…", sum, want[p])})
		}
	}
	return faults
}

// Files are the files below dir with their SHA-256, by path with slashes.
func Files(dir string) (map[string]string, error) {
	sums := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		sums[filepath.ToSlash(rel)] = Sum(data)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the frozen files: %w", err)
	}
	return sums, nil
}
