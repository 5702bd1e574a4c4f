package coordinator

import (
	"context"
	"errors"
	"fmt"
	"io"

	"connectrpc.com/connect/v2"

	"github.com/fletchdb/fletch/engine"
	workerv1 "github.com/fletchdb/fletch/gen/go/fletch/worker/v1"
	"github.com/fletchdb/fletch/gen/go/fletch/worker/v1/workerv1connect"
	"github.com/fletchdb/fletch/services/internal/arrowwire"
	"github.com/fletchdb/fletch/services/internal/pull"
	"github.com/fletchdb/fletch/services/internal/rpcerr"
)

var supplySpec = connect.Spec{
	StreamType: connect.StreamTypeClient,
	Schema:     workerv1.File_fletch_worker_v1_worker_proto.Services().ByName("WorkerService").Methods().ByName("Supply"),
	Procedure:  workerv1connect.WorkerServiceSupplyProcedure,
}

// supplyAll sends the tasks the tables of the session that they read, side by side, while the attempt runs.
func (a *attempt) supplyAll() {
	for i, t := range a.tasks {
		for _, s := range t.Supplies {
			a.wg.Go(func() {
				if err := a.supply(i, s); err != nil && a.ctx.Err() == nil {
					a.cancel(err)
				}
			})
		}
	}
}

// supply sends task i one table.
func (a *attempt) supply(i int, s engine.Supply) error {
	rows, err := a.c.engine.Supply(a.ctx, a.plan, s)
	if err != nil {
		return err
	}
	defer rows.Close()
	w := a.on[i]
	// A call that failed is the worker's; a table that cannot be read, this process's.
	ctx, cancel := context.WithCancel(a.ctx)
	defer cancel()
	stream, err := pull.Client(a.c.dialer, w.URL, w.Identity).CallClientStream(ctx, supplySpec)
	if err != nil {
		return &workerError{w, rpcerr.FromWorker(a.ctx, w.URL, err)}
	}
	defer func() { _ = stream.Close() }()
	err = a.send(stream, i, s, rows)
	if errors.Is(err, errTable) {
		a.cancel(err) // before the call ends: the worker tells only that its rows stopped coming
		return err
	}
	if err == nil || errors.Is(err, io.EOF) { // the worker's answer says whether it has all, wants no more, or refuses
		if err = stream.CloseSend(); err == nil || errors.Is(err, io.EOF) {
			err = stream.Receive(&workerv1.SupplyResponse{})
		}
	}
	if err != nil {
		return &workerError{w, rpcerr.FromWorker(a.ctx, w.URL, err)}
	}
	return nil
}

// errTable marks an error of the table, not of the call.
var errTable = errors.New("read a table of the session")

// send sends a table's rows. io.EOF says that the worker has answered already.
func (a *attempt) send(stream connect.ClientStream, i int, s engine.Supply, rows *engine.Rows) error {
	start, err := arrowwire.Start(&workerv1.SupplyStart{Key: a.key(a.tasks[i]), Stage: s.Stage, Token: a.token})
	if err != nil {
		return err
	}
	if err := stream.Send(start); err != nil {
		return err
	}
	schema, err := rows.Schema()
	if err != nil {
		return fmt.Errorf("%w: %w", errTable, err)
	}
	w, err := arrowwire.NewWriterTo(stream, schema)
	if err != nil {
		return err
	}
	for {
		rec, err := rows.Next()
		if errors.Is(err, io.EOF) {
			return w.End()
		}
		if err != nil {
			return fmt.Errorf("%w: %w", errTable, err)
		}
		if err := w.Write(rec); err != nil {
			return err
		}
	}
}
