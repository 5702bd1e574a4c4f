package coordinator_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/fletchdb/fletch/services/internal/clustertest"
)

// example is a command in docs/api.md and the JSON below it.
var example = regexp.MustCompile("(?s)```sh\n(.*?)```\n```json\n(.*?)```")

// Every example of docs/api.md gives what stands there.
func TestDocumentedCalls(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(clustertest.Module(t, "docs"), "api.md"))
	if err != nil {
		t.Fatal(err)
	}
	url, _ := server(t)
	examples := example.FindAllSubmatch(text, -1)
	if len(examples) < 9 {
		t.Fatalf("%d examples", len(examples))
	}
	for _, e := range examples {
		command := string(e[1])
		cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", command)
		cmd.Env = append(os.Environ(), "FLETCH="+url)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v: %s", command, err, out)
			continue
		}
		var want, got any
		if err := json.Unmarshal(e[2], &want); err != nil {
			t.Fatalf("below %s: %v", command, err)
		}
		if err := json.Unmarshal(out, &got); err != nil {
			t.Errorf("%s gives no JSON: %s", command, out)
			continue
		}
		if at := lacks(got, want, "$"); at != "" {
			t.Errorf("%s gives, %s: %s", command, at, out)
		}
	}
}

// lacks tells where got is not what want says; "…" is anything, and an object may have more.
func lacks(got, want any, at string) string {
	switch want := want.(type) {
	case map[string]any:
		object, ok := got.(map[string]any)
		if !ok {
			return at + " is no object"
		}
		for name, value := range want {
			field, there := object[name]
			if !there {
				return at + " has no " + name
			}
			if found := lacks(field, value, at+"."+name); found != "" {
				return found
			}
		}
		return ""
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			return fmt.Sprintf("%s has not %d elements", at, len(want))
		}
		for i, value := range want {
			if found := lacks(list[i], value, fmt.Sprintf("%s[%d]", at, i)); found != "" {
				return found
			}
		}
		return ""
	}
	if want == "…" || got == want {
		return ""
	}
	return fmt.Sprintf("%s is %v, not %v", at, got, want)
}
