// Package identity says who this process is, and checks who the other one is, on every call: the identity a caller expects
// travels in request headers and is compared before the body is read, the callee's own comes back and is compared before a
// row is used. It must never know what a call is about.
package identity

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"fmt"
	"io"
	"net/url"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	apiv1 "github.com/fletchdb/fletch/gen/go/fletch/api/v1"
	identityv1 "github.com/fletchdb/fletch/gen/go/fletch/identity/v1"
	optionsv1 "github.com/fletchdb/fletch/gen/go/fletch/options/v1"
	planv1 "github.com/fletchdb/fletch/gen/go/fletch/plan/v1"
	workerv1 "github.com/fletchdb/fletch/gen/go/fletch/worker/v1"
)

// Protocol is the version of the worker protocol that this build speaks: what worker.proto says of itself.
func Protocol() uint32 {
	return proto.GetExtension(workerv1.File_fletch_worker_v1_worker_proto.Options(), optionsv1.E_ProtocolVersion).(uint32)
}

// An APIVersion is a version of the API. Major is the package's number, minor grows with each addition.
type APIVersion struct{ Major, Minor uint32 }

func (v APIVersion) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// API is the version of the API that this build speaks: what version.proto says of itself.
func API() APIVersion {
	return APIVersion{1, proto.GetExtension(apiv1.File_fletch_api_v1_version_proto.Options(), optionsv1.E_ApiMinor).(uint32)}
}

// APIMinimum is the least API version of a client that this build serves.
func APIMinimum() APIVersion { return APIVersion{1, 0} }

// ParseAPI reads "major.minor".
func ParseAPI(s string) (v APIVersion, ok bool) {
	major, minor, ok := strings.Cut(s, ".")
	if !ok {
		return v, false
	}
	a, err1 := strconv.ParseUint(major, 10, 16)
	b, err2 := strconv.ParseUint(minor, 10, 16)
	return APIVersion{uint32(a), uint32(b)}, err1 == nil && err2 == nil
}

// NewInstance is a fresh instance id: 32 hex digits, random per process start.
func NewInstance() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails: it ends the process if the system has no randomness
	return hex.EncodeToString(b[:])
}

// Build is the content-based id of this executable: Go's build id from the file itself or, where that was stripped, the
// file's SHA-256. Equal builds are equal files, whatever a version control system says.
var Build = sync.OnceValue(func() string {
	path, err := os.Executable()
	if err != nil {
		return "unknown"
	}
	f, err := os.Open(path)
	if err != nil {
		return "unknown"
	}
	defer func() { _ = f.Close() }()
	if id := goBuildID(f); id != "" {
		return id
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "unknown"
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil))
})

// goBuildID is the content half of Go's build id, action/…/content, of an ELF file; "" if it has none.
func goBuildID(r io.ReaderAt) string {
	f, err := elf.NewFile(r)
	if err != nil {
		return ""
	}
	section := f.Section(".note.go.buildid")
	if section == nil || section.Size > 4096 {
		return ""
	}
	note, err := section.Data()
	if err != nil {
		return ""
	}
	_, id, ok := bytes.Cut(note, []byte("Go\x00\x00"))
	if !ok {
		return ""
	}
	id = bytes.TrimRight(id, "\x00")
	if i := bytes.LastIndexByte(id, '/'); i >= 0 {
		id = id[i+1:]
	}
	if len(id) == 0 || len(id) > 120 {
		return ""
	}
	return "go:" + string(id)
}

// CheckVersion tells why s cannot be a user's version: it is at most 128 bytes of UTF-8 without control characters.
func CheckVersion(s string) error {
	switch {
	case len(s) > 128:
		return fmt.Errorf("a version has at most 128 bytes, this one has %d", len(s))
	case !utf8.ValidString(s):
		return fmt.Errorf("a version is UTF-8 text, %q is not", s)
	case strings.ContainsFunc(s, unicode.IsControl):
		return fmt.Errorf("a version has no control characters, %q has", s)
	}
	return nil
}

// The identity headers. They are the same in requests, where they name whom the caller means, and in answers, where they
// name who answers.
const (
	HeaderInstance     = "Fletch-Instance"
	HeaderVersion      = "Fletch-Worker-Version"
	HeaderProtocol     = "Fletch-Protocol"
	HeaderCapabilities = "Fletch-Capabilities"
	HeaderAPI          = "Fletch-Api-Version"
	HeaderAPIMinimum   = "Fletch-Api-Minimum"
	HeaderWantVersion  = "Fletch-Want-Version" // of an API call: the version of workers that its query asks for
)

type header interface {
	Get(string) string
	Values(string) []string
	Set(string, string)
}

func write(h header, id *identityv1.Identity) {
	h.Set(HeaderInstance, id.GetInstanceId())
	h.Set(HeaderVersion, url.PathEscape(id.GetVersion()))
	h.Set(HeaderProtocol, strconv.FormatUint(uint64(id.GetProtocol()), 10))
	h.Set(HeaderCapabilities, id.GetCapabilities())
}

