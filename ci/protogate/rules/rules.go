// Package rules compares two versions of a schema for what buf's own rules have no word for: options, extension numbers, values
// that old readers do not know, additions, comments. It runs inside buf, as a check plugin. It must never know which policy a
// surface has: what a finding means is decided elsewhere.
package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/fletchdb/fletch/ci/protogate/image"
)

// The rules' names, as they stand beside buf's own.
const (
	OptionSameValue     = "PROTOGATE_OPTION_SAME_VALUE"
	ExtensionSameNumber = "PROTOGATE_EXTENSION_SAME_NUMBER"
	EnumSameDefault     = "PROTOGATE_ENUM_SAME_DEFAULT"
	ValueUndeclared     = "PROTOGATE_VALUE_UNDECLARED"
	Addition            = "PROTOGATE_ADDITION"
	CommentChanged      = "PROTOGATE_COMMENT_CHANGED"
	PolicyDeclared      = "PROTOGATE_POLICY_DECLARED"
)

// Names are all rules with what each looks for, in the order they are listed.
var Names = []struct{ ID, Purpose string }{
	{OptionSameValue, "Checks that custom options of files, messages, fields, oneofs, enums, values, services and rpcs keep their values."},
	{ExtensionSameNumber, "Checks that an extension keeps its number and that no other takes it."},
	{EnumSameDefault, "Checks that a closed enum keeps its first value, and every number the name that JSON writes."},
	{ValueUndeclared, "Checks that an enum or oneof that gets a new value has declared what a reader does with one it does not know."},
	{Addition, "Lists what is new: files' messages, fields, oneofs, enums, values, services, rpcs and extensions."},
	{CommentChanged, "Lists declarations whose comment changed."},
	{PolicyDeclared, "Lists enums and oneofs that declare for the first time what a reader does with a value it does not know."},
}

// Options are what a repository tells the rules.
type Options struct {
	Unknown  []string // full names of the options that declare what a reader does with a value it does not know
	Harmless []string // full names of options whose change nobody notices
	Versions []string // full names of the options that hold versions, which may change
}

// A Finding is one difference.
type Finding struct {
	Rule    string
	File    string                  // path in the module, of the new version
	Path    protoreflect.SourcePath // in File; nil is the whole file
	Message string                  // one sentence
}

// Compare gives the differences between the last version of a module and the current one, in the order of their rules and files.
func Compare(old, cur *image.Image, opts Options) []Finding {
	c := &comparison{old: old, cur: cur, opts: opts}
	c.options()
	c.extensions()
	c.enums()
	c.additions()
	c.comments()
	order := func(rule string) int {
		return slices.IndexFunc(Names, func(n struct{ ID, Purpose string }) bool { return n.ID == rule })
	}
	slices.SortStableFunc(c.found, func(a, b Finding) int { return order(a.Rule) - order(b.Rule) })
	return c.found
}

type comparison struct {
	old, cur *image.Image
	opts     Options
	found    []Finding
}

func (c *comparison) add(rule string, d protoreflect.Descriptor, format string, args ...any) {
	f := Finding{Rule: rule, File: d.ParentFile().Path(), Message: fmt.Sprintf(format, args...)}
	if !isFile(d) {
		f.Path = image.Path(d)
	}
	c.found = append(c.found, f)
}

// both calls f for each declaration that both versions have.
func (c *comparison) both(f func(old, cur image.Element)) {
	for _, e := range c.cur.Elements() {
		if o, ok := c.old.Find(e.Key); ok {
			f(o, e)
		}
	}
}

// Name is a declaration as people call it: field "stage" of message "acme.v1.Task".
func Name(e image.Element) string {
	switch e.Kind {
	case "field", "oneof", "enum value", "rpc":
		return fmt.Sprintf("%s %q of %q", e.Kind, e.Desc.Name(), e.Desc.Parent().FullName())
	}
	return fmt.Sprintf("%s %q", e.Kind, e.Desc.FullName())
}

func (c *comparison) options() {
	c.both(func(o, e image.Element) {
		c.sameOptions(o.Desc, e.Desc, Name(e))
	})
	byPath := map[string]*image.File{}
	for _, f := range c.cur.Files {
		byPath[f.Desc.Path()] = f
	}
	for _, o := range c.old.Files {
		if f := byPath[o.Desc.Path()]; f != nil {
			c.sameOptions(o.Desc, f.Desc, fmt.Sprintf("file %q", o.Desc.Path()))
		} else {
			c.movedOptions(o)
		}
	}
}

