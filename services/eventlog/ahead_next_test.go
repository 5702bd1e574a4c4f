//go:build nextlog

package eventlog

import (
	"os"
	"path/filepath"
	"testing"
)

// A log as the next release may write it: for the test of TestReadsTheNextRelease, which runs this one.
func TestWriteAsTheNextRelease(t *testing.T) {
	dir := os.Getenv("FLETCH_NEXT_LOG")
	if dir == "" {
		t.Fatal("FLETCH_NEXT_LOG names no folder")
	}
	next := version
	for name, v := range map[string]uint32{"additions": next - 1, "break": next} {
		version = v
		w := writerOn(t, filepath.Join(dir, name), Config{})
		w.Append("q1", started("q1"))
		w.appendRaw("q1", "cache_hit", `{"stage":1,"nested":{"list":[{"a":null}]}}`)
		w.appendRaw("q1", KindQueryFinished, `{"status":9,"rows":"3","priority":{"kind":7},"error":{"code":"new_code","causes":[1,2]}}`)
		w.Append("q2", started("q2"))
		w.appendRaw("", "quota_changed", `{}`)
		w.appendRaw("q2", KindAttemptStarted, `{"attempt":1,"policy":{"kind":17}}`)
		w.appendRaw("q3", "query_resumed", `{}`)
		if !w.Commit("q2", succeeded) {
			t.Error("not committed")
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
