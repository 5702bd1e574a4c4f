// Package image reads compiled schemas, buf images or plain descriptor sets, and gives their elements by name: what each is,
// where it stands, what its comment and its options say. It must never know which changes are allowed.
package image

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// An Image is a module's schema with all that it imports.
type Image struct {
	Files    []*File // in the order of their paths
	types    *dynamicpb.Types
	elements []Element
	byKey    map[string]int
}

// A File is one source file.
type File struct {
	Desc   protoreflect.FileDescriptor
	Import bool // it belongs to another module
}

// An Element is a declaration. Its key is its identity across versions: a field's and an enum value's number, else the name.
type Element struct {
	Key  string
	Kind string // "message", "field", "oneof", "enum", "enum value", "service", "rpc" or "extension"
	Desc protoreflect.Descriptor
	File *File
}

// raw decodes without the extensions that happen to be linked into this program: an image brings its own.
var raw = proto.UnmarshalOptions{Resolver: new(protoregistry.Types)}

// Parse reads an image, which holds all that it imports.
func Parse(data []byte) (*Image, error) {
	var set descriptorpb.FileDescriptorSet
	if err := raw.Unmarshal(data, &set); err != nil {
		return nil, fmt.Errorf("decode image: %w", err)
	}
	return New(set.GetFile(), isImport)
}

// New is the image of files.
func New(protos []*descriptorpb.FileDescriptorProto, imported func(*descriptorpb.FileDescriptorProto) bool) (*Image, error) {
	files, err := protodesc.NewFiles(&descriptorpb.FileDescriptorSet{File: protos})
	if err != nil {
		return nil, fmt.Errorf("link image: %w", err)
	}
	im := &Image{types: dynamicpb.NewTypes(files), byKey: map[string]int{}}
	for _, p := range protos {
		desc, err := files.FindFileByPath(p.GetName())
		if err != nil {
			return nil, fmt.Errorf("link image: %w", err)
		}
		im.Files = append(im.Files, &File{Desc: desc, Import: imported(p)})
	}
	slices.SortFunc(im.Files, func(a, b *File) int { return strings.Compare(a.Desc.Path(), b.Desc.Path()) })
	for _, f := range im.Files {
		im.walk(f)
	}
	return im, nil
}

// The field of a file, and in it the field, in which buf's images say that a file is an import.
const (
	bufExtension = 8042
	bufIsImport  = 1
)

func isImport(p *descriptorpb.FileDescriptorProto) bool {
	return varint(bytesField(p.ProtoReflect().GetUnknown(), bufExtension), bufIsImport) != 0
}

// bytesField is the last field of that number in an encoded message, nil without one.
func bytesField(b []byte, want protowire.Number) (value []byte) {
	for len(b) > 0 {
		num, kind, n := protowire.ConsumeField(b)
		if n < 0 {
			return nil
		}
		if num == want && kind == protowire.BytesType {
			_, _, tag := protowire.ConsumeTag(b)
			value, _ = protowire.ConsumeBytes(b[tag:])
		}
		b = b[n:]
	}
	return value
}

func varint(b []byte, want protowire.Number) (value uint64) {
	for len(b) > 0 {
		num, kind, n := protowire.ConsumeField(b)
		if n < 0 {
			return 0
		}
		if num == want && kind == protowire.VarintType {
			_, _, tag := protowire.ConsumeTag(b)
			value, _ = protowire.ConsumeVarint(b[tag:])
		}
		b = b[n:]
	}
	return value
}

// Trim is the encoded image without the source positions and comments of files that keep refuses, in a form that is the same
// for the same image.
func Trim(data []byte, keep func(path string) bool) ([]byte, error) {
	var set descriptorpb.FileDescriptorSet
	if err := raw.Unmarshal(data, &set); err != nil {
		return nil, fmt.Errorf("decode image: %w", err)
	}
	for _, f := range set.File {
		if !keep(f.GetName()) {
			f.SourceCodeInfo = nil
		}
	}
	slices.SortFunc(set.File, func(a, b *descriptorpb.FileDescriptorProto) int { return strings.Compare(a.GetName(), b.GetName()) })
	out, err := proto.MarshalOptions{Deterministic: true}.Marshal(&set)
	if err != nil {
		return nil, fmt.Errorf("encode image: %w", err)
	}
	return out, nil
}