// read is the identity that headers name; missing are the names of those that are absent, malformed or there twice.
func read(h header) (id *identityv1.Identity, missing []string) {
	id = &identityv1.Identity{InstanceId: clip(h.Get(HeaderInstance)), Capabilities: clip(h.Get(HeaderCapabilities))}
	version, err := url.PathUnescape(h.Get(HeaderVersion))
	versionOK := err == nil && CheckVersion(version) == nil
	if versionOK {
		id.Version = version
	}
	protocol, err := strconv.ParseUint(h.Get(HeaderProtocol), 10, 32)
	protocolOK := err == nil
	id.Protocol = uint32(protocol)
	if !protocolOK {
		id.Protocol = 0
	}
	for _, f := range []struct {
		name string
		ok   bool
	}{{HeaderInstance, true}, {HeaderVersion, versionOK}, {HeaderProtocol, protocolOK}, {HeaderCapabilities, true}} {
		if !f.ok || len(h.Values(f.name)) != 1 {
			missing = append(missing, f.name)
		}
	}
	return id, missing
}

// clip bounds and cleans what a stranger sent, since it is sent back in an error. What is right is never longer.
func clip(s string) string {
	const limit = 64
	if len(s) > limit {
		s = s[:limit]
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, s)
}

// Same tells whether need and have are the same worker process of the same version. The build is compared through the
// capability digest and the instance, and need not be known.
func Same(need, have *identityv1.Identity) bool {
	return need.GetInstanceId() == have.GetInstanceId() && need.GetVersion() == have.GetVersion() &&
		need.GetProtocol() == have.GetProtocol() && need.GetCapabilities() == have.GetCapabilities()
}

// Digest is the digest of capabilities, as identity.proto defines it: 32 hex digits.
func Digest(c *identityv1.Capabilities) string {
	var lines []string
	for _, m := range c.GetMessages() {
		lines = append(lines, "message "+m.GetName()+" "+join(m.GetFields()))
	}
	for _, e := range c.GetEnums() {
		lines = append(lines, "enum "+e.GetName()+" "+join(e.GetValues()))
	}
	for _, f := range c.GetFunctions() {
		lines = append(lines, fmt.Sprintf("function %s(%s) %s %s %s", f.GetName(), strings.Join(f.GetArguments(), ","), f.GetResult(), f.GetVolatility(), f.GetVersion()))
		if len(f.GetState()) > 0 {
			lines = append(lines, fmt.Sprintf("state %s(%s) %s", f.GetName(), strings.Join(f.GetArguments(), ","), strings.Join(f.GetState(), ",")))
		}
	}
	lines = append(lines, fmt.Sprintf("hash_spec %d", c.GetHashSpec()), fmt.Sprintf("aggregate_state_spec %d", c.GetAggregateStateSpec()))
	slices.Sort(lines)
	sum := sha256.New()
	for _, l := range lines {
		_, _ = io.WriteString(sum, l+"\n")
	}
	return hex.EncodeToString(sum.Sum(nil))[:32]
}

func join[N uint32 | int32](ns []N) string {
	parts := make([]string, len(ns))
	for i, n := range ns {
		parts[i] = strconv.FormatInt(int64(n), 10)
	}
	return strings.Join(parts, ",")
}

// Known lists every message and enum of the given schema files with the numbers this build knows, ascending by name.
func Known(files ...protoreflect.FileDescriptor) (messages []*identityv1.KnownMessage, enums []*identityv1.KnownEnum) {
	var addEnums func(protoreflect.EnumDescriptors)
	var addMessages func(protoreflect.MessageDescriptors)
	addEnums = func(es protoreflect.EnumDescriptors) {
		for i := range es.Len() {
			known := &identityv1.KnownEnum{Name: string(es.Get(i).FullName())}
			for j := range es.Get(i).Values().Len() {
				known.Values = append(known.Values, int32(es.Get(i).Values().Get(j).Number()))
			}
			slices.Sort(known.Values)
			enums = append(enums, known)
		}
	}
	addMessages = func(ms protoreflect.MessageDescriptors) {
		for i := range ms.Len() {
			m := ms.Get(i)
			if m.IsMapEntry() {
				continue
			}
			known := &identityv1.KnownMessage{Name: string(m.FullName())}
			for j := range m.Fields().Len() {
				known.Fields = append(known.Fields, uint32(m.Fields().Get(j).Number()))
			}
			slices.Sort(known.Fields)
			messages = append(messages, known)
			addMessages(m.Messages())
			addEnums(m.Enums())
		}
	}
	for _, f := range files {
		addMessages(f.Messages())
		addEnums(f.Enums())
	}
	slices.SortFunc(messages, func(a, b *identityv1.KnownMessage) int { return strings.Compare(a.GetName(), b.GetName()) })
	slices.SortFunc(enums, func(a, b *identityv1.KnownEnum) int { return strings.Compare(a.GetName(), b.GetName()) })
	return messages, enums
}

// KnownPlan is Known of all that a plan is made of.
func KnownPlan() (messages []*identityv1.KnownMessage, enums []*identityv1.KnownEnum) {
	return Known(
		planv1.File_fletch_plan_v1_plan_proto, planv1.File_fletch_plan_v1_expression_proto, planv1.File_fletch_plan_v1_type_proto, planv1.File_fletch_plan_v1_value_proto,
	)
}

// Release is the release of Fletch that this build is, "v0.1.0", or "devel" for the build of a working tree.
func Release() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	const own = "github.com/fletchdb/fletch/services"
	if info.Main.Path == own && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	for _, m := range info.Deps {
		if m.Path == own && m.Replace == nil && m.Version != "" {
			return m.Version
		}
	}
	return "devel"
}
