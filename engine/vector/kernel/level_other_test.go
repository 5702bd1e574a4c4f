//go:build !amd64

package kernel

import "testing"

func levels(t *testing.T, f func(t *testing.T))      { t.Run("off", f) }
func benchLevels(b *testing.B, f func(b *testing.B)) { b.Run("off", f) }
