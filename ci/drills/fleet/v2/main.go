// Command v2 is the worker that the rollout drill replaces v1 by: one of its functions is new, another gives other answers.
package main

import "github.com/fletchdb/fletch/ci/drills/fleet"

func main() { fleet.Main("v2", fleet.Mark(2), fleet.Novel()) }
