package cli

import (
	"encoding/json"
	"io"
	"time"

	"github.com/fletchdb/fletch/services/internal/rpcerr"
)

// runStats is the line of --stats. Its names are fixed: scripts read them.
type runStats struct {
	QueryID   string        `json:"query_id"`
	Rows      int64         `json:"rows"`
	Attempts  uint32        `json:"attempts"`
	Cohort    *cohortStats  `json:"cohort"`
	Workers   []workerStats `json:"workers"`
	ElapsedMS float64       `json:"elapsed_ms"`
	MemoryMax int64         `json:"memory_peak"`
	Error     *errorStats   `json:"error"`

	began time.Time
}

func newStats() *runStats { return &runStats{Workers: []workerStats{}, began: time.Now()} }

type cohortStats struct {
	Version      string `json:"version"`
	Protocol     uint32 `json:"protocol"`
	Capabilities string `json:"capabilities"`
}

type workerStats struct {
	URL      string `json:"url"`
	Instance string `json:"instance"`
	Version  string `json:"version"`
}

type errorStats struct {
	Code     string         `json:"code"`
	Message  string         `json:"message"`
	Position *positionStats `json:"position"`
}

// positionStats is a place in the statement, in bytes.
type positionStats struct {
	Start int32 `json:"start"`
	End   int32 `json:"end"`
}

func (r *embeddedResult) describe(st *runStats) { st.Attempts, st.MemoryMax = 1, r.MemoryPeak() }

func (r *clusterResult) describe(st *runStats) {
	st.QueryID = r.QueryID
	end := r.End
	st.Attempts, st.MemoryMax = end.GetAttempts(), int64(end.GetMemoryPeak())
	if c := end.GetCohort(); c != nil {
		st.Cohort = &cohortStats{c.GetVersion(), c.GetProtocol(), c.GetCapabilities()}
	}
	for _, w := range end.GetWorkers() {
		st.Workers = append(st.Workers, workerStats{w.GetUrl(), w.GetInstanceId(), w.GetVersion()})
	}
}

// write ends what is known with err, which may be nil, and writes it.
func (st *runStats) write(out io.Writer, err error) {
	st.ElapsedMS = float64(time.Since(st.began).Microseconds()) / 1000
	if err != nil {
		e := rpcerr.Of(err)
		st.Error = &errorStats{Code: string(e.Code), Message: e.Message}
		if !e.Pos.IsZero() {
			st.Error.Position = &positionStats{e.Pos.Start, e.Pos.End}
		}
	}
	_ = json.NewEncoder(out).Encode(st)
}
