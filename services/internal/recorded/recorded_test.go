package recorded

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	apiv1 "github.com/fletchdb/fletch/gen/go/fletch/api/v1"
)

// releases are the folders of what releases froze.
func releases(t *testing.T) []string {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join("..", "..", "..", "ci", "released", "v*"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no release: %v", err)
	}
	return dirs
}

func files(t *testing.T, release string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join("testdata", release, "*.*.*"))
	if err != nil || len(list) < 20 {
		t.Fatalf("%s is not recorded: ci/record (%d files, %v)", release, len(list), err)
	}
	return list
}

func schema(t *testing.T, dir string) *protoregistry.Files {
	t.Helper()
	released, err := Schema(dir)
	if err != nil {
		t.Fatal(err)
	}
	return released
}

// What servers of every release answered is read by today's messages as the release's own read it.
func TestOldAnswers(t *testing.T) {
	_ = apiv1.File_fletch_api_v1_query_proto // links the schema in
	for _, dir := range releases(t) {
		released := schema(t, dir)
		for _, f := range files(t, filepath.Base(dir)) {
			if err := Compare(f, released, protoregistry.GlobalFiles); err != nil {
				t.Errorf("%s: %v", f, err)
			}
		}
	}
}

// What was recorded stays as it was.
func TestRecordingsAreFrozen(t *testing.T) {
	for _, dir := range releases(t) {
		release := filepath.Base(dir)
		sums := map[string]string{}
		text, err := os.ReadFile(filepath.Join("testdata", release, "SHA256SUMS"))
		if err != nil {
			t.Fatal(err)
		}
		for s := bufio.NewScanner(bytes.NewReader(text)); s.Scan(); {
			sum, name, _ := strings.Cut(s.Text(), "  ./")
			sums[name] = sum
		}
		for _, f := range files(t, release) {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			if sum := sha256.Sum256(b); hex.EncodeToString(sum[:]) != sums[filepath.Base(f)] {
				t.Errorf("%s is not what was recorded", f)
			}
			delete(sums, filepath.Base(f))
		}
		if len(sums) > 0 {
			t.Errorf("of %s are gone: %v", release, sums)
		}
	}
}

// Every change that breaks an old reader, or is none that it could follow, is seen in what was recorded; an addition is not.
func TestChangesOfTheSchema(t *testing.T) {
	dir := releases(t)[0]
	released := schema(t, dir)
	recorded := files(t, filepath.Base(dir))
	field := func(m *descriptorpb.DescriptorProto, name string) *descriptorpb.FieldDescriptorProto {
		return m.GetField()[slices.IndexFunc(m.GetField(), func(f *descriptorpb.FieldDescriptorProto) bool { return f.GetName() == name })]
	}
	for _, tc := range []struct {
		name, file string
		change     func(f *descriptorpb.FileDescriptorProto)
		breaks     string
	}{
		{"a field more", "query", func(f *descriptorpb.FileDescriptorProto) {
			m := message(f, "QueryEnd")
			m.Field = append(m.Field, addition())
		}, ""},
		{"an enum value more", "cluster", func(f *descriptorpb.FileDescriptorProto) {
			e := f.GetEnumType()[0]
			e.Value = append(e.Value, &descriptorpb.EnumValueDescriptorProto{Name: proto.String("WORKER_STATE_NEW"), Number: proto.Int32(900)})
		}, ""},
		{"a field less", "query", func(f *descriptorpb.FileDescriptorProto) {
			m := message(f, "QueryEnd")
			m.Field = slices.DeleteFunc(m.GetField(), func(f *descriptorpb.FieldDescriptorProto) bool { return f.GetName() == "elapsed" })
		}, "end.elapsed, field 6, is not there any more"},
		{"another type", "query", func(f *descriptorpb.FileDescriptorProto) {
			field(message(f, "QueryEnd"), "attempts").Type = descriptorpb.FieldDescriptorProto_TYPE_STRING.Enum()
		}, "attempts"},
		{"another name", "query", func(f *descriptorpb.FileDescriptorProto) {
			g := field(message(f, "Column"), "type")
			g.Name, g.JsonName = proto.String("kind"), proto.String("kind")
		}, "is called kind now"},
		{"an enum value with another name", "cluster", func(f *descriptorpb.FileDescriptorProto) {
			f.GetEnumType()[0].GetValue()[1].Name = proto.String("WORKER_STATE_OPEN")
		}, "is called WORKER_STATE_READY in one schema and WORKER_STATE_OPEN in the other"},
		{"an enum value less", "cluster", func(f *descriptorpb.FileDescriptorProto) {
			e := f.GetEnumType()[0]
			e.Value = slices.Delete(e.GetValue(), 1, 2)
		}, "value WORKER_STATE_READY is not there any more"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			set := &descriptorpb.FileDescriptorSet{}
			released.RangeFiles(func(f protoreflect.FileDescriptor) bool {
				p := protodesc.ToFileDescriptorProto(f)
				if p.GetName() == "fletch/api/v1/"+tc.file+".proto" {
					tc.change(p)
				}
				set.File = append(set.File, p)
				return true
			})
			changed, err := protodesc.NewFiles(set)
			if err != nil {
				t.Fatal(err)
			}
			var found []string
			for _, f := range recorded {
				if err := Compare(f, released, changed); err != nil {
					found = append(found, err.Error())
				}
			}
			if tc.breaks == "" && len(found) > 0 || tc.breaks != "" && !strings.Contains(strings.Join(found, "\n"), tc.breaks) {
				t.Errorf("found %v, not %q", found, tc.breaks)
			}
		})
	}
}

