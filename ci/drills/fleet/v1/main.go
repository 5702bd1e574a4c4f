// Command v1 is the worker that the rollout drill replaces.
package main

import "github.com/fletchdb/fletch/ci/drills/fleet"

func main() { fleet.Main("v1", fleet.Mark(1)) }
