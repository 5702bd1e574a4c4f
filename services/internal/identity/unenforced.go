//go:build fletch_unchecked

package identity

const enforced = false
