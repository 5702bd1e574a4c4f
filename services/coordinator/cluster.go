package coordinator

import (
	"context"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	apiv1 "github.com/fletchdb/fletch/gen/go/fletch/api/v1"
	identityv1 "github.com/fletchdb/fletch/gen/go/fletch/identity/v1"
	"github.com/fletchdb/fletch/services/internal/identity"
	"github.com/fletchdb/fletch/services/resolver"
)

func containsURL(message, url string) bool {
	_, rest, ok := strings.Cut(message, url)
	return ok && (rest == "" || rest[0] < '0' || rest[0] > '9')
}

// clusterService shows the workers.
type clusterService struct{ coordinator *Coordinator }

func (s *clusterService) ListWorkers(ctx context.Context, _ *apiv1.ListWorkersRequest) (*apiv1.ListWorkersResponse, error) {
	c := s.coordinator
	ctx, cancel := context.WithTimeout(ctx, c.limits.admit)
	defer cancel()
	workers, _ := c.poller.Workers(ctx)
	used := choose(workers, wish{version: c.cfg.workerVersion})
	out := &apiv1.ListWorkersResponse{}
	for _, w := range workers {
		out.Workers = append(out.Workers, c.show(w, used))
	}
	return out, nil
}

func (c *Coordinator) show(w resolver.Worker, used *cohort) *apiv1.Worker {
	m := &apiv1.Worker{Url: w.URL}
	if id := w.Identity; id != nil {
		m.InstanceId, m.Version, m.Build, m.Protocol, m.Capabilities = id.GetInstanceId(), id.GetVersion(), id.GetBuild(), id.GetProtocol(), id.GetCapabilities()
		m.StartedAt, m.Slots = w.Info.GetStartedAt(), w.Info.GetSlots()
		m.SinceSeen = durationpb.New(time.Since(w.Seen))
	}
	switch {
	case w.Err != nil:
		m.State = apiv1.WorkerState_WORKER_STATE_UNREACHABLE
	case w.Info.GetState() == identityv1.WorkerState_WORKER_STATE_READY:
		m.State = apiv1.WorkerState_WORKER_STATE_READY
	default:
		m.State = apiv1.WorkerState_WORKER_STATE_DRAINING
	}
	m.Reason, m.ReasonDetail = unused(w, used, c.cfg.workerVersion)
	m.ReasonDetail = m.ReasonDetail[:min(len(m.ReasonDetail), 512)]
	m.Used = m.Reason == apiv1.UnusedReason_UNUSED_REASON_UNSPECIFIED && used != nil && used.member(w.Identity.GetInstanceId()) >= 0
	return m
}

// versionService tells what this server is.
type versionService struct{ coordinator *Coordinator }

func (s *versionService) GetVersion(context.Context, *apiv1.GetVersionRequest) (*apiv1.GetVersionResponse, error) {
	version := func(v identity.APIVersion) *apiv1.ApiVersion {
		return &apiv1.ApiVersion{Major: v.Major, Minor: v.Minor}
	}
	return &apiv1.GetVersionResponse{
		Release: identity.Release(), Build: identity.Build(), Api: version(identity.API()), ApiMinimum: version(identity.APIMinimum()),
		Protocol: identity.Protocol(), InstanceId: s.coordinator.instance, StartedAt: timestamppb.New(s.coordinator.started),
	}, nil
}
