package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fletchdb/fletch/ci/protogate/config"
)

func load(t *testing.T, text string) (*config.Config, error) {
	t.Helper()
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "protogate.yaml"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return config.Load(root, "protogate.yaml")
}

func TestLoad(t *testing.T) {
	c, err := load(t, "surfaces:\n  - {name: api, path: proto/api, policy: stable}\n")
	if err != nil {
		t.Fatal(err)
	}
	s, ok := c.Surface("api")
	if !ok || s.Peer != "peer" || len(s.Rules) == 0 || c.Released != "released" {
		t.Errorf("defaults are %+v", c)
	}
}

func TestLoadRefuses(t *testing.T) {
	const api = "surfaces:\n  - {name: api, path: proto/api, policy: stable}\n"
	for text, want := range map[string]string{
		"":                         "EOF",
		"surfaces: []":             "no surfaces",
		"colour: red\n":            "colour",
		"released: ../out\n" + api: "clean path",
		"trees: [/etc]\n" + api:    "clean path",
		"unknown: [(a.b)]\n" + api: "no full name",
		api + "  - {name: api, path: proto/other, policy: stable}\n":                                             "stands twice",
		api + "  - {name: other, path: proto/api, policy: stable}\n":                                             "its path is",
		"surfaces: [{name: Api, path: p, policy: stable}]":                                                       "lower-case",
		"surfaces: [{name: api, policy: stable}]":                                                                "path:",
		"surfaces: [{name: api, path: p, policy: loose}]":                                                        "stable, lockstep or archive",
		"surfaces: [{name: api, path: p, policy: lockstep}]":                                                     "needs the full name",
		"surfaces: [{name: api, path: p, policy: archive, version: a.b}]":                                        "needs upcaster and fixtures",
		"surfaces: [{name: api, path: p, policy: archive, version: a.b, upcaster: u, fixtures: \"f{version}\"}]": "names no {version}",
		"surfaces: [{name: api, path: p, policy: stable, upcaster: \"u{version}\"}]":                             "belong to policy archive",
		"surfaces: [{name: api, path: p, policy: stable, rules: [wire]}]":                                        "no rule",
		"surfaces: [{name: api, path: p, policy: stable, version: minor}]":                                       "no full name",
	} {
		if _, err := load(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
