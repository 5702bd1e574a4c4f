package coordinator

import (
	"time"

	identityv1 "github.com/fletchdb/fletch/gen/go/fletch/identity/v1"
	planv1 "github.com/fletchdb/fletch/gen/go/fletch/plan/v1"
)

// WithSilence sets how long a worker may be silent before it counts as lost.
func WithSilence(d time.Duration) Option {
	return func(c *config) { c.limits.silence, c.limits.open, c.limits.plan = d, d, d }
}

// WithPatience sets how long a client may take to take what was written.
func WithPatience(d time.Duration) Option { return func(c *config) { c.limits.patience = d } }

// WithPageIdle sets how long a query waits for its next page to be fetched.
func WithPageIdle(d time.Duration) Option { return func(c *config) { c.limits.page = d } }

// WithAdmitWait sets how long a query waits for a usable worker.
func WithAdmitWait(d time.Duration) Option { return func(c *config) { c.limits.admit = d } }

// WithStop sets how long running queries may take to end when the server stops.
func WithStop(d time.Duration) Option { return func(c *config) { c.limits.stop = d } }

// Cut takes out of a plan the hints that a worker of these capabilities does not know, and gives what else it does not know.
func Cut(c *identityv1.Capabilities, f *planv1.Fragment) []string { return ignorantOf(c).cut(f) }
