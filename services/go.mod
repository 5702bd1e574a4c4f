module github.com/fletchdb/fletch/services

go 1.26.0

require (
	connectrpc.com/connect/v2 v2.0.2
	connectrpc.com/cors v0.1.0
	connectrpc.com/grpchealth v1.5.0
	connectrpc.com/grpcreflect/v2 v2.0.0
	github.com/apache/arrow-go/v18 v18.8.0
	github.com/fletchdb/fletch/engine v0.1.0
	github.com/fletchdb/fletch/gen v0.1.0
	github.com/rs/cors v1.11.1
	google.golang.org/protobuf v1.36.12
)
