package engine

import (
	"context"
	"errors"
	"io"

	"github.com/fletchdb/fletch/engine/slt"
)

// Querier is the session for SQL logic tests.
func (s *Session) Querier() slt.Querier { return querier{s} }

type querier struct{ session *Session }

func (q querier) Close() error { return nil }

func (q querier) Run(ctx context.Context, sql string) (*slt.Result, error) {
	plan, err := q.session.Plan(ctx, sql)
	if err != nil {
		return nil, err
	}
	rows, err := q.session.engine.Run(ctx, plan)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := &slt.Result{Changed: -1}
	for _, f := range plan.Fields {
		out.Types = append(out.Types, f.Type)
	}
	for {
		rec, err := rows.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		out.Add(rec)
	}
}
