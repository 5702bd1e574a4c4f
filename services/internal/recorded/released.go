package recorded

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// Schema is the API's schema as a release froze it, in the folder of the release in ci/released.
func Schema(dir string) (*protoregistry.Files, error) {
	b, err := os.ReadFile(filepath.Join(dir, "api.binpb"))
	if err != nil {
		return nil, fmt.Errorf("read a release's schema: %w", err)
	}
	set := &descriptorpb.FileDescriptorSet{}
	if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(b, set); err != nil {
		return nil, fmt.Errorf("read a release's schema: %w", err)
	}
	return protodesc.NewFiles(set)
}

// Has tells whether a schema has the call that a recorded file is of.
func Has(files *protoregistry.Files, path string) bool {
	parts := strings.SplitN(filepath.Base(path), ".", 3)
	if len(parts) != 3 {
		return false
	}
	_, err := methodOf(files, parts[0], parts[1])
	return err == nil
}
