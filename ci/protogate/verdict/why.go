package verdict

import (
	"fmt"
	"strings"

	"github.com/fletchdb/fletch/ci/protogate/config"
)

// A Peer is who meets a change: someone of the last release at the other end of a surface.
type Peer struct {
	Name   string // "worker"
	Policy config.Policy
	Of     string // "protocol 1", "v0.1.0"
}

func (p Peer) String() string { return fmt.Sprintf("a %s of %s", p.Name, p.Of) }

// Rules of the golden vectors, beside buf's and the plugin's.
const (
	VectorChanged = "GOLDEN_VECTOR_CHANGED"
	VectorRemoved = "GOLDEN_VECTOR_REMOVED"
)

// A reason says what a peer makes of a change that a rule finds. %s is the peer.
type reason struct {
	rule   string // name, or the beginning of names that ends with *
	live   string // where both ends run at the same time
	stored string // where bytes were written long ago; empty is the same
}

// reasons are in the order in which they are looked up.
var reasons = []reason{
	{"RPC_NO_DELETE", "%s still makes the call and gets UNIMPLEMENTED.", ""},
	{"PACKAGE_SERVICE_NO_DELETE", "%s still makes the service's calls and gets UNIMPLEMENTED.", ""},
	{"RPC_SAME_REQUEST_TYPE", "%s sends the old message: its bytes are read as fields of the new one.", ""},
	{"RPC_SAME_RESPONSE_TYPE", "%s reads the answer's bytes as fields of the old message.", ""},
	{"RPC_SAME_IDEMPOTENCY_LEVEL", "%s repeats, caches or GETs the call by the old promise.", ""},
	{"RPC_SAME_*", "%s sends or awaits one message where the other end has many: the call hangs or fails.", ""},
	{"FIELD_NO_DELETE*", "%s goes on sending the field, which is dropped in silence, and reads an empty one where it needs a value.", "%s wrote the field: what stands in it can no longer be read."},
	{"FIELD_SAME_TYPE", "%s writes and reads the field's bytes as the old type: another value, or an error in the middle of a stream.", "%s wrote the old type: its bytes now read as another value, or not at all."},
	{"FIELD_WIRE*TYPE", "%s writes and reads the field's bytes as the old type: another value, or an error in the middle of a stream.", "%s wrote the old type: its bytes now read as another value, or not at all."},
	{"FIELD_SAME_CARDINALITY", "%s and the new end disagree on one, many or absent: it keeps the last of many, or takes absent for zero.", "%s wrote one where many are read, or the other way round: values are lost, or absent reads as zero."},
	{"FIELD_WIRE*CARDINALITY", "%s and the new end disagree on one, many or absent: it keeps the last of many, or takes absent for zero.", "%s wrote one where many are read, or the other way round: values are lost, or absent reads as zero."},
	{"FIELD_SAME_NAME", "%s knows this number by the other name: two fields that swapped numbers look exactly like this, and it would put the value into the wrong column. JSON finds nothing under the old name.", "%s wrote this number under the other name: the value would be read into the wrong place."},
	{"FIELD_SAME_JSON_NAME", "%s reads and writes JSON under the old name, and finds nothing.", ""},
	{"FIELD_SAME_ONEOF", "%s sets or clears the field together with others that no longer belong to it: a value vanishes, or two are set where one is expected.", ""},
	{"FIELD_SAME_DEFAULT", "%s takes an absent field for the old default.", ""},
	{"FIELD_SAME_UTF8_VALIDATION", "%s refuses, or sends, text that is no UTF-8, and the other end does not expect it.", ""},
	{"MESSAGE_SAME_REQUIRED_FIELDS", "%s leaves the field out, or misses it: the whole message is refused.", ""},
	{"ENUM_VALUE_NO_DELETE*", "%s still sends the number, which is now unknown.", "%s wrote the number, which is now unknown."},
	{"ENUM_VALUE_SAME_NAME", "%s gives the number the other meaning; JSON writes the other name.", ""},
	{"ENUM_SAME_*", "%s treats numbers it does not know in another way than the new end expects.", ""},
	{"MESSAGE_SAME_JSON_FORMAT", "%s reads and writes the message's JSON in another form.", ""},
	{"RESERVED_*", "the number or name was kept out of use because a peer still gives it its old meaning: free to be used again, it would be read as that.", ""},
	{"EXTENSION_MESSAGE_NO_DELETE", "extensions that %s sends in the range have no place any more.", ""},
	{"PACKAGE_EXTENSION_NO_DELETE", "%s still sets the extension; schemas that use it no longer compile.", ""},
	{"PACKAGE_NO_DELETE", "%s still asks for everything in the package by its name.", ""},
	{"PACKAGE_*_NO_DELETE", "%s still sends it by name, as an error detail or in an Any, and nobody knows it.", "%s wrote it by name, and nobody can read it any more."},
	{"FILE_SAME_PACKAGE", "%s asks for everything in the file by its old full name.", ""},
	{"PROTOGATE_OPTION_SAME_VALUE", "%s goes by the old value: it sends what is now refused, takes another route, or asks for other rights.", "%s wrote by the old value: what it wrote may now be refused."},
	{"PROTOGATE_EXTENSION_SAME_NUMBER", "%s reads the number as the other extension: released schemas change their meaning.", ""},
	{"PROTOGATE_ENUM_SAME_DEFAULT", "%s takes an absent field for the old first value, and reads the old name in JSON.", ""},
	{"PROTOGATE_VALUE_UNDECLARED", "%s never heard of it, and nothing says whether it refuses, ignores or mistakes it.", "a reader of %s never heard of it, and nothing says whether it refuses, ignores or mistakes it."},
	{"PROTOGATE_ADDITION", "%s does not have it: clients tell by the version whether a server does.", ""},
	{"PROTOGATE_COMMENT_CHANGED", "if a unit, a limit or a promise changed with the words, %s still keeps the old one.", ""},
	{"PROTOGATE_POLICY_DECLARED", "%s was built before it was declared, and may do otherwise.", ""},
	{VectorChanged, "%s computes, frames or limits the old way: the schema is the same, the bytes are not, and neither end would notice.", "%s wrote the old way: the schema is the same, the bytes are not."},
	{VectorRemoved, "%s still relies on what this vector held in place.", ""},
}

