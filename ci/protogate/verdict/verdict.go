// Package verdict decides: from what changed on a surface, its policy and its versions, whether the tree may go on as it is, and
// what to do when it may not. It is pure: it must never read a file or run a program.
package verdict

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fletchdb/fletch/ci/protogate/config"
)

// A Class is what a finding counts as.
type Class string

// The classes.
const (
	Break    Class = "break"    // a peer of the last release does, or reads, something else
	Addition Class = "addition" // new, and nobody relies on it yet
	Look     Class = "look"     // a person has to read it: a comment that may be a contract
)

// A Finding is one difference between the last release and now.
type Finding struct {
	Rule    string `json:"rule"`
	Class   Class  `json:"class"`
	Path    string `json:"path,omitempty"` // in the repository, or in the module where the file is not in the repository
	Line    int    `json:"line,omitempty"` // 1-based, 0 for the whole file
	Column  int    `json:"column,omitempty"`
	Message string `json:"message"`
	Why     string `json:"why,omitempty"` // what a peer of the last release would make of it
	Package string `json:"-"`             // of the schema file, "" where unknown
}

// A Version is what one file of a module says of its version.
type Version struct {
	Package string `json:"package"`
	Value   uint64 `json:"value"`
	Path    string `json:"path"` // in the repository
	Line    int    `json:"line,omitempty"`
}

// Facts are all that is known of a surface.
type Facts struct {
	Surface  config.Surface
	Release  string    // that its baseline is from; "" when no release has it
	Released []Version // of the baseline, by path
	Current  []Version // of the module now, by path
	Findings []Finding
	Reasons  map[uint64]bool // versions that have a file of reasons, and whether something stands in it
	Upcaster bool            // from the released version to the next there is one
	Fixtures bool            // the released version has some
}

// A Verdict is a reason not to go on.
type Verdict struct {
	ID      string   `json:"id"` // see Explain
	Message string   `json:"message"`
	Path    string   `json:"path,omitempty"`
	Line    int      `json:"line,omitempty"`
	Next    []string `json:"next"` // the steps that lead out, commands or lines of a diff
}

// The verdicts on a surface.
const (
	MissingBump    = "missing-bump"
	NeedlessBump   = "needless-bump"
	BumpTooFar     = "bump-too-far"
	BumpBack       = "bump-back"
	ReasonMissing  = "reason-missing"
	ReasonWithout  = "reason-without-bump"
	MissingMinor   = "missing-minor"
	NeedlessMinor  = "needless-minor"
	BreakInMajor   = "break-in-major"
	BreakForEver   = "break-for-ever"
	NoUpcaster     = "no-upcaster"
	NoFixture      = "no-fixture"
	VersionRemoved = "version-removed"
	VersionMissing = "version-missing"
	VersionTwice   = "version-twice"
	FirstVersion   = "first-version"
)

// The verdicts on a repository.
const (
	SurfaceRemoved  = "surface-removed"
	GateLoosened    = "gate-loosened"
	BaselineTouched = "baseline-touched"
	BaselineDeleted = "baseline-deleted"
	BaselineForeign = "baseline-unlisted"
	LockBroken      = "lock-broken"
	ChainBroken     = "chain-broken"
	FixtureTouched  = "fixture-touched"
	FixtureDeleted  = "fixture-deleted"
	HistoryTouched  = "history-touched"
	ReleaseDeleted  = "release-deleted"
	ReleaseStale    = "release-stale"
)

// Decide gives the reasons against the surface as it is, most important first; none is a pass.
func Decide(f Facts) []Verdict {
	f.Findings = Distinct(f.Findings)
	d := &decision{Facts: f}
	switch {
	case f.Surface.Policy == config.Stable && f.Surface.Version == "":
		d.forEver()
	case f.Surface.Policy == config.Stable:
		d.stable()
	default:
		d.single()
	}
	return d.against
}

type decision struct {
	Facts
	against []Verdict
}

