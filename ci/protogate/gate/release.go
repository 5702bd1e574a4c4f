package gate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/fletchdb/fletch/ci/protogate/config"
	"github.com/fletchdb/fletch/ci/protogate/git"
	"github.com/fletchdb/fletch/ci/protogate/image"
	"github.com/fletchdb/fletch/ci/protogate/lock"
	"github.com/fletchdb/fletch/ci/protogate/verdict"
)

// A Frozen is what a release wrote, as paths of the repository.
type Frozen struct {
	Folder string
	Pages  []string // written or changed beside it
}

// Release freezes the tree as a release: it writes the folder of baselines, vectors and lock, and the pages for people. The tree
// must be committed and pass the check; if it does not pass, the check's result says why and nothing is written. What is written
// is left to be committed as one commit that changes nothing else.
func Release(ctx context.Context, opts Options, version string) (*Frozen, *Result, error) {
	if err := lock.CheckVersion(version); err != nil {
		return nil, nil, err
	}
	c, err := newCheck(opts)
	if err != nil {
		return nil, nil, err
	}
	if last := c.release(); last != "" && lock.Compare(version, last) <= 0 {
		return nil, nil, fmt.Errorf("%s is not after %s, which is released", version, last)
	}
	repo := c.repo()
	if repo.History(ctx) != git.Full {
		return nil, nil, errors.New("a release needs a git repository with its whole history: git fetch --unshallow")
	}
	dirty, err := repo.Dirty(ctx)
	if err != nil {
		return nil, nil, err
	}
	if len(dirty) > 0 {
		const shown = 8
		return nil, nil, fmt.Errorf("the tree is dirty: a release is frozen from a commit, so commit or remove\n  %s", strings.Join(dirty[:min(len(dirty), shown)], "\n  "))
	}
	changelog, err := c.changelog(version)
	if err != nil {
		return nil, nil, err
	}
	r := Check(ctx, opts)
	if r.Verdict != Pass {
		return nil, r, nil
	}
	folder := path.Join(c.cfg.Released, version)
	l, err := c.freeze(ctx, version, c.path(folder))
	if err != nil {
		return nil, r, err
	}
	out := &Frozen{Folder: folder}
	for _, page := range []struct{ path, text string }{
		{under(c.cfg.Docs.Upgrading, version), upgrading(version, r)},
		{under(c.cfg.Docs.Checklists, version), checklist(version, folder, l, c.cfg)},
		{c.cfg.Docs.Changelog, changelog},
	} {
		if page.path == "" {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(c.path(page.path)), 0o777); err != nil {
			return nil, r, err
		}
		if err := os.WriteFile(c.path(page.path), []byte(page.text), 0o666); err != nil {
			return nil, r, err
		}
		out.Pages = append(out.Pages, page.path)
	}
	return out, r, nil
}

func under(folder, version string) string {
	if folder == "" {
		return ""
	}
	return path.Join(folder, version+".md")
}

// freeze writes the folder of a release: all of it or nothing.
func (c *check) freeze(ctx context.Context, version, dir string) (_ *lock.Lock, err error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
		return nil, err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), ".release-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	if err := os.Chmod(tmp, 0o755); err != nil {
		return nil, err
	}
	l := &lock.Lock{Release: version, Buf: c.cfg.Buf.Version, Fixtures: map[string]string{}}
	if last := c.last(); last != nil {
		l.Previous, l.Chain = last.Lock.Release, last.Sum
	}
	hashes, err := c.repo().Trees(ctx, "HEAD", c.cfg.Trees)
	if err != nil {
		return nil, err
	}
	for i, t := range c.cfg.Trees {
		if hashes[i] == "" {
			return nil, fmt.Errorf("HEAD has no folder %s, whose tree %s wants to name", t, c.file)
		}
		l.Trees = append(l.Trees, lock.Tree{Folder: t, Hash: hashes[i]})
	}
	for _, s := range c.cfg.Surfaces {
		data, err := c.image(ctx, s)
		if err != nil {
			return nil, err
		}
		im, err := image.Parse(data)
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(tmp, lock.Image(s.Name)), data, 0o666); err != nil {
			return nil, err
		}
		rules := slices.Sorted(slices.Values(s.Rules))
		l.Surfaces = append(l.Surfaces, lock.Surface{Name: s.Name, Policy: string(s.Policy), Path: s.Path, Option: option(s), Versions: describe(s, c.versions(s, im)), Rules: rules})
		if err := c.freezeVectors(ctx, s, tmp); err != nil {
			return nil, err
		}
		if err := c.freezeFixtures(s, l); err != nil {
			return nil, err
		}
	}
	if l.Files, err = lock.Files(tmp); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(tmp, lock.Name), []byte(l.Text()), 0o666); err != nil {
		return nil, err
	}
	return l, os.Rename(tmp, dir)
}

