// Package gen_test holds the schemas to rules that buf's lint has no word for.
package gen_test

import (
	"slices"
	"strings"
	"testing"

	apiv1 "github.com/fletchdb/fletch/gen/go/fletch/api/v1"
	eventlogv1 "github.com/fletchdb/fletch/gen/go/fletch/eventlog/v1"
	identityv1 "github.com/fletchdb/fletch/gen/go/fletch/identity/v1"
	optionsv1 "github.com/fletchdb/fletch/gen/go/fletch/options/v1"
	planv1 "github.com/fletchdb/fletch/gen/go/fletch/plan/v1"
	workerv1 "github.com/fletchdb/fletch/gen/go/fletch/worker/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/runtime/protoimpl"
)

// files are the schemas of Fletch, by path.
func files(t *testing.T) map[string]protoreflect.FileDescriptor {
	t.Helper()
	// One mention per package links its files in.
	for _, m := range []proto.Message{&apiv1.Column{}, &eventlogv1.Digest{}, &identityv1.Identity{}, &planv1.Node{}, &workerv1.TaskKey{}} {
		_ = m.ProtoReflect()
	}
	all := map[string]protoreflect.FileDescriptor{}
	protoregistry.GlobalFiles.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		if strings.HasPrefix(f.Path(), "fletch/") {
			all[f.Path()] = f
		}
		return true
	})
	return all
}

// A version is declared in one place only, so that no second one can disagree.
func TestVersionsAreDeclaredOnce(t *testing.T) {
	for _, tc := range []struct {
		option protoreflect.ExtensionType
		in     string
	}{
		{optionsv1.E_ProtocolVersion, "fletch/worker/v1/worker.proto"},
		{optionsv1.E_ApiMinor, "fletch/api/v1/version.proto"},
		{optionsv1.E_LogVersion, "fletch/eventlog/v1/eventlog.proto"},
	} {
		var found []string
		for path, f := range files(t) {
			if proto.HasExtension(f.Options(), tc.option) {
				found = append(found, path)
			}
		}
		if !slices.Equal(found, []string{tc.in}) {
			t.Errorf("%s is set in %v, want only %s", tc.option.TypeDescriptor().FullName(), found, tc.in)
		}
	}
}

// Every enum and oneof says what a reader does with a value that it does not know.
func TestUnknownPolicies(t *testing.T) {
	check := func(d protoreflect.Descriptor, option *protoimpl.ExtensionInfo) {
		if proto.GetExtension(d.Options(), option).(optionsv1.UnknownPolicy) == optionsv1.UnknownPolicy_UNKNOWN_POLICY_UNSPECIFIED {
			t.Errorf("%s declares no %s", d.FullName(), option.TypeDescriptor().FullName())
		}
	}
	var messages func(ms protoreflect.MessageDescriptors)
	enums := func(es protoreflect.EnumDescriptors) {
		for i := range es.Len() {
			if es.Get(i).FullName() != "fletch.options.v1.UnknownPolicy" { // it cannot refer to itself
				check(es.Get(i), optionsv1.E_EnumUnknown)
			}
		}
	}
	messages = func(ms protoreflect.MessageDescriptors) {
		for i := range ms.Len() {
			m := ms.Get(i)
			for j := range m.Oneofs().Len() {
				if o := m.Oneofs().Get(j); !o.IsSynthetic() {
					check(o, optionsv1.E_OneofUnknown)
				}
			}
			enums(m.Enums())
			messages(m.Messages())
		}
	}
	for _, f := range files(t) {
		enums(f.Enums())
		messages(f.Messages())
	}
}

// Surfaces share no message but identity's, so that a change of one can never change another.
func TestSurfacesStandAlone(t *testing.T) {
	may := map[string][]string{
		"options":  nil,
		"identity": {"options"},
		"plan":     {"options", "plan"},
		"worker":   {"options", "identity", "plan", "worker"},
		"api":      {"options", "api"},
		"eventlog": {"options", "eventlog"},
	}
	surface := func(path string) string { return strings.Split(path, "/")[1] }
	for path, f := range files(t) {
		for i := range f.Imports().Len() {
			in := f.Imports().Get(i).Path()
			if strings.HasPrefix(in, "fletch/") && !slices.Contains(may[surface(path)], surface(in)) {
				t.Errorf("%s imports %s", path, in)
			}
		}
	}
}
