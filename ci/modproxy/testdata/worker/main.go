// Command embed runs a worker in this process, under a version of its own, and asks it over the network who it is.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	identityv1 "github.com/fletchdb/fletch/gen/go/fletch/identity/v1"
	"github.com/fletchdb/fletch/gen/go/fletch/worker/v1/workerv1connect"
	"github.com/fletchdb/fletch/services/worker"
)

func main() {
	ctx, stop := context.WithCancel(context.Background())
	w, err := worker.New(worker.WithVersion("2.4.1"))
	if err != nil {
		log.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- w.Serve(ctx) }()
	client := workerv1connect.NewWorkerServiceClient(connect.NewClient(connecthttp.NewTransport(http.DefaultClient, w.URL())))
	info, err := client.WorkerInfo(ctx, &identityv1.WorkerInfoRequest{})
	stop()
	fmt.Println(info.GetVersion(), err, <-served)
}
