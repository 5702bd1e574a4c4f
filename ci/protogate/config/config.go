// Package config is the gate's one configuration file: which surfaces there are, under which policy each stands, and where its
// version is. It checks that what it gives is complete; it must never read a schema or run a program.
package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A Policy is what may change between two releases of a surface.
type Policy string

// The policies.
const (
	Stable   Policy = "stable"   // nothing a peer relies on ever goes; with a version option, additions move it by one
	Lockstep Policy = "lockstep" // both ends have one version; what breaks moves it by one, nothing else does
	Archive  Policy = "archive"  // what was written is read for ever; what breaks moves the version and brings an upcaster and a fixture
)

// A Config is one repository's surfaces and tools. All paths are relative to the repository's root, with slashes.
type Config struct {
	Buf      Buf       `yaml:"buf"`
	Released string    `yaml:"released"` // folder of the baselines; a release is a folder vX.Y.Z in it
	Trees    []string  `yaml:"trees"`    // folders whose git tree hashes name the sources of a release
	Docs     Docs      `yaml:"docs"`     // what a release writes for people
	Unknown  []string  `yaml:"unknown"`  // full names of the options that say what a reader does with a value it does not know
	Harmless []string  `yaml:"harmless"` // full names of options that no peer reads, such as those of a documentation generator
	Surfaces []Surface `yaml:"surfaces"` // in the order of every report
}

// Buf says which buf runs.
type Buf struct {
	Path    string `yaml:"path"`    // the program: a path or a pattern that matches one file; empty looks for buf in $PATH
	Version string `yaml:"version"` // what buf --version must print
}

// Docs are the pages that a release writes. An empty path is not written.
type Docs struct {
	Changelog  string `yaml:"changelog"`  // its heading "Unreleased" becomes the release's
	Upgrading  string `yaml:"upgrading"`  // folder of one page per release
	Checklists string `yaml:"checklists"` // folder of one checklist per release
}

// A Surface is an interface at which two versions meet: one buf module.
type Surface struct {
	Name     string   `yaml:"name"`
	Path     string   `yaml:"path"` // folder of the module
	Policy   Policy   `yaml:"policy"`
	Peer     string   `yaml:"peer"`     // who is at the other end, in the singular: "worker"
	Version  string   `yaml:"version"`  // full name of the file option that holds the version; empty for a surface that has none
	Rules    []string `yaml:"rules"`    // of buf breaking; empty is DefaultRules
	Vectors  []string `yaml:"vectors"`  // command that writes the golden vectors into the folder given as last argument
	Reasons  string   `yaml:"reasons"`  // folder of N.md, each the reason of a bump to version N that nothing else shows
	Upcaster string   `yaml:"upcaster"` // archive: pattern of the code that lifts version {version} to the next
	Fixtures string   `yaml:"fixtures"` // archive: pattern of the files that were written by version {version}
}

// DefaultRules are the rules of buf breaking that hold where a surface names none.
var DefaultRules = []string{
	"WIRE_JSON",
	"PACKAGE_NO_DELETE", "PACKAGE_SERVICE_NO_DELETE", "PACKAGE_MESSAGE_NO_DELETE", "PACKAGE_ENUM_NO_DELETE", "PACKAGE_EXTENSION_NO_DELETE",
	"RPC_NO_DELETE",
	"FIELD_NO_DELETE", "FIELD_SAME_TYPE", "FIELD_SAME_CARDINALITY", "FIELD_SAME_UTF8_VALIDATION",
	"ENUM_VALUE_NO_DELETE", "ENUM_SAME_TYPE",
	"EXTENSION_MESSAGE_NO_DELETE",
}

// Surface is the surface of that name.
func (c *Config) Surface(name string) (Surface, bool) {
	i := slices.IndexFunc(c.Surfaces, func(s Surface) bool { return s.Name == name })
	if i < 0 {
		return Surface{}, false
	}
	return c.Surfaces[i], true
}

// VersionOptions are the version options of all surfaces.
func (c *Config) VersionOptions() []string {
	var names []string
	for _, s := range c.Surfaces {
		if s.Version != "" {
			names = append(names, s.Version)
		}
	}
	return names
}

// Places are where Find looks, in order.
var Places = []string{"protogate.yaml", "ci/protogate.yaml"}

