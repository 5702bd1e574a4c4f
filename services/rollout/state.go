package rollout

// A State is what a cohort does, as an operator understands it.
type State int

// The states.
const (
	Inactive State = iota // not used, and never was
	Current               // new queries use it
	Ramping               // a share of new queries uses it, or it is about to take over
	Draining              // no new query uses it, and some still run on it
	Drained               // it was used, and nothing runs on it any more
)

// StateOf is the state of a cohort: used tells whether new queries ever used it, busy whether any run on it.
func (c Choice) StateOf(k Key, used, busy bool) State {
	switch {
	case k == c.Base:
		return Current
	case k == c.Ramp || k == c.Rising:
		return Ramping
	case used && busy:
		return Draining
	case used:
		return Drained
	}
	return Inactive
}
