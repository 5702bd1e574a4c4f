package cli

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/fletchdb/fletch/services/internal/identity"
)

// flushGrace is how long a process that ends waits for its last spans to be taken.
const flushGrace = 2 * time.Second

// tracing sends spans to where OpenTelemetry's variables (OTEL_EXPORTER_OTLP_ENDPOINT and the like) say, over HTTP. Where they name
// nothing there is no provider and nothing to pay for. flush sends what is left.
func tracing(ctx context.Context, role string) (provider trace.TracerProvider, flush func(), err error) {
	if !tracingAsked(os.Getenv) {
		return nil, func() {}, nil
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("open the exporter of traces: %w", err)
	}
	name := os.Getenv("OTEL_SERVICE_NAME")
	if name == "" {
		name = "fletch-" + role
	}
	// OTEL_RESOURCE_ATTRIBUTES is read by the SDK's default resource.
	about, err := resource.Merge(resource.Default(), resource.NewSchemaless(
		attribute.String("service.name", name), attribute.String("service.version", identity.Release()),
	))
	if err != nil {
		return nil, nil, fmt.Errorf("describe this process to the exporter of traces: %w", err)
	}
	sdk := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
	return sdk, func() {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushGrace)
		defer cancel()
		_ = sdk.Shutdown(bounded) // whoever collects traces may be gone: that fails nothing
	}, nil
}

// tracingAsked tells whether the environment names an exporter of traces.
func tracingAsked(env func(string) string) bool {
	if strings.EqualFold(env("OTEL_SDK_DISABLED"), "true") || env("OTEL_TRACES_EXPORTER") == "none" {
		return false
	}
	return env("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != "" || env("OTEL_TRACES_EXPORTER") == "otlp"
}