// Find is the path of the configuration in the repository at root.
func Find(root string) (string, error) {
	for _, p := range Places {
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(p))); err == nil {
			return p, nil
		}
	}
	return "", fmt.Errorf("no %s here: run protogate init, or name the file with --config", strings.Join(Places, " and no "))
}

// Load reads the configuration at file in the repository at root. An error names what to write.
func Load(root, file string) (*Config, error) {
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	c := &Config{Released: "released"}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(c); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return c, nil
}

var (
	surfaceName = regexp.MustCompile(`^[a-z][a-z0-9_-]*$`)
	ruleName    = regexp.MustCompile(`^[A-Z][A-Z0-9_]*$`)
	optionName  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)+$`)
)

func (c *Config) check() error {
	if len(c.Surfaces) == 0 {
		return errors.New("no surfaces: name at least one, with name, path and policy")
	}
	if err := checkPath("released", c.Released); err != nil || c.Released == "" {
		return cmpErr(err, errors.New("released: name the folder of the baselines"))
	}
	for _, o := range slices.Concat(c.Unknown, c.Harmless) {
		if !optionName.MatchString(o) {
			return fmt.Errorf("%q is no full name of an option: write it without parentheses, as acme.options.v1.name", o)
		}
	}
	for _, t := range c.Trees {
		if err := checkPath("trees", t); err != nil {
			return err
		}
	}
	for key, p := range map[string]string{"docs.changelog": c.Docs.Changelog, "docs.upgrading": c.Docs.Upgrading, "docs.checklists": c.Docs.Checklists} {
		if err := checkPath(key, p); err != nil {
			return err
		}
	}
	seen, paths := map[string]bool{}, map[string]string{}
	for i := range c.Surfaces {
		s := &c.Surfaces[i]
		if err := s.check(); err != nil {
			return fmt.Errorf("surface %q: %w", s.Name, err)
		}
		if seen[s.Name] {
			return fmt.Errorf("surface %q: the name stands twice", s.Name)
		}
		if other, ok := paths[s.Path]; ok {
			return fmt.Errorf("surface %q: its path is surface %q's", s.Name, other)
		}
		seen[s.Name], paths[s.Path] = true, s.Name
	}
	return nil
}

func (s *Surface) check() error {
	switch {
	case !surfaceName.MatchString(s.Name):
		return errors.New("a name has lower-case letters, digits, - and _")
	case s.Path == "":
		return errors.New("path: name the folder of the buf module")
	case !slices.Contains([]Policy{Stable, Lockstep, Archive}, s.Policy):
		return fmt.Errorf("policy %q: it is stable, lockstep or archive", s.Policy)
	case s.Version == "" && s.Policy != Stable:
		return fmt.Errorf("version: policy %s needs the full name of the file option that holds the version", s.Policy)
	case s.Version != "" && !optionName.MatchString(s.Version):
		return fmt.Errorf("version: %q is no full name of an option: write it without parentheses, as acme.options.v1.name", s.Version)
	case s.Policy == Archive && (s.Upcaster == "" || s.Fixtures == ""):
		return errors.New("policy archive needs upcaster and fixtures: patterns that hold {version}")
	case s.Policy != Archive && (s.Upcaster != "" || s.Fixtures != ""):
		return fmt.Errorf("upcaster and fixtures belong to policy archive, not %s", s.Policy)
	}
	for key, p := range map[string]string{"path": s.Path, "reasons": s.Reasons, "upcaster": s.Upcaster, "fixtures": s.Fixtures} {
		if err := checkPath(key, p); err != nil {
			return err
		}
	}
	for _, p := range []string{s.Upcaster, s.Fixtures} {
		if p != "" && !strings.Contains(p, "{version}") {
			return fmt.Errorf("%q names no {version}", p)
		}
	}
	if s.Peer == "" {
		s.Peer = "peer"
	}
	if len(s.Rules) == 0 {
		s.Rules = DefaultRules
	}
	for _, r := range s.Rules {
		if !ruleName.MatchString(r) {
			return fmt.Errorf("rules: %q is no rule of buf breaking", r)
		}
	}
	return nil
}

// checkPath refuses paths that leave the repository. An empty one is not there at all.
func checkPath(key, p string) error {
	if p != "" && (!fs.ValidPath(p) || path.Clean(p) != p) {
		return fmt.Errorf("%s: %q is not a clean path below the root", key, p)
	}
	return nil
}

func cmpErr(a, b error) error {
	if a != nil {
		return a
	}
	return b
}