// movedOptions looks for the options of a file that is gone in the files that its package has now: files may be renamed, merged
// and split. That a package is gone is buf's to say.
func (c *comparison) movedOptions(o *image.File) {
	old := c.old.Options(o.Desc)
	for _, option := range slices.Sorted(maps.Keys(old)) {
		var at protoreflect.FileDescriptor
		kept := false
		for _, f := range c.cur.Files {
			if f.Desc.Package() == o.Desc.Package() {
				at = f.Desc
				kept = kept || c.cur.Options(f.Desc)[option] == old[option]
			}
		}
		if at != nil && !kept && c.counts(option) {
			c.found = append(c.found, Finding{OptionSameValue, at.Path(), nil, fmt.Sprintf("Option (%s) = %s, which file %q had, is in no file of package %q any more.", option, c.old.Text(o.Desc, option), o.Desc.Path(), o.Desc.Package())})
		}
	}
}

func (c *comparison) counts(option string) bool {
	return !slices.Contains(c.opts.Versions, option) && !slices.Contains(c.opts.Harmless, option)
}

func (c *comparison) sameOptions(o, e protoreflect.Descriptor, name string) {
	old, cur := c.old.Options(o), c.cur.Options(e)
	for _, option := range union(old, cur) {
		if !c.counts(option) || old[option] == cur[option] && has(old, option) == has(cur, option) {
			continue
		}
		if slices.Contains(c.opts.Unknown, option) && !c.declared(c.old, o) {
			if c.declared(c.cur, e) {
				c.add(PolicyDeclared, e, "%s declares (%s) = %s for the first time: readers of the last release may do otherwise.", upper(name), option, c.cur.Text(e, option))
			}
			continue
		}
		c.add(OptionSameValue, e, "Option (%s) of %s changed from %s to %s.", option, name, c.old.Text(o, option), c.cur.Text(e, option))
	}
}

func has(m map[string]string, key string) bool { _, ok := m[key]; return ok }

func union[V any](a, b map[string]V) []string {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(keys)
	return slices.Compact(keys)
}

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// declared tells whether d, an enum or oneof, says what a reader does with a value that it does not know. A policy's number 0
// says nothing.
func (c *comparison) declared(im *image.Image, d protoreflect.Descriptor) bool {
	return slices.ContainsFunc(c.opts.Unknown, func(option string) bool {
		v, set := im.Uint(d, option)
		return set && v != 0
	})
}

func (c *comparison) extensions() {
	type place struct {
		extendee protoreflect.FullName
		number   protoreflect.FieldNumber
	}
	of := func(e image.Element) (place, bool) {
		if e.Kind != "extension" {
			return place{}, false
		}
		x := e.Desc.(protoreflect.ExtensionDescriptor)
		return place{x.ContainingMessage().FullName(), x.Number()}, true
	}
	taken := map[place]image.Element{}
	for _, o := range c.old.Elements() {
		if p, ok := of(o); ok {
			taken[p] = o
		}
	}
	for _, e := range c.cur.Elements() {
		p, ok := of(e)
		if !ok {
			continue
		}
		if o, ok := taken[p]; ok && o.Key != e.Key {
			c.add(ExtensionSameNumber, e.Desc, "Extension %q has number %d of %q, which was extension %q.", e.Desc.FullName(), p.number, p.extendee, o.Desc.FullName())
		}
		if o, ok := c.old.Find(e.Key); ok {
			if q, _ := of(o); p != q {
				c.add(ExtensionSameNumber, e.Desc, "Extension %q changed from number %d of %q to number %d of %q.", e.Desc.FullName(), q.number, q.extendee, p.number, p.extendee)
			}
		}
	}
}

func (c *comparison) enums() {
	c.both(func(o, e image.Element) {
		switch e.Kind {
		case "enum":
			was, is := o.Desc.(protoreflect.EnumDescriptor), e.Desc.(protoreflect.EnumDescriptor)
			if a, b := was.Values().Get(0), is.Values().Get(0); a.Number() != b.Number() {
				c.add(EnumSameDefault, e.Desc, "The first value of %s changed from %q to %q: an absent field now has another value.", Name(e), a.Name(), b.Name())
			}
		case "enum value":
			// The first of several names of a number is the one that JSON writes. A rename is buf's to find.
			was, is := o.Desc.Name(), e.Desc.Name()
			if was != is && e.Desc.Parent().(protoreflect.EnumDescriptor).Values().ByName(was) != nil {
				c.add(EnumSameDefault, e.Desc, "JSON now writes number %d of enum %q as %q instead of %q: put the new name behind the old one.", e.Desc.(protoreflect.EnumValueDescriptor).Number(), e.Desc.Parent().FullName(), is, was)
			}
		}
	})
}

func (c *comparison) additions() {
	reachable := c.cur.Reachable()
	for _, e := range c.cur.Elements() {
		if _, ok := c.old.Find(e.Key); ok {
			c.aliases(e, reachable)
			continue
		}
		parent := e.Desc.Parent()
		if m, ok := parent.(protoreflect.MessageDescriptor); ok && c.isNew(m) {
			continue // the message is the addition
		}
		if p, ok := parent.(protoreflect.EnumDescriptor); ok && c.isNew(p) {
			continue
		}
		if p, ok := parent.(protoreflect.ServiceDescriptor); ok && c.isNew(p) {
			continue
		}
		c.addition(e, reachable)
		c.undeclared(e)
	}
}

