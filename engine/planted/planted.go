// Package planted holds faults that a differential test must find, to show that it would. In what ships each is a constant that is
// false, and costs nothing; built with the tag "planted", the one that the environment variable FLETCH_PLANTED names is on. It must
// never know what a fault does: that stands where it is asked for.
package planted
