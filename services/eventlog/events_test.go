package eventlog

import (
	"math"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	eventlogv1 "github.com/fletchdb/fletch/gen/go/fletch/eventlog/v1"
)

// everyKind is one event of each kind, with what is hard to write as JSON.
func everyKind() []proto.Message {
	cohort := &eventlogv1.Cohort{Version: "v1 \"ü\" \u2028", Protocol: 2, Capabilities: "00ff"}
	worker := &eventlogv1.Worker{Url: "http://127.0.0.1:1", InstanceId: "00", Version: "v1"}
	return []proto.Message{
		&eventlogv1.SegmentStarted{Release: "v9.9.9", Segment: 3, Lost: math.MaxUint64},
		&eventlogv1.SegmentEnded{Continued: true},
		&eventlogv1.Heartbeat{Running: 3},
		&eventlogv1.EventTooLarge{Kind: "query_started", Bytes: 1 << 40},
		&eventlogv1.QueryStarted{Statement: "SELECT '\n\x00\\\"'\r\n -- </script>", Client: "fletch/v1", Explain: true},
		&eventlogv1.AttemptStarted{
			Attempt: 1, Cohort: cohort, Workers: []*eventlogv1.Worker{worker}, Columns: []*eventlogv1.Column{{Name: "", Type: "bigint"}},
			Stages: []*eventlogv1.Stage{{Tasks: 3, Operators: []*eventlogv1.Operator{{Name: "Scan", EstimatedRows: proto.Float64(0)}}}},
			Policy: &eventlogv1.Policy{Kind: eventlogv1.PolicyKind_POLICY_KIND_RAMP, Version: "v2", Percent: 20},
		},
		&eventlogv1.StageStarted{Attempt: 1, Stage: 2, Tasks: 3, SinceStart: durationpb.New(1)},
		&eventlogv1.StageFinished{Attempt: 1, Stage: 2, Rows: math.MaxUint64},
		&eventlogv1.TaskStarted{Attempt: 1, Worker: worker},
		&eventlogv1.TaskFinished{Attempt: 1, Operators: []*eventlogv1.OperatorMetrics{{Operator: 1, Counters: map[string]uint64{"row_groups_pruned": 3}}}},
		&eventlogv1.AttemptFailed{Attempt: 1, Error: &eventlogv1.Error{Code: "worker_lost", Position: &eventlogv1.Position{Start: 1, End: 2}}, Ran: true},
		&eventlogv1.QueryFinished{
			Status: eventlogv1.Status_STATUS_SUCCEEDED, Cohort: cohort,
			Digest: &eventlogv1.Digest{Rule: 1, Exact: "00", Floats: []*eventlogv1.FloatColumn{{Min: proto.Float64(math.Inf(-1)), Max: proto.Float64(math.Copysign(0, -1)), Sum: 0.1}}},
		},
		&eventlogv1.WorkerSeen{Worker: worker, Protocol: 2},
		&eventlogv1.WorkerGone{Worker: worker, Reason: "gone"},
		&eventlogv1.RolloutChanged{Cohort: cohort},
	}
}
