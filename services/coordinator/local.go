package coordinator

import (
	"context"
	"errors"
	"io"

	"github.com/fletchdb/fletch/engine"
	"github.com/fletchdb/fletch/services/internal/arrowwire"
)

// local runs a plan that reads no file in this process: constants, what tables there are, a plan's text.
func (c *Coordinator) local(ctx context.Context, plan *engine.Plan, out *counting) error {
	rows, err := c.engine.Run(ctx, plan)
	if err != nil {
		return err
	}
	defer rows.Close()
	schema, err := rows.Schema()
	if err != nil {
		return err
	}
	encoder := arrowwire.NewEncoder(schema)
	send := func(m *arrowwire.Message) error {
		defer m.Release()
		b, err := m.Encapsulated()
		if err != nil {
			return err
		}
		return out.Message(b, m.Rows)
	}
	first, err := encoder.Schema()
	if err != nil {
		return err
	}
	if err := send(first); err != nil {
		return err
	}
	for {
		rec, err := rows.Next()
		if errors.Is(err, io.EOF) {
			return out.Message(arrowwire.EndOfStream, 0)
		}
		if err != nil {
			return err
		}
		messages, err := encoder.Batch(rec)
		if err != nil {
			return err
		}
		for _, m := range messages {
			if err := send(m); err != nil {
				return err
			}
		}
	}
}
