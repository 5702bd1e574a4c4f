// Package gate runs a check: it gathers what buf, the golden vectors, the locks and git say of each surface, and has verdict
// decide; and a release, which freezes what the next check compares with. It must never decide by itself.
package gate

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/fletchdb/fletch/ci/protogate/buf"
	"github.com/fletchdb/fletch/ci/protogate/config"
	"github.com/fletchdb/fletch/ci/protogate/git"
	"github.com/fletchdb/fletch/ci/protogate/image"
	"github.com/fletchdb/fletch/ci/protogate/lock"
	"github.com/fletchdb/fletch/ci/protogate/rules"
	"github.com/fletchdb/fletch/ci/protogate/verdict"
)

// Options say what to check and against what.
type Options struct {
	Root      string   // of the repository
	Config    string   // path of the configuration below Root; empty looks for it
	Surfaces  []string // names; empty is all
	Against   string   // instead of the last release: see against
	NoHistory bool     // do not ask git
	Loosen    bool     // a configuration that is laxer than the last release's is all right
	Plugin    []string // command that answers as the check plugin
}

// A Result is what a check found.
type Result struct {
	Verdict    string            `json:"verdict"`           // "pass", "against" or "undecided"
	Release    string            `json:"release,omitempty"` // the last one, empty before the first
	Against    string            `json:"against,omitempty"` // what was compared with instead
	History    string            `json:"history"`           // whether it was asked
	Surfaces   []Surface         `json:"surfaces"`
	Repository []verdict.Verdict `json:"repository,omitempty"` // verdicts on no single surface
	Problems   []Problem         `json:"problems,omitempty"`   // what kept the gate from deciding
}

// The verdicts on everything.
const (
	Pass      = "pass"
	Against   = "against"
	Undecided = "undecided"
)

// A Surface is what a check found on one surface.
type Surface struct {
	Name     string            `json:"name"`
	Path     string            `json:"path"`
	Policy   config.Policy     `json:"policy"`
	Option   string            `json:"option,omitempty"`
	State    string            `json:"state"` // "unchanged", "changed", "new, unreleased" or "undecided"
	Release  string            `json:"release,omitempty"`
	Released []verdict.Version `json:"released,omitempty"`
	Current  []verdict.Version `json:"current,omitempty"`
	Findings []verdict.Finding `json:"findings,omitempty"`
	Vectors  int               `json:"vectors,omitempty"` // golden vectors that were compared
	Verdicts []verdict.Verdict `json:"verdicts,omitempty"`
}

// The states of a surface.
const (
	Unchanged = "unchanged"
	Changed   = "changed"
	New       = "new, unreleased"
)

// A Problem is a reason that the gate could not decide.
type Problem struct {
	Surface string `json:"surface,omitempty"`
	Message string `json:"message"`
	Next    string `json:"next,omitempty"`
}

// ExitCode is 0 for pass, 1 for against, 2 for undecided.
func (r *Result) ExitCode() int {
	return map[string]int{Pass: 0, Against: 1, Undecided: 2}[r.Verdict]
}

// Check compares the tree with its last release.
func Check(ctx context.Context, opts Options) *Result {
	r := &Result{History: "not asked"}
	c, err := newCheck(opts)
	if err != nil {
		r.problem("", err, "")
		return r.done()
	}
	r.Release, r.Against = c.release(), opts.Against
	c.repository(ctx, r)
	c.surfaces(ctx, r)
	return r.done()
}

func (r *Result) problem(surface string, err error, next string) {
	r.Problems = append(r.Problems, Problem{surface, err.Error(), next})
}

func (r *Result) done() *Result {
	against := len(r.Repository) > 0
	for _, s := range r.Surfaces {
		against = against || len(s.Verdicts) > 0
	}
	switch {
	case against:
		r.Verdict = Against
	case len(r.Problems) > 0:
		r.Verdict = Undecided
	default:
		r.Verdict = Pass
	}
	return r
}

// A check is a repository with its configuration and releases.
type check struct {
	opts     Options
	file     string // of the configuration
	cfg      *config.Config
	releases []*lock.Release
	faults   []lock.Fault
	buf      *buf.Buf
}

