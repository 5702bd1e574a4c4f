// Package rollout decides which cohort of workers new queries use while versions change: the policies, the one pure function that
// follows them, and the file that coordinators share. It must never know a worker's address or a query's text.
package rollout

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fletchdb/fletch/services/internal/identity"
)

// A Key is what the workers of a cohort have in common: equal user version (or build, where that is empty), protocol and capability
// digest. The zero Key is no cohort.
type Key struct {
	Version      string
	Build        string // only where Version is empty
	Protocol     uint32 // at least 1
	Capabilities string
}

// IsZero tells whether k is no cohort.
func (k Key) IsZero() bool { return k == Key{} }

// Less orders keys, so that whoever chooses among equals chooses alike.
func (k Key) Less(o Key) bool { return k.compare(o) < 0 }

func (k Key) compare(o Key) int {
	return cmp.Or(
		strings.Compare(k.Version, o.Version), strings.Compare(k.Build, o.Build), cmp.Compare(k.Protocol, o.Protocol), strings.Compare(k.Capabilities, o.Capabilities),
	)
}

func (k Key) String() string {
	if k.Version != "" {
		return fmt.Sprintf("version %q", k.Version)
	}
	return "build " + strings.ToValidUTF8(k.Build[:min(len(k.Build), 11)], "")
}

// A Cohort is a cohort as a coordinator sees it.
type Cohort struct {
	Key
	BuildOfAll string // the executable of all its workers; "" where they differ
	Workers    int    // whatever their state
	Ready      int    // that take new queries
	Slots      int    // tasks that the ready ones run at a time
}

// A Mode is the rule of a policy.
type Mode int

// The rules.
const (
	Follow Mode = iota // the largest ready cohort
	Pin                // one version
	Match              // the coordinator's own version or, without one, its build
)

// A Policy says which cohort new queries use. The zero Policy follows. It is a value: nobody changes what Held points to.
type Policy struct {
	Revision uint64
	Mode     Mode
	Version  string // of Pin
	Ramp     Ramp
	Held     *Key      // paused: this cohort stays in use; nil: not paused
	Changed  time.Time // by the clock of who changed it, for people; zero: not known
}

// A Ramp gives a share of new sessions to a version. The zero Ramp gives none.
type Ramp struct {
	Version string
	Percent uint32 // 0 to 100
}

// Check tells what is wrong with a policy.
func (p Policy) Check() error {
	version := func(of, v string) error {
		if v == "" {
			return fmt.Errorf("%s needs a version: an empty one is none", of)
		}
		return identity.CheckVersion(v)
	}
	if p.Mode == Pin {
		if err := version("pin", p.Version); err != nil {
			return err
		}
	}
	if p.Ramp == (Ramp{}) {
		return nil
	}
	switch {
	case p.Ramp.Percent > 100:
		return fmt.Errorf("a ramp gives 0 to 100 %%, not %d %%", p.Ramp.Percent)
	case p.Mode == Pin && p.Version == p.Ramp.Version:
		return errors.New("a ramp to the version that is pinned changes nothing")
	}
	return version("a ramp", p.Ramp.Version)
}

func (p Policy) String() string {
	var b strings.Builder
	switch p.Mode {
	case Pin:
		fmt.Fprintf(&b, "pin %s", p.Version)
	case Match:
		b.WriteString("match")
	default:
		b.WriteString("follow")
	}
	if p.Ramp != (Ramp{}) {
		fmt.Fprintf(&b, ", ramp %s %d%%", p.Ramp.Version, p.Ramp.Percent)
	}
	if p.Held != nil {
		fmt.Fprintf(&b, ", paused on %s", *p.Held)
	}
	return b.String()
}