// aliases finds further names of a known number of an enum.
func (c *comparison) aliases(e image.Element, reachable map[protoreflect.FullName]bool) {
	enum, ok := e.Desc.(protoreflect.EnumDescriptor)
	if !ok {
		return
	}
	o, _ := c.old.Find(e.Key)
	was := o.Desc.(protoreflect.EnumDescriptor)
	for i := range enum.Values().Len() {
		v := enum.Values().Get(i)
		old := was.Values().ByNumber(v.Number())
		if old == nil || was.Values().ByName(v.Name()) != nil || enum.Values().ByName(old.Name()) == nil {
			continue
		}
		c.addition(image.Element{Kind: "enum value", Desc: v, File: e.File}, reachable)
	}
}

func (c *comparison) isNew(d protoreflect.Descriptor) bool {
	kind := map[bool]string{true: "message"}[isMessage(d)]
	switch d.(type) {
	case protoreflect.EnumDescriptor:
		kind = "enum"
	case protoreflect.ServiceDescriptor:
		kind = "service"
	}
	_, ok := c.old.Find(kind + " " + string(d.FullName()))
	return !ok
}

func isMessage(d protoreflect.Descriptor) bool {
	_, ok := d.(protoreflect.MessageDescriptor)
	return ok
}

// addition lists e if a peer of this module can see it.
func (c *comparison) addition(e image.Element, reachable map[protoreflect.FullName]bool) {
	if e.File.Import {
		owner := e.Desc
		for {
			if m := owner.Parent(); m == nil || isFile(m) {
				break
			}
			if reachable[owner.FullName()] {
				break
			}
			owner = owner.Parent()
		}
		if !reachable[owner.FullName()] {
			return
		}
	}
	c.add(Addition, e.Desc, "%s is new.", upper(Name(e)))
}

func isFile(d protoreflect.Descriptor) bool { _, ok := d.(protoreflect.FileDescriptor); return ok }

// undeclared finds new values of an enum or oneof that old readers were never told how to take.
func (c *comparison) undeclared(e image.Element) {
	var holder protoreflect.Descriptor
	kind := ""
	switch d := e.Desc.(type) {
	case protoreflect.EnumValueDescriptor:
		holder, kind = d.Parent(), "enum"
	case protoreflect.FieldDescriptor:
		if o := d.ContainingOneof(); o != nil && !o.IsSynthetic() {
			holder, kind = o, "oneof"
		}
	}
	if holder == nil {
		return
	}
	// Whatever the new schema declares, the readers that are out there go by the old one.
	o, ok := c.old.Find(kind + " " + string(holder.FullName()))
	if !ok || c.declared(c.old, o.Desc) {
		return
	}
	c.add(ValueUndeclared, e.Desc, "%s is new, and %s of the last release does not say what a reader does with a value that it does not know.", upper(Name(e)), Name(o))
}

func (c *comparison) comments() {
	c.both(func(o, e image.Element) {
		if !e.File.Import {
			c.comment(Name(e), e.Desc, image.Comment(o.Desc), image.Comment(e.Desc))
		}
	})
	old := map[string]protoreflect.FileDescriptor{}
	for _, f := range c.old.Files {
		old[f.Desc.Path()] = f.Desc
	}
	for _, f := range c.cur.Files {
		if o, ok := old[f.Desc.Path()]; ok && !f.Import {
			c.comment(fmt.Sprintf("package %q", f.Desc.Package()), f.Desc, image.PackageComment(o), image.PackageComment(f.Desc))
		}
	}
}

func (c *comparison) comment(name string, d protoreflect.Descriptor, was, is string) {
	if was == is {
		return
	}
	was, is = differing(was, is)
	c.add(CommentChanged, d, "The comment of %s changed from %q to %q.", name, was, is)
}

// differing cuts two texts down to the words that differ and a few around them.
func differing(a, b string) (string, string) {
	const around, most = 3, 24
	x, y := strings.Fields(a), strings.Fields(b)
	head := 0
	for head < min(len(x), len(y)) && x[head] == y[head] {
		head++
	}
	tail := 0
	for tail < min(len(x), len(y))-head && x[len(x)-1-tail] == y[len(y)-1-tail] {
		tail++
	}
	cut := func(w []string) string {
		from, to := max(0, head-around), min(len(w), len(w)-tail+around)
		text := strings.Join(w[from:min(to, from+most)], " ")
		if from > 0 {
			text = "… " + text
		}
		if to < len(w) || to-from > most {
			text += " …"
		}
		return text
	}
	return cut(x), cut(y)
}