func (c *check) freezeVectors(ctx context.Context, s config.Surface, tmp string) error {
	if len(s.Vectors) == 0 {
		return nil
	}
	dir := filepath.Join(tmp, filepath.FromSlash(lock.Vectors(s.Name)))
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	if err := c.writeVectors(ctx, s, dir, ""); err != nil {
		return err
	}
	written, err := lock.Files(dir)
	if err == nil && len(written) == 0 {
		err = fmt.Errorf("%s wrote no golden vector", strings.Join(s.Vectors, " "))
	}
	return err
}

// freezeFixtures locks the files that builds of this and older versions wrote, where they stand.
func (c *check) freezeFixtures(s config.Surface, l *lock.Lock) error {
	if s.Fixtures == "" {
		return nil
	}
	for _, f := range c.match(s.Fixtures, "*") {
		data, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(c.opts.Root, f)
		if err != nil {
			return err
		}
		l.Fixtures[filepath.ToSlash(rel)] = lock.Sum(data)
	}
	return nil
}

// describe is the versions of a surface as a lock and its pages say them.
func describe(s config.Surface, versions []verdict.Version) string {
	if s.Version == "" {
		return "no version"
	}
	var parts []string
	for _, v := range versions {
		name := s.Version[strings.LastIndexByte(s.Version, '.')+1:]
		if s.Policy == config.Stable {
			name = v.Package + " " + name
		}
		parts = append(parts, fmt.Sprintf("%s %d", name, v.Value))
	}
	return strings.Join(parts, ", ")
}

var unreleased = regexp.MustCompile(`(?m)^## Unreleased.*$`)

// changelog is the changelog with its unreleased part under the release's name.
func (c *check) changelog(version string) (string, error) {
	if c.cfg.Docs.Changelog == "" {
		return "", nil
	}
	text, err := os.ReadFile(c.path(c.cfg.Docs.Changelog))
	if err != nil {
		return "", fmt.Errorf("read the changelog: %w", err)
	}
	at := unreleased.FindIndex(text)
	if at == nil {
		return "", fmt.Errorf("%s has no heading \"## Unreleased\" that could become %s", c.cfg.Docs.Changelog, version)
	}
	return string(text[:at[0]]) + "## Unreleased\n\n## " + version + string(text[at[1]:]), nil
}

const blank = "…"