func newCheck(opts Options) (*check, error) {
	c := &check{opts: opts, file: opts.Config}
	var err error
	if c.file == "" {
		if c.file, err = config.Find(opts.Root); err != nil {
			return nil, err
		}
	}
	if c.cfg, err = config.Load(opts.Root, c.file); err != nil {
		return nil, err
	}
	for _, name := range opts.Surfaces {
		if _, ok := c.cfg.Surface(name); !ok {
			return nil, fmt.Errorf("%s has no surface %q", c.file, name)
		}
	}
	if c.releases, c.faults, err = lock.Load(opts.Root, c.path(c.cfg.Released)); err != nil {
		return nil, err
	}
	if c.buf, err = buf.Find(opts.Root, c.cfg.Buf); err != nil {
		return nil, err
	}
	return c, nil
}

// path is a path of the repository as the system writes it.
func (c *check) path(p string) string { return filepath.Join(c.opts.Root, filepath.FromSlash(p)) }

// last is the last release, nil before the first.
func (c *check) last() *lock.Release {
	if len(c.releases) == 0 {
		return nil
	}
	return c.releases[len(c.releases)-1]
}

func (c *check) release() string {
	if r := c.last(); r != nil {
		return r.Lock.Release
	}
	return ""
}

// surfaces checks the wanted surfaces side by side.
func (c *check) surfaces(ctx context.Context, r *Result) {
	var wanted []config.Surface
	for _, s := range c.cfg.Surfaces {
		if len(c.opts.Surfaces) == 0 || slices.Contains(c.opts.Surfaces, s.Name) {
			wanted = append(wanted, s)
		}
	}
	r.Surfaces = make([]Surface, len(wanted))
	problems := make([]*Problem, len(wanted))
	var wrongBuf error
	var wg sync.WaitGroup
	slots := make(chan struct{}, max(2, runtime.GOMAXPROCS(0)))
	each := func(f func()) {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			f()
		})
	}
	each(func() { wrongBuf = c.buf.CheckVersion(ctx, c.cfg.Buf.Version) })
	for i, s := range wanted {
		each(func() {
			found, err := c.surface(ctx, s)
			r.Surfaces[i] = found
			if err != nil {
				problems[i] = &Problem{Surface: s.Name, Message: err.Error()}
				var stuck *stuckError
				if errors.As(err, &stuck) {
					problems[i].Next = stuck.next
				}
			}
		})
	}
	wg.Wait()
	if wrongBuf != nil {
		r.problem("", wrongBuf, "")
	}
	for _, p := range problems {
		if p != nil {
			r.Problems = append(r.Problems, *p)
		}
	}
}

// A stuckError is a reason not to decide, with the way out.
type stuckError struct {
	message, next string
}

func (e *stuckError) Error() string { return e.message }

// surface gathers the facts of a surface and judges them.
func (c *check) surface(ctx context.Context, s config.Surface) (Surface, error) {
	out := Surface{Name: s.Name, Path: s.Path, Policy: s.Policy, Option: s.Version, State: Undecided}
	data, err := c.image(ctx, s)
	if err != nil {
		return out, err
	}
	cur, err := image.Parse(data)
	if err != nil {
		return out, err
	}
	facts := verdict.Facts{Surface: s, Current: c.versions(s, cur), Reasons: c.reasons(s)}
	out.Current = facts.Current
	baseline, from, err := c.baseline(ctx, s)
	if err != nil {
		return out, err
	}
	if baseline == nil {
		out.State, out.Verdicts = New, verdict.Decide(facts)
		return out, nil
	}
	old, err := image.Parse(baseline)
	if err != nil {
		return out, fmt.Errorf("the baseline of %s: %w", from, err)
	}
	facts.Release, facts.Released = from, c.versions(s, old)
	out.Release, out.Released, out.State = from, facts.Released, Unchanged
	peer := verdict.Peer{Name: s.Peer, Policy: s.Policy, Of: peerOf(s, facts)}
	if !bytes.Equal(baseline, data) {
		if facts.Findings, err = c.compare(ctx, s, data, baseline, cur, peer); err != nil {
			out.State = Undecided
			return out, err
		}
		out.State = Changed
	}
	broken, compared, err := c.vectors(ctx, s, peer)
	if err != nil {
		out.State = Undecided
		return out, err
	}
	facts.Findings = append(facts.Findings, broken...)
	sortFindings(facts.Findings)
	if len(broken) > 0 {
		out.State = Changed
	}
	if s.Policy == config.Archive && len(facts.Released) > 0 {
		facts.Upcaster, facts.Fixtures = c.exists(s.Upcaster, facts.Released[0].Value), c.exists(s.Fixtures, facts.Released[0].Value)
	}
	out.Findings, out.Vectors, out.Verdicts = facts.Findings, compared, verdict.Decide(facts)
	return out, nil
}

