// Package eventlog writes what happened on a coordinator to disk and reads it back, in this release and in every later one. The
// format is docs/eventlog.md and proto/eventlog. It must never know how a query is run, nor how its history is shown.
package eventlog

import (
	"google.golang.org/protobuf/proto"

	eventlogv1 "github.com/fletchdb/fletch/gen/go/fletch/eventlog/v1"
	optionsv1 "github.com/fletchdb/fletch/gen/go/fletch/options/v1"
)

// Version is the version of the log's schema that this build writes, and the highest it reads: what eventlog.proto says of itself.
func Version() uint32 {
	return proto.GetExtension(eventlogv1.File_fletch_eventlog_v1_eventlog_proto.Options(), optionsv1.E_LogVersion).(uint32)
}
