package worker

import (
	"context"
	"fmt"
	"time"

	"connectrpc.com/connect/v2"

	identityv1 "github.com/fletchdb/fletch/gen/go/fletch/identity/v1"
	"github.com/fletchdb/fletch/gen/go/fletch/worker/v1/workerv1connect"
	"github.com/fletchdb/fletch/services/internal/httpserve"
	"github.com/fletchdb/fletch/services/internal/pull"
	"github.com/fletchdb/fletch/services/internal/rpcerr"
	"github.com/fletchdb/fletch/services/resolver"
)

// drainTimeout bounds a call of Drain.
const drainTimeout = 5 * time.Second

// A Drained is a worker that was told to drain.
type Drained struct {
	Instance string
	Version  string // the user's own
	Attempts int    // that it still serves
}

// Drain tells the worker at url to drain and exit: see Worker.Drain. Only the process of that instance does so – empty is whoever is there
// now – and another one refuses with code version_mismatch. It takes at most ten seconds, and does not wait for the worker's end.
func Drain(ctx context.Context, url, instance string, security resolver.Security) (*Drained, error) {
	url, err := resolver.CheckURL(url)
	if err != nil {
		return nil, err
	}
	credentials, err := httpserve.Security(security).Load()
	if err != nil {
		return nil, err
	}
	d := httpserve.NewDialer(credentials, credentials.Secret)
	defer d.Close()
	info, err := resolver.Info(ctx, d, url)
	if err != nil {
		return nil, err
	}
	need := &identityv1.Identity{
		InstanceId: info.GetInstanceId(), Version: info.GetVersion(), Protocol: info.GetProtocol(), Capabilities: info.GetCapabilitiesDigest(),
	}
	if instance != "" {
		need.InstanceId = instance
	}
	ctx, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	answer, err := workerv1connect.NewWorkerServiceClient(pull.Client(d, url, need)).Drain(ctx, &identityv1.DrainRequest{})
	switch {
	case connect.CodeOf(err) == connect.CodeUnimplemented:
		return nil, fmt.Errorf("drain %s: the worker is of a release that cannot be told to: end it with SIGTERM", url)
	case err != nil:
		return nil, fmt.Errorf("drain %s: %w", url, rpcerr.FromWorker(context.WithoutCancel(ctx), url, err))
	}
	return &Drained{Instance: need.GetInstanceId(), Version: need.GetVersion(), Attempts: int(answer.GetLoad().GetAttempts())}, nil
}
