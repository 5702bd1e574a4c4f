package recorded

import (
	"encoding/base64"
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

func decodeBase64(s string) ([]byte, error) {
	return base64.RawStdEncoding.DecodeString(strings.TrimRight(s, "="))
}

// compareMessage reads a message as two schemas have it.
func compareMessage(b []byte, codec string, released, today protoreflect.MessageDescriptor) error {
	old, err := decode(b, codec, released)
	if err != nil {
		return fmt.Errorf("the release does not read it: %w", err)
	}
	now, err := decode(b, codec, today)
	if err != nil {
		return fmt.Errorf("today's schema does not read it: %w", err)
	}
	return same(old, now, string(released.Name()))
}

func decode(b []byte, codec string, d protoreflect.MessageDescriptor) (protoreflect.Message, error) {
	m := dynamicpb.NewMessage(d)
	if codec == "json" {
		return m, protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(b, m)
	}
	return m, proto.Unmarshal(b, m)
}

// same tells where two readers see something else in a message, of the fields that the release has.
func same(old, now protoreflect.Message, at string) error {
	fields := old.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		g := now.Descriptor().Fields().ByNumber(f.Number())
		path := at + "." + string(f.Name())
		switch {
		case g == nil:
			return fmt.Errorf("%s, field %d, is not there any more", path, f.Number())
		case f.Name() != g.Name() || f.JSONName() != g.JSONName():
			return fmt.Errorf("%s, field %d, is called %s now", path, f.Number(), g.Name())
		case f.Kind() != g.Kind() || f.Cardinality() != g.Cardinality() || f.IsMap() != g.IsMap() || f.HasPresence() != g.HasPresence():
			return fmt.Errorf("%s is %s %s in one schema and %s %s in the other", path, f.Cardinality(), f.Kind(), g.Cardinality(), g.Kind())
		}
		if f.Enum() != nil {
			if err := sameEnum(f.Enum(), g.Enum(), path); err != nil {
				return err
			}
		}
		if f.Enum() != nil && !f.IsList() && !old.Has(f) && f.Enum().Values().ByNumber(now.Get(g).Enum()) == nil {
			continue // a value that came since, which a reader of JSON leaves out
		}
		if old.Has(f) != now.Has(g) {
			return fmt.Errorf("%s is set for one reader only", path)
		}
		if old.Has(f) {
			if err := sameValue(f, old.Get(f), now.Get(g), path); err != nil {
				return err
			}
		}
	}
	return nil
}

// sameEnum tells which value of the release the other schema does not have, or calls otherwise.
func sameEnum(old, now protoreflect.EnumDescriptor, at string) error {
	for i := range old.Values().Len() {
		v := old.Values().Get(i)
		switch w := now.Values().ByNumber(v.Number()); {
		case w == nil:
			return fmt.Errorf("%s: value %s is not there any more", at, v.Name())
		case w.Name() != v.Name():
			return fmt.Errorf("%s: value %d is called %s in one schema and %s in the other", at, v.Number(), v.Name(), w.Name())
		}
	}
	return nil
}

func sameValue(f protoreflect.FieldDescriptor, old, now protoreflect.Value, at string) error {
	switch {
	case f.IsMap():
		if old.Map().Len() != now.Map().Len() {
			return fmt.Errorf("%s has %d entries for one reader and %d for the other", at, old.Map().Len(), now.Map().Len())
		}
		var err error
		old.Map().Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
			err = sameOne(f.MapValue(), v, now.Map().Get(k), at+"["+k.String()+"]")
			return err == nil
		})
		return err
	case f.IsList():
		if old.List().Len() != now.List().Len() {
			return fmt.Errorf("%s has %d elements for one reader and %d for the other", at, old.List().Len(), now.List().Len())
		}
		for i := range old.List().Len() {
			if err := sameOne(f, old.List().Get(i), now.List().Get(i), fmt.Sprintf("%s[%d]", at, i)); err != nil {
				return err
			}
		}
		return nil
	}
	return sameOne(f, old, now, at)
}

func sameOne(f protoreflect.FieldDescriptor, old, now protoreflect.Value, at string) error {
	if f.Message() != nil {
		if !now.IsValid() {
			return fmt.Errorf("%s is there for one reader only", at)
		}
		return same(old.Message(), now.Message(), at)
	}
	if !old.Equal(now) {
		return fmt.Errorf("%s is %v for one reader and %v for the other", at, old, now)
	}
	return nil
}