// peerOf names a version of the last release as people say it.
func peerOf(s config.Surface, f verdict.Facts) string {
	if s.Policy != config.Stable && len(f.Released) == 1 {
		short := s.Version[strings.LastIndexByte(s.Version, '.')+1:]
		return fmt.Sprintf("%s %d", strings.ReplaceAll(short, "_", " "), f.Released[0].Value)
	}
	return f.Release
}

// image is the surface's module as it is now. Comments and positions of files that are no surface's are left out.
func (c *check) image(ctx context.Context, s config.Surface) ([]byte, error) {
	data, err := c.buf.Build(ctx, s.Path)
	if err != nil {
		return nil, err
	}
	return c.trim(data)
}

func (c *check) trim(data []byte) ([]byte, error) {
	return image.Trim(data, func(p string) bool { return c.inSurface(p) != "" })
}

// inSurface is the path in the repository of a file of a module, "" for one that is in no surface's folder.
func (c *check) inSurface(p string) string {
	for _, s := range c.cfg.Surfaces {
		full := path.Join(s.Path, p)
		if _, err := os.Stat(c.path(full)); err == nil {
			return full
		}
	}
	return ""
}

func (c *check) where(s config.Surface, p string) string {
	if p == "" {
		return s.Path
	}
	if full := c.inSurface(p); full != "" {
		return full
	}
	return path.Join(s.Path, p)
}

func (c *check) versions(s config.Surface, im *image.Image) []verdict.Version {
	if s.Version == "" {
		return nil
	}
	var out []verdict.Version
	for _, v := range im.Versions(s.Version) {
		out = append(out, verdict.Version{Package: string(v.File.Desc.Package()), Value: v.Value, Path: c.where(s, v.File.Desc.Path()), Line: v.Line})
	}
	return out
}

// reasons are the versions for which a file of reasons is there, and whether anything stands in it.
func (c *check) reasons(s config.Surface) map[uint64]bool {
	stated := map[uint64]bool{}
	if s.Reasons == "" {
		return stated
	}
	entries, err := os.ReadDir(c.path(s.Reasons))
	if err != nil {
		return stated // none
	}
	for _, e := range entries {
		var n uint64
		if _, err := fmt.Sscanf(e.Name(), "%d.md", &n); err != nil || e.Name() != fmt.Sprintf("%d.md", n) {
			continue
		}
		text, err := os.ReadFile(c.path(path.Join(s.Reasons, e.Name())))
		stated[n] = err == nil && says(string(text))
	}
	return stated
}

// says tells whether a page holds more than headings.
func says(text string) bool {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return true
		}
	}
	return false
}

// exists tells whether a file that is not empty matches the pattern for a version.
func (c *check) exists(pattern string, version uint64) bool {
	return len(c.match(pattern, fmt.Sprint(version))) > 0
}

func (c *check) match(pattern, version string) []string {
	found, err := filepath.Glob(c.path(strings.ReplaceAll(pattern, "{version}", version)))
	if err != nil {
		return nil
	}
	var files []string
	for _, f := range found {
		if info, err := os.Stat(f); err == nil && info.Mode().IsRegular() && info.Size() > 0 {
			files = append(files, f)
		}
	}
	return files
}

