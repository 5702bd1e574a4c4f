package gate

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/fletchdb/fletch/ci/protogate/config"
	"github.com/fletchdb/fletch/ci/protogate/git"
	"github.com/fletchdb/fletch/ci/protogate/lock"
	"github.com/fletchdb/fletch/ci/protogate/verdict"
)

// repository judges what belongs to no single surface: the frozen files, the configuration, the history.
func (c *check) repository(ctx context.Context, r *Result) {
	for _, f := range c.faults {
		if v, ok := c.fault(f); ok {
			r.Repository = append(r.Repository, v)
		}
	}
	if !c.opts.Loosen {
		r.Repository = append(r.Repository, c.loosened()...)
	}
	if c.opts.NoHistory {
		r.History = "not checked: --no-history; whether a frozen file was changed together with its lock is not known"
		return
	}
	c.history(ctx, r)
}

// fault is the verdict on a frozen file that is not as its lock says. A missing baseline of the last release is none: the gate
// cannot decide without it, and says so of the surface.
func (c *check) fault(f lock.Fault) (verdict.Verdict, bool) {
	full := path.Join(c.cfg.Released, f.Path)
	fixture := f.Release != "" && !strings.HasPrefix(f.Path, f.Release+"/")
	if fixture {
		full = f.Path
	}
	back := "git checkout HEAD -- " + full
	v := verdict.Verdict{Path: full, Next: []string{back, "if HEAD has it changed already, take it from the commit of the release: protogate commit " + f.Release}}
	switch {
	case f.Kind == lock.Missing && f.Release == c.release() && slices.ContainsFunc(c.cfg.Surfaces, func(s config.Surface) bool { return f.Path == f.Release+"/"+lock.Image(s.Name) }):
		return v, false
	case f.Kind == lock.Missing && fixture:
		v.ID, v.Message = verdict.FixtureDeleted, fmt.Sprintf("The fixture %s was deleted: %s froze it as proof that what was written then can still be read.", full, f.Release)
	case f.Kind == lock.Changed && fixture:
		v.ID, v.Message = verdict.FixtureTouched, fmt.Sprintf("The fixture %s was changed: %s. It is what a build of %s wrote, and no later one can write it.", full, f.Message, f.Release)
	case f.Kind == lock.Missing && strings.HasSuffix(f.Path, "/"+lock.Name):
		v.ID, v.Message = verdict.LockBroken, fmt.Sprintf("The lock %s is not there: nothing says what %s froze.", full, f.Release)
	case f.Kind == lock.Missing:
		v.ID, v.Message = verdict.BaselineDeleted, fmt.Sprintf("The frozen file %s was deleted: the lock of %s lists it.", full, f.Release)
	case f.Kind == lock.Changed:
		v.ID, v.Message = verdict.BaselineTouched, fmt.Sprintf("The frozen file %s was changed: %s. Baselines and vectors are written by a release only.", full, f.Message)
	case f.Kind == lock.Unreadable:
		v.ID, v.Message = verdict.LockBroken, fmt.Sprintf("The lock %s cannot be trusted: %s.", full, f.Message)
	case f.Kind == lock.Unchained:
		v.ID, v.Message = verdict.ChainBroken, fmt.Sprintf("The lock %s does not follow the one before it: %s.", full, f.Message)
	default:
		v.ID, v.Message = verdict.BaselineForeign, fmt.Sprintf("%s is in the folder of releases, and %s.", full, f.Message)
		v.Next = []string{"git rm -r --cached --ignore-unmatch " + full + " && rm -r " + full, "what belongs to a release is written by protogate release"}
	}
	return v, true
}

