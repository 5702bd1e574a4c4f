package eventlog

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"
)

// appendEvent adds an event's payload to b: protobuf's JSON, without white space and with enums as numbers, which is what protojson
// writes but for the white space that it puts in or not, by build. A small query has a dozen events; protojson took a tenth of its
// CPU time.
func appendEvent(b []byte, m proto.Message) ([]byte, error) {
	r := m.ProtoReflect()
	return formOf(r.Descriptor()).append(b, r)
}

// encode is appendEvent into memory of its own.
func encode(m proto.Message) ([]byte, error) { return appendEvent(make([]byte, 0, 512), m) }

// A form is how a message is written.
type form struct {
	fields   []formField
	duration bool // google.protobuf.Duration, which is a text
}

type formField struct {
	of        protoreflect.FieldDescriptor
	key       string // "name":
	list, set bool   // set: a map
	message   *form  // of a message, or of a list of them
	optional  bool   // a zero is there
}

var (
	forms    sync.Map // *form by descriptor: schemas do not change while a process runs
	formLock sync.Mutex
)

func formOf(d protoreflect.MessageDescriptor) *form {
	if known, ok := forms.Load(d); ok {
		return known.(*form)
	}
	formLock.Lock()
	defer formLock.Unlock()
	made := map[protoreflect.FullName]*form{}
	f := newForm(d, made)
	forms.Store(d, f)
	return f
}

// newForm makes the form of a message and of those in it; made are those that are made already, as messages may hold themselves.
func newForm(d protoreflect.MessageDescriptor, made map[protoreflect.FullName]*form) *form {
	if f := made[d.FullName()]; f != nil {
		return f
	}
	f := &form{duration: d.FullName() == "google.protobuf.Duration"}
	made[d.FullName()] = f
	for i := range d.Fields().Len() {
		of := d.Fields().Get(i)
		field := formField{of: of, key: `"` + of.JSONName() + `":`, list: of.IsList(), set: of.IsMap(), optional: of.HasOptionalKeyword()}
		if of.Kind() == protoreflect.MessageKind && !field.set {
			field.message = newForm(of.Message(), made)
		}
		f.fields = append(f.fields, field)
	}
	return f
}

