package lock_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/fletchdb/fletch/ci/protogate/lock"
)

func sample() *lock.Lock {
	return &lock.Lock{
		Release: "v1.2.0", Previous: "v1.1.0", Chain: lock.Sum([]byte("x")), Buf: "1.75.0", Trees: []lock.Tree{{"proto", "abc"}},
		Surfaces: []lock.Surface{{Name: "link", Policy: "lockstep", Path: "proto/link", Option: "acme.v1.link_version", Versions: "link_version 3", Rules: []string{"A", "B"}}},
		Files:    map[string]string{"link.binpb": lock.Sum(nil), "vectors/link/a b.txt": lock.Sum([]byte("y"))},
		Fixtures: map[string]string{"kept/v1/segment": lock.Sum([]byte("z"))},
	}
}

func TestTextAndParse(t *testing.T) {
	want := sample()
	got, err := lock.Parse(want.Text())
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("parsed %+v, want %+v", got, want)
	}
}

func TestParseRefuses(t *testing.T) {
	text := sample().Text()
	for name, bent := range map[string]string{
		"empty": "", "a line of nothing": text + "\n", "another line": text + "more of it\n", "no banner": text[strings.Index(text, "\n")+1:],
		"a surface cut off": strings.Replace(text, " acme.v1.link_version", "", 1), "a line moved": strings.Replace(text, "buf 1.75.0\n", "", 1) + "buf 1.75.0\n",
		"no end of line": strings.TrimSuffix(text, "\n"),
	} {
		if _, err := lock.Parse(bent); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

func TestCompare(t *testing.T) {
	order := []string{"v0.1.0", "v0.2.0", "v0.10.0", "v1.0.0", "v1.0.1", "v10.0.0"}
	for i, a := range order {
		for j, b := range order {
			if got := lock.Compare(a, b); got < 0 != (i < j) || got > 0 != (i > j) {
				t.Errorf("Compare(%s, %s) is %d", a, b, got)
			}
		}
	}
	for _, bad := range []string{"", "1.0.0", "v1.0", "v01.0.0", "v1.0.0-rc1", "v1.0.0/.."} {
		if lock.CheckVersion(bad) == nil {
			t.Errorf("%q is taken for a release", bad)
		}
	}
}