// loosened compares the configuration with the one that the last release was judged by.
func (c *check) loosened() []verdict.Verdict {
	last := c.last()
	if last == nil || c.opts.Against != "" {
		return nil
	}
	var out []verdict.Verdict
	add := func(id, message string, next ...string) {
		out = append(out, verdict.Verdict{ID: id, Message: message, Path: c.file, Next: next})
	}
	accept := "if it is meant, it takes effect with the next release: protogate release --loosen"
	for _, was := range last.Lock.Surfaces {
		is, ok := c.cfg.Surface(was.Name)
		if !ok {
			add(verdict.SurfaceRemoved, fmt.Sprintf("Surface %s, which %s has, is not in %s any more: nobody would watch it.", was.Name, last.Lock.Release, c.file),
				fmt.Sprintf("put it back: name %s, path %s, policy %s", was.Name, was.Path, was.Policy), accept)
			continue
		}
		if string(is.Policy) != was.Policy {
			add(verdict.GateLoosened, fmt.Sprintf("The policy of %s changed from %s to %s since %s.", was.Name, was.Policy, is.Policy, last.Lock.Release), "policy: "+was.Policy, accept)
		}
		if option(is) != was.Option {
			add(verdict.GateLoosened, fmt.Sprintf("The version option of %s changed from %s to %s since %s.", was.Name, was.Option, option(is), last.Lock.Release), "version: "+was.Option, accept)
		}
		for _, rule := range was.Rules {
			if !slices.Contains(is.Rules, rule) {
				add(verdict.GateLoosened, fmt.Sprintf("Rule %s of %s is gone since %s.", rule, was.Name, last.Lock.Release), "rules: [… "+rule+"]", accept)
			}
		}
		frozen := false
		for p := range last.Lock.Files {
			frozen = frozen || strings.HasPrefix(p, lock.Vectors(was.Name)+"/")
		}
		if frozen && len(is.Vectors) == 0 {
			add(verdict.GateLoosened, fmt.Sprintf("%s has golden vectors of %s, and no command that writes them.", last.Lock.Release, was.Name), "put the line vectors of "+was.Name+" back", accept)
		}
	}
	return out
}

// history compares each release with the commit that brought it.
func (c *check) history(ctx context.Context, r *Result) {
	repo := c.repo()
	const without = "give --no-history where there is no history to ask: the verdict then says that it was not checked"
	switch repo.History(ctx) {
	case git.None:
		r.History = "could not be checked: there is no git repository, or no commit in it"
		r.Problems = append(r.Problems, Problem{Message: "the history " + r.History, Next: without})
		return
	case git.Shallow:
		r.History = "could not be checked: this is a shallow clone"
		r.Problems = append(r.Problems, Problem{Message: "the history " + r.History, Next: "git fetch --unshallow; or " + without})
		return
	case git.Full:
	}
	added, err := repo.Added(ctx, path.Join(c.cfg.Released, "*", lock.Name))
	if err != nil {
		r.problem("", fmt.Errorf("ask the history: %w", err), "")
		return
	}
	commits := map[string]string{}
	for p, commit := range added {
		commits[path.Base(path.Dir(p))] = commit
	}
	r.History = "checked"
	for _, version := range sortedKeys(commits) {
		if lock.CheckVersion(version) == nil {
			c.unchanged(ctx, r, repo, version, commits[version])
		}
	}
	for _, rel := range c.releases {
		if commits[rel.Lock.Release] == "" {
			c.fresh(ctx, r, repo, rel)
		}
	}
}

// unchanged holds a release to what the commit that brought it had.
func (c *check) unchanged(ctx context.Context, r *Result, repo git.Repo, version, commit string) {
	folder := path.Join(c.cfg.Released, version)
	i := slices.IndexFunc(c.releases, func(x *lock.Release) bool { return x.Lock.Release == version })
	if i < 0 && !slices.ContainsFunc(c.faults, func(f lock.Fault) bool { return f.Release == version }) {
		r.Repository = append(r.Repository, verdict.Verdict{
			ID: verdict.ReleaseDeleted, Path: folder, Message: fmt.Sprintf("Release %s was deleted: commit %.12s brought %s, and peers of it are still out there.", version, commit, folder),
			Next: []string{fmt.Sprintf("git checkout %.12s -- %s", commit, folder)},
		})
		return
	}
	changes, err := repo.Changed(ctx, commit, folder)
	if err != nil {
		r.problem("", fmt.Errorf("compare %s with commit %.12s: %w", folder, commit, err), "")
		return
	}
	for _, change := range changes {
		if slices.ContainsFunc(r.Repository, func(v verdict.Verdict) bool { return v.Path == change.Path }) {
			continue // the lock has said so
		}
		if change.Status == "D" && slices.ContainsFunc(c.cfg.Surfaces, func(s config.Surface) bool { return change.Path == path.Join(folder, lock.Image(s.Name)) }) && version == c.release() {
			continue // the surface cannot be judged, and says so
		}
		r.Repository = append(r.Repository, verdict.Verdict{
			ID: verdict.HistoryTouched, Path: change.Path,
			Message: fmt.Sprintf("%s is not what commit %.12s brought with release %s, though the lock agrees with it: it was edited together with its lock.", change.Path, commit, version),
			Next:    []string{fmt.Sprintf("git checkout %.12s -- %s", commit, folder)},
		})
	}
	if i >= 0 && len(changes) == 0 {
		if _, err := released(ctx, repo, c.releases[i], commit, folder); err != nil {
			r.Repository = append(r.Repository, verdict.Verdict{ID: verdict.ReleaseStale, Path: folder + "/" + lock.Name, Message: err.Error(), Next: []string{
				"commit what protogate release wrote alone, before anything else changes", "delete " + folder + " and freeze it anew: protogate release " + version,
			}})
		}
	}
}

