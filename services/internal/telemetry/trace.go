package telemetry

import (
	"context"

	"connectrpc.com/connect/v2"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// Tracer is what spans are made with; nil, of nobody who configured an exporter, makes none.
func Tracer(p trace.TracerProvider) trace.Tracer {
	if p == nil {
		p = noop.NewTracerProvider()
	}
	return p.Tracer("github.com/fletchdb/fletch")
}

// End ends a span, with the error that its work met, if any.
func End(span trace.Span, err error) {
	if err != nil {
		span.SetStatus(codes.Error, err.Error())
	}
	span.End()
}

// Propagate is a client's interceptor: the callee learns, in the headers of W3C's Trace Context, within which span it is called.
// Outside of spans it sends nothing.
func Propagate(next connect.ClientFunc) connect.ClientFunc {
	return func(ctx context.Context, spec connect.Spec) (connect.ClientStream, error) {
		if info, ok := connect.CallInfoForClientContext(ctx); ok && trace.SpanContextFromContext(ctx).IsValid() {
			propagation.TraceContext{}.Inject(ctx, carrier{info.RequestHeader()})
		}
		return next(ctx, spec)
	}
}

// Join is a server's interceptor: what is done for a call belongs to the span that the caller named.
func Join(next connect.ServerFunc) connect.ServerFunc {
	return func(ctx context.Context, spec connect.Spec, stream connect.ServerStream) error {
		if info, ok := connect.CallInfoForServerContext(ctx); ok && info.RequestHeader().Get("Traceparent") != "" {
			ctx = propagation.TraceContext{}.Extract(ctx, carrier{info.RequestHeader()})
		}
		return next(ctx, spec, stream)
	}
}

type header interface {
	Get(string) string
	Set(string, string)
}

// carrier is a call's headers as a propagator wants them.
type carrier struct{ header }

func (carrier) Keys() []string { return nil }
