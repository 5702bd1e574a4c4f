package coordinator

import (
	"context"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	apiv1 "github.com/fletchdb/fletch/gen/go/fletch/api/v1"
)

// A caller who goes away while a page is made loses no row: whoever asks again gets the page whole.
func TestPageWhoseCallerLeaves(t *testing.T) {
	running, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	p := newPages(&Coordinator{limits: defaultLimits()})
	defer p.close()
	cur := &cursor{query: &query{id: "q", cancel: stop}, sink: newRowSink(running)}
	rows := func(n ...float64) (out []*structpb.ListValue) {
		for _, x := range n {
			out = append(out, &structpb.ListValue{Values: []*structpb.Value{structpb.NewNumberValue(x)}})
		}
		return out
	}
	give := func(r []*structpb.ListValue) { cur.sink.rows <- r }
	go give(rows(1, 2, 3))
	first, err := p.page(t.Context(), cur, 2)
	if err != nil || len(first.GetRows()) != 2 {
		t.Fatalf("%v, %v", first, err)
	}

	caller, leave := context.WithCancel(t.Context())
	go func() {
		give(rows(4))
		leave()
	}()
	if _, err := p.more(caller, first.GetNextPageToken(), 10); err == nil {
		t.Fatal("a page for nobody")
	}
	if running.Err() != nil {
		t.Fatal("the query has ended with its caller")
	}

	go func() {
		give(rows(5))
		cur.sink.finish(&apiv1.QueryEnd{Rows: 5}, nil)
	}()
	again, err := p.more(t.Context(), first.GetNextPageToken(), 10)
	if err != nil {
		t.Fatal(err)
	}
	var got []float64
	for _, r := range again.GetRows() {
		got = append(got, r.GetValues()[0].GetNumberValue())
	}
	if len(got) != 3 || got[0] != 3 || got[1] != 4 || got[2] != 5 || again.GetEnd().GetRows() != 5 {
		t.Errorf("asked again it has %v, %v", got, again.GetEnd())
	}
}