// A server may set what came since: readers of the release see the rest as before, in binary and in JSON.
func TestAdditionsInAnswers(t *testing.T) {
	released := schema(t, releases(t)[0])
	set := &descriptorpb.FileDescriptorSet{}
	released.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		p := protodesc.ToFileDescriptorProto(f)
		if p.GetName() == "fletch/api/v1/cluster.proto" {
			m := message(p, "Worker")
			m.Field = append(m.Field, addition())
			p.EnumType[0].Value = append(p.GetEnumType()[0].GetValue(), &descriptorpb.EnumValueDescriptorProto{Name: proto.String("WORKER_STATE_NEW"), Number: proto.Int32(900)})
		}
		set.File = append(set.File, p)
		return true
	})
	changed, err := protodesc.NewFiles(set)
	if err != nil {
		t.Fatal(err)
	}
	method, err := methodOf(changed, "ClusterService", "ListWorkers")
	if err != nil {
		t.Fatal(err)
	}
	answer := dynamicpb.NewMessage(method.Output())
	workers := method.Output().Fields().ByName("workers")
	w := answer.Mutable(workers).List().AppendMutable().Message()
	fields := w.Descriptor().Fields()
	w.Set(fields.ByName("url"), protoreflect.ValueOfString("http://w"))
	w.Set(fields.ByName("new"), protoreflect.ValueOfString("new"))
	w.Set(fields.ByName("state"), protoreflect.ValueOfEnum(900))
	binary, err1 := proto.Marshal(answer)
	text, err2 := protojson.Marshal(answer)
	if err1 != nil || err2 != nil || !bytes.Contains(text, []byte("WORKER_STATE_NEW")) {
		t.Fatal(err1, err2, string(text))
	}
	for codec, b := range map[string][]byte{"binpb": binary, "json": text} {
		path := filepath.Join(t.TempDir(), "ClusterService.ListWorkers.new."+codec)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := Compare(path, released, changed); err != nil {
			t.Errorf("%s: %v", codec, err)
		}
	}
}

// addition is a field that a later minor version brings.
func addition() *descriptorpb.FieldDescriptorProto {
	return &descriptorpb.FieldDescriptorProto{
		Name: proto.String("new"), JsonName: proto.String("new"), Number: proto.Int32(900),
		Type: descriptorpb.FieldDescriptorProto_TYPE_STRING.Enum(), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
	}
}

func message(f *descriptorpb.FileDescriptorProto, name string) *descriptorpb.DescriptorProto {
	return f.GetMessageType()[slices.IndexFunc(f.GetMessageType(), func(m *descriptorpb.DescriptorProto) bool { return m.GetName() == name })]
}

// Damaged recordings are refused, not taken for something else.
func TestFrames(t *testing.T) {
	for _, b := range [][]byte{{0}, {0, 0, 0, 0, 9, 1}, {0, 255, 255, 255, 255}, {0, 0, 0, 0, 0}} {
		if _, err := frames(b); err == nil {
			t.Errorf("%v is a stream", b)
		}
	}
	if m, err := frames([]byte{0, 0, 0, 0, 1, 'x', 2, 0, 0, 0, 2, '{', '}'}); err != nil || len(m) != 1 || string(m[0]) != "x" {
		t.Errorf("%q, %v", m, err)
	}
}
