package rollout

import (
	"errors"

	"google.golang.org/protobuf/types/known/timestamppb"

	apiv1 "github.com/fletchdb/fletch/gen/go/fletch/api/v1"
)

// Message is k as the API has it.
func (k Key) Message() *apiv1.Cohort {
	return &apiv1.Cohort{Version: k.Version, Protocol: k.Protocol, Capabilities: k.Capabilities, Build: k.Build}
}

func keyOf(m *apiv1.Cohort) Key {
	return Key{Version: m.GetVersion(), Protocol: m.GetProtocol(), Capabilities: m.GetCapabilities(), Build: m.GetBuild()}
}

// Message is p as the API has it.
func (p Policy) Message() *apiv1.Rollout {
	m := &apiv1.Rollout{Revision: p.Revision}
	switch p.Mode {
	case Pin:
		m.Policy = &apiv1.Rollout_Pin{Pin: &apiv1.Pin{Version: p.Version}}
	case Match:
		m.Policy = &apiv1.Rollout_Match{Match: &apiv1.Match{}}
	default:
		m.Policy = &apiv1.Rollout_Follow{Follow: &apiv1.Follow{}}
	}
	if p.Ramp != (Ramp{}) {
		m.Ramp = &apiv1.Ramp{Version: p.Ramp.Version, Percent: p.Ramp.Percent}
	}
	if p.Held != nil {
		m.Held = p.Held.Message()
	}
	if !p.Changed.IsZero() {
		m.ChangedAt = timestamppb.New(p.Changed)
	}
	return m
}

// FromMessage reads a policy and checks it. A rule that this build does not know is an error: to follow instead would be another
// policy than the one that was set.
func FromMessage(m *apiv1.Rollout) (Policy, error) {
	if len(m.ProtoReflect().GetUnknown()) > 0 {
		return Policy{}, errors.New("the policy has a rule that this build does not know")
	}
	p := Policy{Revision: m.GetRevision()}
	switch r := m.GetPolicy().(type) {
	case *apiv1.Rollout_Pin:
		p.Mode, p.Version = Pin, r.Pin.GetVersion()
	case *apiv1.Rollout_Match:
		p.Mode = Match
	}
	if m.GetRamp() != nil {
		p.Ramp = Ramp{Version: m.GetRamp().GetVersion(), Percent: m.GetRamp().GetPercent()}
		if p.Ramp == (Ramp{}) {
			return Policy{}, errors.New("a ramp needs a version: an empty one is none")
		}
	}
	if m.GetHeld() != nil {
		k := keyOf(m.GetHeld())
		if k.IsZero() {
			return Policy{}, errors.New("a paused rollout names the cohort that stays in use")
		}
		p.Held = &k
	}
	if m.GetChangedAt().IsValid() {
		p.Changed = m.GetChangedAt().AsTime()
	}
	return p, p.Check()
}
