//go:build !nextlog

package eventlog

// ahead is by how much this build is ahead of its schema: the build that tests write the next version's log with is by one.
const ahead = 0