// baseline is the surface's last image and what it is called; nil for a surface that was never released.
func (c *check) baseline(ctx context.Context, s config.Surface) (data []byte, from string, err error) {
	if c.opts.Against != "" {
		return c.against(ctx, s)
	}
	last := c.last()
	if last == nil {
		return nil, "", nil
	}
	if _, ok := last.Lock.Surface(s.Name); !ok {
		return nil, "", nil
	}
	name := path.Join(c.cfg.Released, last.Lock.Release, lock.Image(s.Name))
	data, err = os.ReadFile(filepath.Join(last.Dir, lock.Image(s.Name)))
	if err != nil {
		return nil, "", &stuckError{fmt.Sprintf("%s is missing: the lock of %s lists it as the baseline of %s", name, last.Lock.Release, s.Name), "git checkout HEAD -- " + name}
	}
	return data, last.Lock.Release, nil
}

// against compiles the surface of another tree: a folder of images NAME.binpb, a single image, or any reference of a tree that
// buf takes, such as .git#tag=v1.2.0 or a tarball, in which the module has the same path.
func (c *check) against(ctx context.Context, s config.Surface) ([]byte, string, error) {
	ref := c.opts.Against
	if name, single, ok := strings.Cut(ref, "="); ok && name == s.Name {
		ref = single
	} else if info, err := os.Stat(c.path(ref)); err == nil && info.IsDir() {
		if _, err := os.Stat(c.path(path.Join(ref, lock.Image(s.Name)))); err == nil {
			ref = path.Join(ref, lock.Image(s.Name))
		} else {
			ref = path.Join(ref, s.Path)
		}
	} else if !strings.HasSuffix(ref, ".binpb") {
		if strings.Contains(ref, "#") {
			ref += ",subdir=" + s.Path
		} else {
			ref += "#subdir=" + s.Path
		}
	}
	data, err := c.buf.Build(ctx, ref)
	if err != nil {
		return nil, "", err
	}
	data, err = c.trim(data)
	return data, c.opts.Against, err
}

// own are the plugin's rules.
func own() []string {
	var ids []string
	for _, n := range rules.Names {
		ids = append(ids, n.ID)
	}
	return ids
}

// compare has buf and the plugin compare the surface with its baseline.
func (c *check) compare(ctx context.Context, s config.Surface, current, baseline []byte, im *image.Image, peer verdict.Peer) ([]verdict.Finding, error) {
	plugin := &buf.Plugin{Command: c.opts.Plugin, Options: rules.Options{Unknown: c.cfg.Unknown, Harmless: c.cfg.Harmless, Versions: c.cfg.VersionOptions()}.PluginOptions()}
	annotations, err := c.buf.Breaking(ctx, current, baseline, slices.Concat(s.Rules, own()), plugin)
	if err != nil {
		return nil, err
	}
	packages := map[string]string{}
	for _, f := range im.Files {
		packages[f.Desc.Path()] = string(f.Desc.Package())
	}
	var found []verdict.Finding
	for _, a := range annotations {
		f := verdict.Finding{Rule: a.Rule, Class: c.class(a.Rule), Path: c.where(s, a.Path), Line: a.Line, Column: a.Column, Message: tidy(a.Message), Package: packages[a.Path]}
		f.Why = verdict.Why(a.Rule, peer)
		found = append(found, f)
	}
	return found, nil
}

// sortFindings puts breaks first, then what stands first in the repository.
func sortFindings(found []verdict.Finding) {
	slices.SortStableFunc(found, func(a, b verdict.Finding) int {
		return cmp.Or(cmp.Compare(rank(a.Class), rank(b.Class)), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Message, b.Message))
	})
}

func rank(c verdict.Class) int {
	return slices.Index([]verdict.Class{verdict.Break, verdict.Addition, verdict.Look}, c)
}

func (c *check) class(rule string) verdict.Class {
	switch rule {
	case rules.Addition:
		return verdict.Addition
	case rules.CommentChanged, rules.PolicyDeclared:
		return verdict.Look
	case rules.ValueUndeclared:
		if len(c.cfg.Unknown) == 0 {
			return verdict.Look // the repository has no way to declare it
		}
	}
	return verdict.Break
}

// tidy leaves out the links that buf adds to a sentence.
func tidy(message string) string {
	if i := strings.Index(message, " See https://"); i >= 0 {
		message = message[:i]
	}
	return strings.TrimSpace(message)
}

// repo is the git of the repository.
func (c *check) repo() git.Repo { return git.Repo{Dir: c.opts.Root} }