func (im *Image) add(kind, key string, d protoreflect.Descriptor, f *File) {
	key = kind + " " + key
	if _, again := im.byKey[key]; again {
		return // an enum value's alias
	}
	im.byKey[key] = len(im.elements)
	im.elements = append(im.elements, Element{Key: key, Kind: kind, Desc: d, File: f})
}

func (im *Image) walk(f *File) {
	var messages func(protoreflect.MessageDescriptors)
	enums := func(es protoreflect.EnumDescriptors) {
		for e := range all(es) {
			im.add("enum", string(e.FullName()), e, f)
			for v := range all(e.Values()) {
				im.add("enum value", fmt.Sprintf("%s %d", e.FullName(), v.Number()), v, f)
			}
		}
	}
	extensions := func(xs protoreflect.ExtensionDescriptors) {
		for x := range all(xs) {
			im.add("extension", string(x.FullName()), x, f)
		}
	}
	messages = func(ms protoreflect.MessageDescriptors) {
		for m := range all(ms) {
			if m.IsMapEntry() {
				continue
			}
			im.add("message", string(m.FullName()), m, f)
			for d := range all(m.Fields()) {
				im.add("field", fmt.Sprintf("%s %d", m.FullName(), d.Number()), d, f)
			}
			for o := range all(m.Oneofs()) {
				if !o.IsSynthetic() {
					im.add("oneof", string(o.FullName()), o, f)
				}
			}
			enums(m.Enums())
			extensions(m.Extensions())
			messages(m.Messages())
		}
	}
	messages(f.Desc.Messages())
	enums(f.Desc.Enums())
	extensions(f.Desc.Extensions())
	for s := range all(f.Desc.Services()) {
		im.add("service", string(s.FullName()), s, f)
		for r := range all(s.Methods()) {
			im.add("rpc", string(r.FullName()), r, f)
		}
	}
}

// all ranges over a list of descriptors.
func all[D any](list interface {
	Len() int
	Get(int) D
},
) func(func(D) bool) {
	return func(yield func(D) bool) {
		for i := range list.Len() {
			if !yield(list.Get(i)) {
				return
			}
		}
	}
}

// Elements are all declarations, files in the order of their paths and in each a parent before its children.
func (im *Image) Elements() []Element { return im.elements }

// Find is the element of that key.
func (im *Image) Find(key string) (Element, bool) {
	i, ok := im.byKey[key]
	if !ok {
		return Element{}, false
	}
	return im.elements[i], true
}

// Options are the custom options set on d, its own alone, by full name: each as bytes that are equal for equal values.
func (im *Image) Options(d protoreflect.Descriptor) map[string]string {
	values := map[string]string{}
	im.rangeOptions(d, func(x protoreflect.ExtensionTypeDescriptor, m protoreflect.Message) {
		one := m.New()
		one.Set(x, m.Get(x))
		b, err := proto.MarshalOptions{Deterministic: true}.Marshal(one.Interface())
		if err == nil {
			// Without the tag: an option that moves to another number keeps its value.
			if _, _, n := protowire.ConsumeTag(b); n > 0 && !x.IsList() {
				b = b[n:]
			}
		}
		values[string(x.FullName())] = string(b)
	})
	return values
}

// Uint is the value of an integer or enum option of d.
func (im *Image) Uint(d protoreflect.Descriptor, option string) (value uint64, set bool) {
	im.rangeOptions(d, func(x protoreflect.ExtensionTypeDescriptor, m protoreflect.Message) {
		if string(x.FullName()) != option || x.IsList() {
			return
		}
		set = true
		switch v := m.Get(x).Interface().(type) {
		case uint32:
			value = uint64(v)
		case uint64:
			value = v
		case int32:
			value = uint64(v)
		case int64:
			value = uint64(v)
		case protoreflect.EnumNumber:
			value = uint64(v)
		default:
			set = false
		}
	})
	return value, set
}

// Text is the value of an option of d as people write it.
func (im *Image) Text(d protoreflect.Descriptor, option string) string {
	text := "unset"
	im.rangeOptions(d, func(x protoreflect.ExtensionTypeDescriptor, m protoreflect.Message) {
		if string(x.FullName()) != option {
			return
		}
		text = m.Get(x).String()
		if e := x.Enum(); e != nil && !x.IsList() {
			if v := e.Values().ByNumber(m.Get(x).Enum()); v != nil {
				text = string(v.Name())
			}
		}
		text = strings.Join(strings.Fields(text), " ") // protobuf varies its spaces on purpose
	})
	return text
}