func (d *decision) add(id string, at Version, message string, next ...string) {
	d.against = append(d.against, Verdict{ID: id, Message: message, Path: at.Path, Line: at.Line, Next: next})
}

// Of are the findings of a class.
func Of(findings []Finding, class Class) []Finding {
	var out []Finding
	for _, f := range findings {
		if f.Class == class {
			out = append(out, f)
		}
	}
	return out
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// short is the name of the version option as people say it.
func (d *decision) short() string {
	return d.Surface.Version[strings.LastIndexByte(d.Surface.Version, '.')+1:]
}

// set is a diff that gives the version its value.
func (d *decision) set(from Version, to uint64) []string {
	line := func(v uint64) string { return fmt.Sprintf("option (%s) = %d;", d.Surface.Version, v) }
	place := from.Path
	if from.Line > 0 {
		place = fmt.Sprintf("%s:%d", from.Path, from.Line)
	}
	return []string{"in " + place, "-" + line(from.Value), "+" + line(to)}
}

// undo is the way out that changes the schema and not the version.
func undo(then string) string {
	return "or take the change back, and " + then
}

// forEver judges a surface without a version: nothing ever goes.
func (d *decision) forEver() {
	if n := len(Of(d.Findings, Break)); n > 0 {
		d.add(BreakForEver, Version{}, fmt.Sprintf("%s on a surface that has no version to move, since old and new must understand each other for ever.", count(n, "break")),
			"take the change back; leave what is there, and add a new field, message or rpc beside it whose absence means what it meant before")
	}
}

// stable judges a surface whose packages are its majors: nothing goes within one, and each addition moves its minor.
func (d *decision) stable() {
	if n := len(Of(d.Findings, Break)); n > 0 {
		d.add(BreakInMajor, Version{}, fmt.Sprintf("%s within a major: no version makes that right for clients that are out there.", count(n, "break")),
			"take the change back, and put what is new beside it",
			"or begin the next major: a new package beside the old, "+nextMajor(d.Released)+", with "+d.short()+" = 0, while the old one stays")
	}
	if !d.once(true) {
		return
	}
	for _, cur := range d.Current {
		old, released := of(d.Released, cur.Package)
		if !released {
			if cur.Value != 0 {
				d.add(FirstVersion, cur, fmt.Sprintf("Package %s has never been released and says %s = %d: a major begins with 0.", cur.Package, d.short(), cur.Value), d.set(cur, 0)...)
			}
			continue
		}
		additions := 0
		for _, f := range Of(d.Findings, Addition) {
			if d.owner(f.Package) == cur.Package {
				additions++
			}
		}
		switch {
		case cur.Value < old.Value:
			d.add(BumpBack, cur, fmt.Sprintf("%s went back from %d to %d: clients would take this server for an older one.", d.short(), old.Value, cur.Value), d.set(cur, old.Value)...)
		case additions > 0 && cur.Value == old.Value:
			d.add(MissingMinor, cur, fmt.Sprintf("%s to %s, and %s is still the %d of %s: a client cannot tell a server that has them from one that has not.", count(additions, "addition"), cur.Package, d.short(), old.Value, d.Release),
				d.set(cur, old.Value+1)...)
		case cur.Value > old.Value+1:
			want := old.Value
			if additions > 0 {
				want++
			}
			d.add(BumpTooFar, cur, fmt.Sprintf("%s moved from %d to %d: all additions between two releases share one minor.", d.short(), old.Value, cur.Value), d.set(cur, want)...)
		case additions == 0 && cur.Value == old.Value+1 && !d.Reasons[cur.Value]:
			d.add(NeedlessMinor, cur, fmt.Sprintf("%s moved from %d to %d, and nothing was added to %s since %s.", d.short(), old.Value, cur.Value, cur.Package, d.Release), d.set(cur, old.Value)...)
		}
	}
}

// nextMajor is the package after the last one: acme.api.v2 for acme.api.v1.
func nextMajor(versions []Version) string {
	if len(versions) == 0 {
		return "v2"
	}
	pkg := slices.MaxFunc(versions, func(a, b Version) int { return strings.Compare(a.Package, b.Package) }).Package
	i := strings.LastIndexByte(pkg, 'v')
	n := 0
	if _, err := fmt.Sscanf(pkg[i+1:], "%d", &n); i < 0 || err != nil {
		return pkg + ".v2"
	}
	return fmt.Sprintf("%sv%d", pkg[:i], n+1)
}

func of(versions []Version, pkg string) (Version, bool) {
	i := slices.IndexFunc(versions, func(v Version) bool { return v.Package == pkg })
	if i < 0 {
		return Version{}, false
	}
	return versions[i], true
}

// owner is the package whose version speaks for pkg: its own, or else the one with the longest common beginning.
func (d *decision) owner(pkg string) string {
	if _, ok := of(d.Current, pkg); ok {
		return pkg
	}
	best, length := "", -1
	for _, v := range slices.Concat(d.Released, d.Current) {
		a, b := strings.Split(v.Package, "."), strings.Split(pkg, ".")
		n := 0
		for n < min(len(a), len(b)) && a[n] == b[n] {
			n++
		}
		if n > length {
			best, length = v.Package, n
		}
	}
	return best
}

// single judges a surface with one version for the whole module.
func (d *decision) single() {
	if !d.once(false) {
		return
	}
	cur := d.Current[0]
	if len(d.Released) == 0 {
		if cur.Value != 1 {
			d.add(FirstVersion, cur, fmt.Sprintf("The surface has never been released and says %s = %d: it begins with 1.", d.short(), cur.Value), d.set(cur, 1)...)
		}
		return
	}
	old := d.Released[0]
	breaks := len(Of(d.Findings, Break))
	moved := cur.Value - old.Value // sensible in the cases that use it
	switch {
	case cur.Value < old.Value:
		d.add(BumpBack, cur, fmt.Sprintf("%s went back from %d to %d: two different %ss would take each other for equal.", d.short(), old.Value, cur.Value, d.Surface.Peer), d.set(cur, old.Value)...)
		return
	case breaks > 0 && moved == 0:
		d.add(MissingBump, cur, fmt.Sprintf("%s, and %s is still the %d of %s.", count(breaks, "break"), d.short(), old.Value, d.Release),
			append(d.set(cur, old.Value+1), undo("leave the version alone"))...)
	case moved > 1:
		want := old.Value
		if breaks > 0 {
			want++
		}
		d.add(BumpTooFar, cur, fmt.Sprintf("%s moved from %d to %d: all breaks between two releases share one bump.", d.short(), old.Value, cur.Value), d.set(cur, want)...)
		return
	case breaks == 0 && moved == 1:
		d.unseen(old, cur)
	}
	if d.Surface.Policy == config.Archive && (breaks > 0 || moved == 1) {
		d.archive(old)
	}
	for _, n := range slices.Sorted(keys(d.Reasons)) {
		if n > cur.Value {
			d.add(ReasonWithout, cur, fmt.Sprintf("%s gives a reason for version %d, and %s is %d.", d.reason(n), n, d.short(), cur.Value),
				append(d.set(cur, old.Value+1), fmt.Sprintf("or, if nothing changed its meaning: git rm %s", d.reason(n)))...)
		}
	}
}

func keys[V any](m map[uint64]V) func(func(uint64) bool) {
	return func(yield func(uint64) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func (d *decision) reason(version uint64) string {
	return fmt.Sprintf("%s/%d.md", d.Surface.Reasons, version)
}

// unseen judges a bump that no finding asks for.
func (d *decision) unseen(old, cur Version) {
	if d.Surface.Policy == config.Archive && d.Upcaster {
		return // a new form beside the old one: archive judges the rest
	}
	stated, there := d.Reasons[cur.Value]
	switch {
	case stated:
	case there:
		d.add(ReasonMissing, cur, fmt.Sprintf("%s is empty: a bump that no finding asks for needs its reason in words.", d.reason(cur.Value)),
			fmt.Sprintf("write into %s what changed its meaning, and what a %s of version %d would do wrong with it", d.reason(cur.Value), d.Surface.Peer, old.Value))
	case d.Surface.Reasons != "" && len(Of(d.Findings, Look)) > 0:
		d.add(ReasonMissing, cur, fmt.Sprintf("%s moved from %d to %d, and only comments changed: a change of meaning needs its reason in words.", d.short(), old.Value, cur.Value),
			fmt.Sprintf("write into %s what changed its meaning, and what a %s of version %d would do wrong with it", d.reason(cur.Value), d.Surface.Peer, old.Value),
			strings.Join(append([]string{"or move it back"}, d.set(cur, old.Value)...), "\n"))
	default:
		next := d.set(cur, old.Value)
		if d.Surface.Reasons != "" {
			next = append(next, fmt.Sprintf("or, if something changed its meaning that no schema and no vector shows, say what in %s", d.reason(cur.Value)))
		}
		d.add(NeedlessBump, cur, fmt.Sprintf("%s moved from %d to %d, and nothing that a %s of %s relies on changed: it would be shut out for nothing.", d.short(), old.Value, cur.Value, d.Surface.Peer, d.Release), next...)
	}
}

// archive asks for what makes old bytes readable after a break.
func (d *decision) archive(old Version) {
	fill := func(pattern string) string {
		return strings.ReplaceAll(pattern, "{version}", fmt.Sprint(old.Value))
	}
	if !d.Upcaster {
		d.add(NoUpcaster, Version{}, fmt.Sprintf("What was written as version %d has no way to version %d.", old.Value, old.Value+1),
			fmt.Sprintf("write %s: it takes a message of version %d and gives the one of version %d; keep the old message", fill(d.Surface.Upcaster), old.Value, old.Value+1))
	}
	if !d.Fixtures {
		d.add(NoFixture, Version{}, fmt.Sprintf("No file of version %d is kept to prove that it can still be read.", old.Value),
			fmt.Sprintf("let the build of %s write one, and put it where %s is: it is never changed again", d.Release, fill(d.Surface.Fixtures)))
	}
}

// once tells whether the version is declared as it should be: once in the module, or once in each package.
func (d *decision) once(perPackage bool) bool {
	ok := true
	by := map[string][]Version{}
	for _, v := range d.Current {
		key := ""
		if perPackage {
			key = v.Package
		}
		by[key] = append(by[key], v)
	}
	for _, v := range d.Current {
		key := ""
		if perPackage {
			key = v.Package
		}
		if same := by[key]; len(same) > 1 && same[0] == v {
			ok = false
			d.add(VersionTwice, same[1], fmt.Sprintf("Option (%s) is set in %s and in %s: one of them will be forgotten.", d.Surface.Version, same[0].Path, same[1].Path),
				fmt.Sprintf("leave it in one file only: delete the line in %s", same[1].Path))
		}
	}
	for _, old := range d.Released {
		gone := len(d.Current) == 0
		if perPackage {
			_, there := of(d.Current, old.Package)
			gone = !there
		}
		if gone {
			ok = false
			d.add(VersionRemoved, Version{Path: old.Path}, fmt.Sprintf("Option (%s) = %d, which %s has, is gone: without it no process can tell which version it speaks.", d.Surface.Version, old.Value, d.Release),
				"in "+old.Path, fmt.Sprintf("+option (%s) = %d;", d.Surface.Version, old.Value))
		}
	}
	if len(d.Released) == 0 && len(d.Current) == 0 {
		first := uint64(1)
		if perPackage {
			first = 0
		}
		d.add(VersionMissing, Version{}, fmt.Sprintf("No file of %s sets option (%s), which the configuration names as its version.", d.Surface.Path, d.Surface.Version),
			fmt.Sprintf("+option (%s) = %d;", d.Surface.Version, first))
		return false
	}
	return ok
}
