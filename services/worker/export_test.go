package worker

import "time"

// WithPatience sets how long a reader may take to take what was written.
func WithPatience(d time.Duration) Option { return func(c *config) { c.patience = d } }