func (im *Image) rangeOptions(d protoreflect.Descriptor, f func(protoreflect.ExtensionTypeDescriptor, protoreflect.Message)) {
	opts := d.Options()
	if opts == nil || !opts.ProtoReflect().IsValid() {
		return
	}
	b, err := proto.Marshal(opts)
	if err != nil {
		return
	}
	m := opts.ProtoReflect().New()
	if err := (proto.UnmarshalOptions{Resolver: im.types}).Unmarshal(b, m.Interface()); err != nil {
		return
	}
	m.Range(func(fd protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		if x, ok := fd.(protoreflect.ExtensionTypeDescriptor); ok {
			f(x, m)
		}
		return true
	})
}

// A Declared is one file that sets a version option.
type Declared struct {
	File  *File
	Value uint64
	Line  int // 1-based, 0 where the image has no positions
}

// Versions are the module's own files that set the option, by path.
func (im *Image) Versions(option string) []Declared {
	var found []Declared
	for _, f := range im.Files {
		if f.Import {
			continue
		}
		if v, ok := im.Uint(f.Desc, option); ok {
			found = append(found, Declared{f, v, im.optionLine(f, option)})
		}
	}
	return found
}

func (im *Image) optionLine(f *File, option string) int {
	x, err := im.types.FindExtensionByName(protoreflect.FullName(option))
	if err != nil {
		return 0
	}
	const fileOptions = 8 // the field of a file that holds its options
	loc := f.Desc.SourceLocations().ByPath(protoreflect.SourcePath{fileOptions, int32(x.TypeDescriptor().Number())})
	if loc.Path == nil {
		return 0
	}
	return loc.StartLine + 1
}

// Comment is what stands before and behind a declaration, its lines joined: how it is wrapped says nothing.
func Comment(d protoreflect.Descriptor) string {
	file := d.ParentFile()
	if file == nil {
		return ""
	}
	loc := file.SourceLocations().ByDescriptor(d)
	return strings.Join(strings.Fields(loc.LeadingComments+" "+loc.TrailingComments), " ")
}

// PackageComment is the comment of a file's package statement.
func PackageComment(f protoreflect.FileDescriptor) string {
	const packageField = 2
	loc := f.SourceLocations().ByPath(protoreflect.SourcePath{packageField})
	return strings.Join(strings.Fields(loc.LeadingComments+" "+loc.TrailingComments), " ")
}

// Path is where a declaration stands in its file, nil where the image does not say.
func Path(d protoreflect.Descriptor) protoreflect.SourcePath {
	return d.ParentFile().SourceLocations().ByDescriptor(d).Path
}

// Reachable are the messages and enums that the module's own declarations can put on a wire: its own, and what their fields and
// rpcs name in other modules.
func (im *Image) Reachable() map[protoreflect.FullName]bool {
	seen := map[protoreflect.FullName]bool{}
	var message func(protoreflect.MessageDescriptor)
	field := func(d protoreflect.FieldDescriptor) {
		if m := d.Message(); m != nil {
			message(m)
		}
		if e := d.Enum(); e != nil {
			seen[e.FullName()] = true
		}
	}
	message = func(m protoreflect.MessageDescriptor) {
		if seen[m.FullName()] {
			return
		}
		seen[m.FullName()] = true
		for d := range all(m.Fields()) {
			field(d)
		}
	}
	for _, e := range im.elements {
		if e.File.Import {
			continue
		}
		switch d := e.Desc.(type) {
		case protoreflect.MessageDescriptor:
			message(d)
		case protoreflect.EnumDescriptor:
			seen[d.FullName()] = true
		case protoreflect.MethodDescriptor:
			message(d.Input())
			message(d.Output())
		case protoreflect.FieldDescriptor:
			if d.IsExtension() {
				field(d)
			}
		}
	}
	return seen
}

// Packages are the packages of the module's own files, ascending.
func (im *Image) Packages() []string {
	names := map[string]bool{}
	for _, f := range im.Files {
		if !f.Import {
			names[string(f.Desc.Package())] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}
