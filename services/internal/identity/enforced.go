//go:build !fletch_unchecked

package identity

// enforced says that who is called, and who answers, is compared on every call. The build tag that turns it off exists for one
// purpose: ci/drill rollout --without-check shows that queries are mixed then. Nothing that ships is built with it.
const enforced = true
