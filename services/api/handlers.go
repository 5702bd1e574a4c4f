package api

import (
	"context"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connectproto"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	apiv1 "github.com/fletchdb/fletch/gen/go/fletch/api/v1"
	"github.com/fletchdb/fletch/services/internal/identity"
)

// Version is VersionService: what a server is.
type Version struct {
	Instance string
	Started  time.Time
}

// GetVersion tells what this server is.
func (s Version) GetVersion(context.Context, *apiv1.GetVersionRequest) (*apiv1.GetVersionResponse, error) {
	version := func(v identity.APIVersion) *apiv1.ApiVersion {
		return &apiv1.ApiVersion{Major: v.Major, Minor: v.Minor}
	}
	return &apiv1.GetVersionResponse{
		Release: identity.Release(), Build: identity.Build(), Api: version(identity.API()), ApiMinimum: version(identity.APIMinimum()),
		Protocol: identity.Protocol(), InstanceId: s.Instance, StartedAt: timestamppb.New(s.Started),
	}, nil
}

// Strict refuses a request with a field that this build does not know: a client that asks for something it will not get is told.
func Strict(req proto.Message) error {
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

// StrictJSON refuses what a request has too many of, and answers with every field, so that a script finds what it looks for.
func StrictJSON() connect.Codec {
	c := connectproto.NewJSONCodec()
	c.UnmarshalOptions.DiscardUnknown = false
	c.MarshalOptions.EmitDefaultValues = true
	return c
}