// upgrading is the page for those who come from the last release. What the gate knows stands in it; the rest is to be written.
func upgrading(version string, r *Result) string {
	var b strings.Builder
	if r.Release == "" {
		fmt.Fprintf(&b, "# %s\n\nThe first release: there is nothing to upgrade from. What it promises to the next one:\n\n| surface | policy | version |\n| --- | --- | --- |\n", version)
		for _, s := range r.Surfaces {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", s.Name, s.Policy, current(s))
		}
		return b.String()
	}
	fmt.Fprintf(&b, "# Upgrading from %s to %s\n\n| surface | %s | %s | changes |\n| --- | --- | --- | --- |\n", r.Release, version, r.Release, version)
	for _, s := range r.Surfaces {
		before := "–"
		if s.State != New {
			before = describe(config.Surface{Policy: s.Policy, Version: s.Option}, s.Released)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %d breaks, %d additions |\n", s.Name, before, current(s), len(verdict.Of(verdict.Distinct(s.Findings), verdict.Break)), len(verdict.Of(s.Findings, verdict.Addition)))
	}
	for _, s := range r.Surfaces {
		if len(s.Findings) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n- Old: %s\n- New: %s\n- Who notices: %s\n- How to stay: %s\n\nWhat the gate found:\n\n", s.Name, blank, blank, blank, blank)
		for _, f := range verdict.Distinct(s.Findings) {
			fmt.Fprintf(&b, "- %s: %s\n", f.Class, f.Message)
		}
	}
	return b.String()
}

func current(s Surface) string {
	return describe(config.Surface{Policy: s.Policy, Version: s.Option}, s.Current)
}

// checklist is what is left to do for people, in order.
func checklist(version, folder string, l *lock.Lock, cfg *config.Config) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Release %s\n\nFrozen in `%s`:\n\n| surface | policy | version | golden vectors |\n| --- | --- | --- | --- |\n", version, folder)
	for _, s := range l.Surfaces {
		n := 0
		for p := range l.Files {
			if strings.HasPrefix(p, lock.Vectors(s.Name)+"/") {
				n++
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %d |\n", s.Name, s.Policy, s.Versions, n)
	}
	b.WriteString("\nSources, by their git trees:\n\n")
	for _, t := range l.Trees {
		fmt.Fprintf(&b, "- `%s` %s\n", t.Folder, t.Hash)
	}
	b.WriteString("\nTo do:\n\n")
	step := func(format string, args ...any) { fmt.Fprintf(&b, "- [ ] "+format+"\n", args...) }
	if cfg.Docs.Upgrading != "" && l.Previous != "" {
		step("write what is left open (%s) in `%s`: old, new, who notices, how to stay", blank, under(cfg.Docs.Upgrading, version))
	}
	if cfg.Docs.Changelog != "" {
		step("read what stands under %s in `%s` as someone who upgrades", version, cfg.Docs.Changelog)
	}
	step("commit what `protogate release` wrote, and nothing else: `git add %s && git commit -m \"Release %s\"`", strings.Join(written(folder, version, cfg), " "), version)
	step("`protogate check` passes, and says that the history was checked")
	step("`protogate commit %s` prints the commit: tag it", version)
	return b.String()
}

func written(folder, version string, cfg *config.Config) []string {
	paths := []string{folder}
	for _, p := range []string{under(cfg.Docs.Upgrading, version), under(cfg.Docs.Checklists, version), cfg.Docs.Changelog} {
		if p != "" {
			paths = append(paths, p)
		}
	}
	return paths
}

// ErrShallow says that the history is not all there.
var ErrShallow = errors.New("this is a shallow clone, whose history does not say which commit is the oldest: git fetch --unshallow")

// Commit is the commit of a release: the oldest one that has its lock and the trees that it names.
func Commit(ctx context.Context, opts Options, version string) (string, error) {
	if err := lock.CheckVersion(version); err != nil {
		return "", err
	}
	file := opts.Config
	var err error
	if file == "" {
		if file, err = config.Find(opts.Root); err != nil {
			return "", err
		}
	}
	cfg, err := config.Load(opts.Root, file)
	if err != nil {
		return "", err
	}
	repo := git.Repo{Dir: opts.Root}
	switch repo.History(ctx) {
	case git.Shallow:
		return "", ErrShallow
	case git.None:
		return "", errors.New("there is no git repository, or no commit in it")
	case git.Full:
	}
	folder := path.Join(cfg.Released, version)
	text, err := os.ReadFile(filepath.Join(opts.Root, filepath.FromSlash(folder), lock.Name))
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s is not released: there is no %s/%s", version, folder, lock.Name)
	}
	if err != nil {
		return "", err
	}
	l, err := lock.Parse(string(text))
	if err != nil {
		return "", fmt.Errorf("%s/%s cannot be trusted: %w", folder, lock.Name, err)
	}
	added, err := repo.Added(ctx, folder+"/"+lock.Name)
	if err != nil {
		return "", err
	}
	first := added[folder+"/"+lock.Name]
	if first == "" {
		return "", fmt.Errorf("%s is frozen and not yet committed", version)
	}
	commit, err := released(ctx, repo, &lock.Release{Lock: l}, first, folder)
	if err != nil {
		return "", err
	}
	changes, err := repo.Changed(ctx, commit, folder)
	if err != nil {
		return "", err
	}
	if len(changes) > 0 {
		return "", fmt.Errorf("%s is not what commit %.12s has: protogate check says more", changes[0].Path, commit)
	}
	return commit, nil
}
