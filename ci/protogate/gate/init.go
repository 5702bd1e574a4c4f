package gate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/fletchdb/fletch/ci/protogate/config"
)

// Init is a configuration for the modules of a repository's buf.yaml, to be read and corrected by a person.
func Init(root string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, "buf.yaml"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", errors.New("there is no buf.yaml here: protogate init reads its modules")
	}
	if err != nil {
		return "", err
	}
	var workspace struct {
		Modules []struct {
			Path string `yaml:"path"`
		} `yaml:"modules"`
	}
	if err := yaml.Unmarshal(text, &workspace); err != nil {
		return "", fmt.Errorf("buf.yaml: %w", err)
	}
	if len(workspace.Modules) == 0 {
		return "", errors.New("buf.yaml names no modules (version: v2, modules: [path: …]): a surface is a module")
	}
	var b strings.Builder
	b.WriteString(`# Which interfaces protogate watches. Read each line: a policy is a promise to those at the other end.
#   stable    nothing they rely on ever goes; with a version, additions move it by one
#   lockstep  both ends run one version; what breaks moves it by one, nothing else does
#   archive   what was written is read for ever; what breaks moves the version and brings an upcaster and a fixture
released: released # folder of the baselines
surfaces:
`)
	for _, m := range workspace.Modules {
		if strings.Contains(m.Path, "third_party") || strings.Contains(m.Path, "vendor") {
			continue // not ours to version
		}
		fmt.Fprintf(&b, "  - name: %s\n    path: %s\n    policy: stable\n    peer: client # who is at the other end\n", name(m.Path), path.Clean(m.Path))
		if option := versionOption(filepath.Join(root, filepath.FromSlash(m.Path))); option != "" {
			fmt.Fprintf(&b, "    version: %s\n", option)
		} else {
			b.WriteString("    # version: acme.options.v1.api_minor # file option that holds the version; lockstep and archive need one\n")
		}
	}
	return b.String(), nil
}

// Configuration is where Init's text is to be written.
func Configuration(root string) (string, error) {
	if file, err := config.Find(root); err == nil {
		return "", fmt.Errorf("%s is there already", file)
	}
	if info, err := os.Stat(filepath.Join(root, "ci")); err == nil && info.IsDir() {
		return config.Places[1], nil
	}
	return config.Places[0], nil
}

var notInName = regexp.MustCompile(`[^a-z0-9_-]+`)

func name(modulePath string) string {
	n := strings.Trim(notInName.ReplaceAllString(strings.ToLower(path.Base(path.Clean(modulePath))), "-"), "-_0123456789")
	if n == "" {
		return "schema"
	}
	return n
}

var fileOption = regexp.MustCompile(`(?m)^option \(([A-Za-z0-9_.]*version|[A-Za-z0-9_.]*minor)\) = [0-9]+;`)

// versionOption is the custom option of a module's file that looks like a version.
func versionOption(dir string) (found string) {
	_ = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(p, ".proto") || found != "" {
			return nil //nolint:nilerr // what cannot be read has no option
		}
		if text, err := os.ReadFile(p); err == nil {
			if m := fileOption.FindSubmatch(text); m != nil {
				found = string(m[1])
			}
		}
		return nil
	})
	return found
}