func (f *form) append(b []byte, m protoreflect.Message) (_ []byte, err error) {
	if f.duration {
		return appendDuration(b, m.Interface().(*durationpb.Duration))
	}
	b = append(b, '{')
	first := true
	for i := range f.fields {
		field := &f.fields[i]
		if field.optional && !m.Has(field.of) {
			continue
		}
		v := m.Get(field.of)
		if !field.optional && field.absent(v) {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(b, field.key...)
		switch {
		case field.set:
			b, err = appendMap(b, field.of, v.Map())
		case field.list:
			b = append(b, '[')
			for i, list := 0, v.List(); i < list.Len(); i++ {
				if i > 0 {
					b = append(b, ',')
				}
				if b, err = field.append(b, list.Get(i)); err != nil {
					return nil, err
				}
			}
			b = append(b, ']')
		default:
			b, err = field.append(b, v)
		}
		if err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

// absent tells whether a value is what a field has that was not set. It asks less of protobuf's reflection than Has.
func (f *formField) absent(v protoreflect.Value) bool {
	switch {
	case f.set:
		return v.Map().Len() == 0
	case f.list:
		return v.List().Len() == 0
	case f.message != nil:
		return !v.Message().IsValid()
	}
	switch f.of.Kind() {
	case protoreflect.StringKind:
		return v.String() == ""
	case protoreflect.BoolKind:
		return !v.Bool()
	case protoreflect.EnumKind:
		return v.Enum() == 0
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Int64Kind, protoreflect.Sint64Kind:
		return v.Int() == 0
	case protoreflect.Uint32Kind, protoreflect.Uint64Kind:
		return v.Uint() == 0
	case protoreflect.DoubleKind:
		return v.Float() == 0 && !math.Signbit(v.Float())
	}
	return false
}

func (f *formField) append(b []byte, v protoreflect.Value) ([]byte, error) {
	if f.message != nil {
		return f.message.append(b, v.Message())
	}
	return appendSingle(b, f.of, v)
}

// appendMap adds a map with keys of text, in order.
func appendMap(b []byte, f protoreflect.FieldDescriptor, m protoreflect.Map) (_ []byte, err error) {
	if f.MapKey().Kind() != protoreflect.StringKind {
		return nil, fmt.Errorf("%s has keys that are no text", f.FullName())
	}
	all := map[string]protoreflect.Value{}
	m.Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
		all[k.String()] = v
		return true
	})
	b = append(b, '{')
	for i, k := range slices.Sorted(maps.Keys(all)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendText(b, k), ':')
		if b, err = appendSingle(b, f.MapValue(), all[k]); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

func appendSingle(b []byte, f protoreflect.FieldDescriptor, v protoreflect.Value) ([]byte, error) {
	switch f.Kind() {
	case protoreflect.BoolKind:
		return strconv.AppendBool(b, v.Bool()), nil
	case protoreflect.StringKind:
		return appendText(b, v.String()), nil
	case protoreflect.EnumKind:
		return strconv.AppendInt(b, int64(v.Enum()), 10), nil
	case protoreflect.Int32Kind, protoreflect.Sint32Kind:
		return strconv.AppendInt(b, v.Int(), 10), nil
	case protoreflect.Uint32Kind:
		return strconv.AppendUint(b, v.Uint(), 10), nil
	case protoreflect.Int64Kind, protoreflect.Sint64Kind:
		return append(strconv.AppendInt(append(b, '"'), v.Int(), 10), '"'), nil
	case protoreflect.Uint64Kind:
		return append(strconv.AppendUint(append(b, '"'), v.Uint(), 10), '"'), nil
	case protoreflect.DoubleKind:
		return appendDouble(b, v.Float()), nil
	}
	return nil, fmt.Errorf("%s is of a kind that the log does not hold", f.FullName())
}

func appendDouble(b []byte, v float64) []byte {
	switch {
	case math.IsNaN(v):
		return append(b, `"NaN"`...)
	case math.IsInf(v, 1):
		return append(b, `"Infinity"`...)
	case math.IsInf(v, -1):
		return append(b, `"-Infinity"`...)
	}
	return strconv.AppendFloat(b, v, 'g', -1, 64)
}

// appendDuration adds seconds with 3, 6 or 9 digits, or none, behind the point.
func appendDuration(b []byte, d *durationpb.Duration) ([]byte, error) {
	if err := d.CheckValid(); err != nil {
		return nil, err
	}
	sign, s, n := "", d.GetSeconds(), d.GetNanos()
	if s < 0 || n < 0 {
		sign, s, n = "-", -s, -n
	}
	digits := fmt9(n)
	for strings.HasSuffix(digits, "000") {
		digits = digits[:len(digits)-3]
	}
	b = strconv.AppendInt(append(append(b, '"'), sign...), s, 10)
	if digits != "" {
		b = append(append(b, '.'), digits...)
	}
	return append(b, `s"`...), nil
}

func fmt9(n int32) string {
	s := strconv.Itoa(int(n) + int(time.Second))
	return s[1:]
}

// appendText adds a JSON string. Bytes that are no UTF-8 become U+FFFD.
func appendText(b []byte, s string) []byte {
	const hexDigits = "0123456789abcdef"
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				b = append(append(b, s[from:i]...), "\ufffd"...)
				from = i + 1
			}
			i += size
			continue
		}
		b = append(b, s[from:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\r':
			b = append(b, '\\', 'r')
		case '\t':
			b = append(b, '\\', 't')
		default:
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		from = i
	}
	return append(append(b, s[from:]...), '"')
}