// fresh holds a release that is not committed yet to the tree it was frozen from.
func (c *check) fresh(ctx context.Context, r *Result, repo git.Repo, rel *lock.Release) {
	r.History = fmt.Sprintf("checked; %s is frozen and not yet committed", rel.Lock.Release)
	if len(rel.Lock.Trees) == 0 {
		return
	}
	if differing, err := treesDiffer(ctx, repo, rel, "HEAD"); err != nil {
		r.problem("", err, "")
	} else if differing != "" {
		folder := path.Join(c.cfg.Released, rel.Lock.Release)
		r.Repository = append(r.Repository, verdict.Verdict{
			ID: verdict.ReleaseStale, Path: folder + "/" + lock.Name, Message: fmt.Sprintf("Release %s was frozen from another tree of %s than HEAD has.", rel.Lock.Release, differing),
			Next: []string{"rm -r " + folder, "protogate release " + rel.Lock.Release},
		})
	}
}

// option is the version option of a surface as a lock writes it.
func option(s config.Surface) string {
	if s.Version == "" {
		return "-"
	}
	return s.Version
}

// treesDiffer is the first folder whose tree at a commit is not the lock's, "" when all agree.
func treesDiffer(ctx context.Context, repo git.Repo, rel *lock.Release, commit string) (string, error) {
	var folders []string
	for _, t := range rel.Lock.Trees {
		folders = append(folders, t.Folder)
	}
	have, err := repo.Trees(ctx, commit, folders)
	if err != nil {
		return "", err
	}
	for i, t := range rel.Lock.Trees {
		if have[i] != t.Hash {
			return t.Folder, nil
		}
	}
	return "", nil
}

// released is the oldest commit that has the release's lock and the trees that it names. first is the one that brought the lock.
func released(ctx context.Context, repo git.Repo, rel *lock.Release, first, folder string) (string, error) {
	if len(rel.Lock.Trees) == 0 {
		return first, nil
	}
	differing, err := treesDiffer(ctx, repo, rel, first)
	if err != nil || differing == "" {
		return first, err
	}
	commits, err := repo.Since(ctx, first)
	if err != nil {
		return "", err
	}
	var names []string
	for _, commit := range commits {
		names = append(names, commit+":./"+folder+"/"+lock.Name)
		for _, t := range rel.Lock.Trees {
			names = append(names, commit+":./"+t.Folder)
		}
	}
	names = append(names, "HEAD:./"+folder+"/"+lock.Name)
	hashes, err := repo.Objects(ctx, names)
	if err != nil {
		return "", err
	}
	own := hashes[len(hashes)-1]
	width := 1 + len(rel.Lock.Trees)
	for i, commit := range commits {
		row := hashes[i*width : (i+1)*width]
		agree := row[0] == own && own != ""
		for j, t := range rel.Lock.Trees {
			agree = agree && row[1+j] == t.Hash
		}
		if agree {
			return commit, nil
		}
	}
	return "", fmt.Errorf("no commit has both the lock of %s and the sources that it names: %s of commit %.12s, which brought it, is another tree", rel.Lock.Release, differing, first)
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, lock.Compare)
	return keys
}
