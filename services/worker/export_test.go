package worker

import (
	"time"

	"github.com/fletchdb/fletch/engine/scan/files"
)

// WithPatience sets how long a reader may take to take what was written.
func WithPatience(d time.Duration) Option { return func(c *config) { c.patience = d } }

// SameHost is sameHost.
var SameHost = sameHost

// WithView sets how the worker looks at files, as if it ran on a machine of its own.
func WithView(view func(files.FS) files.FS) Option { return func(c *config) { c.view = view } }
