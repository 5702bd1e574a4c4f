package coordinator

import (
	"context"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	apiv1 "github.com/fletchdb/fletch/gen/go/fletch/api/v1"
	identityv1 "github.com/fletchdb/fletch/gen/go/fletch/identity/v1"
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
	v := c.look(ctx)
	choice, now := c.steering.decide(v)
	out := &apiv1.ListWorkersResponse{}
	workers, _ := c.poller.Workers(ctx)
	for _, w := range workers {
		m := show(w)
		reason, detail := unused(w, v, choice, now, "")
		m.Used, m.Reason, m.ReasonDetail = reason == apiv1.UnusedReason_UNUSED_REASON_UNSPECIFIED, reason, text(detail, 512)
		out.Workers = append(out.Workers, m)
	}
	return out, nil
}

func show(w resolver.Worker) *apiv1.Worker {
	m := &apiv1.Worker{Url: w.URL, Refusals: w.Refusals, LastRefusal: w.Refusal}
	if id := w.Identity; id != nil {
		m.InstanceId, m.Version, m.Build, m.Protocol, m.Capabilities = id.GetInstanceId(), id.GetVersion(), id.GetBuild(), id.GetProtocol(), id.GetCapabilities()
		m.StartedAt, m.Slots = w.Info.GetStartedAt(), w.Info.GetSlots()
		m.SinceSeen = durationpb.New(time.Since(w.Seen))
	}
	switch {
	case w.Err == nil && w.Identity == nil:
		m.State = apiv1.WorkerState_WORKER_STATE_UNSPECIFIED
	case w.Err != nil:
		m.State = apiv1.WorkerState_WORKER_STATE_UNREACHABLE
	case w.Info.GetState() == identityv1.WorkerState_WORKER_STATE_READY:
		m.State = apiv1.WorkerState_WORKER_STATE_READY
	default:
		m.State = apiv1.WorkerState_WORKER_STATE_DRAINING
	}
	return m
}
