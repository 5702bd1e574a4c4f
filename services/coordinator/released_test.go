package coordinator_test

import (
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/fletchdb/fletch/services/internal/clustertest"
	"github.com/fletchdb/fletch/services/internal/identity"
	"github.com/fletchdb/fletch/services/internal/recorded"
)

// What this build's server answers is read by the messages of every release, binary and JSON, as this build's own read it.
func TestAnswersForReleasedClients(t *testing.T) {
	url, _ := server(t)
	dir := t.TempDir()
	if err := recorded.Record(t.Context(), url, identity.API().Minor, dir); err != nil {
		t.Fatal(err)
	}
	answers, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	releases, err := filepath.Glob(filepath.Join(clustertest.Module(t, "ci"), "released", "v*"))
	if err != nil || len(releases) == 0 {
		t.Fatalf("no release: %v", err)
	}
	for _, release := range releases {
		released, err := recorded.Schema(release)
		if err != nil {
			t.Fatal(err)
		}
		read := 0
		for _, a := range answers {
			if !recorded.Has(released, a) {
				continue // the release has no such call
			}
			read++
			if err := recorded.Compare(a, released, protoregistry.GlobalFiles); err != nil {
				t.Errorf("a client of %s reads %s: %v", filepath.Base(release), filepath.Base(a), err)
			}
		}
		if read < 20 {
			t.Errorf("%s reads %d answers", filepath.Base(release), read)
		}
	}
}