// Why says what p makes of a change that the rule finds: a sentence.
func Why(rule string, p Peer) string {
	for _, r := range reasons {
		if !matches(r.rule, rule) {
			continue
		}
		text := r.live
		if p.Policy == config.Archive && r.stored != "" {
			text = r.stored
		}
		if strings.Contains(text, "%s") {
			text = fmt.Sprintf(text, p)
		}
		return strings.ToUpper(text[:1]) + text[1:]
	}
	return strings.ToUpper(p.String()[:1]) + p.String()[1:] + " goes by the old schema."
}

// matches tells whether a rule's name fits a pattern with at most one *.
func matches(pattern, rule string) bool {
	head, tail, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == rule
	}
	return len(rule) >= len(head)+len(tail) && strings.HasPrefix(rule, head) && strings.HasSuffix(rule, tail)
}

// stronger is the rule that says all that a weaker one says of the same place.
var stronger = map[string]string{
	"FIELD_NO_DELETE_UNLESS_NAME_RESERVED":        "FIELD_NO_DELETE",
	"FIELD_NO_DELETE_UNLESS_NUMBER_RESERVED":      "FIELD_NO_DELETE",
	"ENUM_VALUE_NO_DELETE_UNLESS_NAME_RESERVED":   "ENUM_VALUE_NO_DELETE",
	"ENUM_VALUE_NO_DELETE_UNLESS_NUMBER_RESERVED": "ENUM_VALUE_NO_DELETE",
	"FIELD_WIRE_JSON_COMPATIBLE_TYPE":             "FIELD_SAME_TYPE",
	"FIELD_WIRE_COMPATIBLE_TYPE":                  "FIELD_SAME_TYPE",
	"FIELD_WIRE_JSON_COMPATIBLE_CARDINALITY":      "FIELD_SAME_CARDINALITY",
	"FIELD_WIRE_COMPATIBLE_CARDINALITY":           "FIELD_SAME_CARDINALITY",
	"FIELD_SAME_JSON_NAME":                        "FIELD_SAME_NAME",
}

// Distinct leaves out what a stronger rule says of the same line. The order stays.
func Distinct(findings []Finding) []Finding {
	type place struct {
		rule, path string
		line       int
	}
	said := map[place]bool{}
	for _, f := range findings {
		said[place{f.Rule, f.Path, f.Line}] = true
	}
	var out []Finding
	for _, f := range findings {
		if strong := stronger[f.Rule]; strong == "" || !said[place{strong, f.Path, f.Line}] {
			out = append(out, f)
		}
	}
	return out
}
