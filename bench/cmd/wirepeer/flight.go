package main

import (
	"context"
	"encoding/binary"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// messageLimit lets a batch of 4 MiB through, which grpc-go would refuse.
const messageLimit = 64 << 20

// flights is arrow-go's Flight over grpc-go, as its documentation shows it.
type flights struct{}

type flightServer struct {
	flight.BaseFlightServer
	peer *peer
}

func (flights) serve(p *peer) (string, error) {
	s := flight.NewServerWithMiddleware(nil)
	if err := s.Init("127.0.0.1:0"); err != nil {
		return "", err
	}
	s.RegisterFlightService(&flightServer{peer: p})
	go func() { _ = s.Serve() }()
	return s.Addr().String(), nil
}

func (s *flightServer) DoGet(ticket *flight.Ticket, stream flight.FlightService_DoGetServer) error {
	batches := *s.peer.batches.Load()
	w := flight.NewRecordWriter(stream, ipc.WithSchema(batches[0].Schema()))
	for i := range int(binary.LittleEndian.Uint32(ticket.GetTicket())) {
		if err := w.Write(batches[i%len(batches)]); err != nil {
			return err
		}
	}
	return w.Close()
}

var client flight.Client

func (flights) read(ctx context.Context, url string, batches int, check func(arrow.RecordBatch) error) error {
	if client == nil {
		var err error
		client, err = flight.NewClientWithMiddleware(
			url, nil, nil, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(messageLimit)),
		)
		if err != nil {
			return err
		}
	}
	stream, err := client.DoGet(ctx, &flight.Ticket{Ticket: binary.LittleEndian.AppendUint32(nil, uint32(batches))})
	if err != nil {
		return err
	}
	r, err := flight.NewRecordReader(stream)
	if err != nil {
		return err
	}
	defer r.Release()
	for r.Next() {
		if err := check(r.RecordBatch()); err != nil {
			return err
		}
	}
	return r.Err()
}
