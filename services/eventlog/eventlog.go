// Package eventlog writes what happened on a coordinator to disk and reads it back, in this release and in every later one. The
// format is docs/eventlog.md and proto/eventlog. It must never know how a query is run, nor how its history is shown.
package eventlog

import (
	"google.golang.org/protobuf/proto"

	eventlogv1 "github.com/fletchdb/fletch/gen/go/fletch/eventlog/v1"
	optionsv1 "github.com/fletchdb/fletch/gen/go/fletch/options/v1"
)

// Version is the version of the log's schema that this build writes, and the highest it reads: what eventlog.proto says of itself.
func Version() uint32 { return version }

var version = proto.GetExtension(eventlogv1.File_fletch_eventlog_v1_eventlog_proto.Options(), optionsv1.E_LogVersion).(uint32) + ahead

// Limits of the format, the same in every schema version.
const (
	MaxLine  = 1 << 20 // bytes of a line, its line feed counted
	maxKind  = 64
	maxQuery = 64
)

// The kinds of events.
const (
	KindSegmentStarted = "segment_started"
	KindSegmentEnded   = "segment_ended"
	KindHeartbeat      = "heartbeat"
	KindEventTooLarge  = "event_too_large"
	KindQueryStarted   = "query_started"
	KindAttemptStarted = "attempt_started"
	KindStageStarted   = "stage_started"
	KindStageFinished  = "stage_finished"
	KindTaskStarted    = "task_started"
	KindTaskFinished   = "task_finished"
	KindAttemptFailed  = "attempt_failed"
	KindQueryFinished  = "query_finished"
	KindWorkerSeen     = "worker_seen"
	KindWorkerGone     = "worker_gone"
	KindRolloutChanged = "rollout_changed"
)

// KindOf is the kind of an event, "" for a message that is none.
func KindOf(m proto.Message) string {
	switch m.(type) {
	case *eventlogv1.SegmentStarted:
		return KindSegmentStarted
	case *eventlogv1.SegmentEnded:
		return KindSegmentEnded
	case *eventlogv1.Heartbeat:
		return KindHeartbeat
	case *eventlogv1.EventTooLarge:
		return KindEventTooLarge
	case *eventlogv1.QueryStarted:
		return KindQueryStarted
	case *eventlogv1.AttemptStarted:
		return KindAttemptStarted
	case *eventlogv1.StageStarted:
		return KindStageStarted
	case *eventlogv1.StageFinished:
		return KindStageFinished
	case *eventlogv1.TaskStarted:
		return KindTaskStarted
	case *eventlogv1.TaskFinished:
		return KindTaskFinished
	case *eventlogv1.AttemptFailed:
		return KindAttemptFailed
	case *eventlogv1.QueryFinished:
		return KindQueryFinished
	case *eventlogv1.WorkerSeen:
		return KindWorkerSeen
	case *eventlogv1.WorkerGone:
		return KindWorkerGone
	case *eventlogv1.RolloutChanged:
		return KindRolloutChanged
	}
	return ""
}

// newEvent makes an empty event of a kind, nil for one that this build does not know.
func newEvent(kind string) proto.Message {
	switch kind {
	case KindSegmentStarted:
		return &eventlogv1.SegmentStarted{}
	case KindSegmentEnded:
		return &eventlogv1.SegmentEnded{}
	case KindHeartbeat:
		return &eventlogv1.Heartbeat{}
	case KindEventTooLarge:
		return &eventlogv1.EventTooLarge{}
	case KindQueryStarted:
		return &eventlogv1.QueryStarted{}
	case KindAttemptStarted:
		return &eventlogv1.AttemptStarted{}
	case KindStageStarted:
		return &eventlogv1.StageStarted{}
	case KindStageFinished:
		return &eventlogv1.StageFinished{}
	case KindTaskStarted:
		return &eventlogv1.TaskStarted{}
	case KindTaskFinished:
		return &eventlogv1.TaskFinished{}
	case KindAttemptFailed:
		return &eventlogv1.AttemptFailed{}
	case KindQueryFinished:
		return &eventlogv1.QueryFinished{}
	case KindWorkerSeen:
		return &eventlogv1.WorkerSeen{}
	case KindWorkerGone:
		return &eventlogv1.WorkerGone{}
	case KindRolloutChanged:
		return &eventlogv1.RolloutChanged{}
	}
	return nil
}

// knownKind tells whether newEvent knows a kind, without making one.
func knownKind(kind []byte) bool {
	switch string(kind) {
	case KindSegmentStarted, KindSegmentEnded, KindHeartbeat, KindEventTooLarge, KindQueryStarted, KindAttemptStarted, KindStageStarted, KindStageFinished,
		KindTaskStarted, KindTaskFinished, KindAttemptFailed, KindQueryFinished, KindWorkerSeen, KindWorkerGone, KindRolloutChanged:
		return true
	}
	return false
}
