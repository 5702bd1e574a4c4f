//go:build !unix

package kernel

import "testing"

// guarded is plain memory where pages cannot be protected.
func guarded[T any](_ testing.TB, n int) []T { return make([]T, n) }
