package coordinator

import (
	"connectrpc.com/connect/v2"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// known refuses a request with a field that this build does not know: a client that asks for something it will not get is told.
func known(req proto.Message) error {
	var unknown protoreflect.FullName
	var visit func(protoreflect.Message)
	visit = func(m protoreflect.Message) {
		if len(m.GetUnknown()) > 0 {
			unknown = m.Descriptor().FullName()
		}
		m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
			if f.Message() != nil && !f.IsList() && !f.IsMap() {
				visit(v.Message())
			}
			return unknown == ""
		})
	}
	visit(req.ProtoReflect())
	if unknown != "" {
		return connect.Errorf(connect.CodeInvalidArgument, "%s holds a field that this server does not know: it is older than the client", unknown)
	}
	return nil
}
