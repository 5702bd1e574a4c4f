package cli

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// Spans go where OpenTelemetry's variables say, and nowhere without them.
func TestTracing(t *testing.T) {
	got := make(chan []byte, 10)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.URL.Path == "/v1/traces" {
			got <- body
		}
	}))
	defer collector.Close()
	for _, name := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_TRACES_EXPORTER", "OTEL_SDK_DISABLED"} {
		t.Setenv(name, "")
	}
	if p, flush, err := tracing(t.Context(), "worker"); p != nil || err != nil {
		t.Errorf("%v, %v without a variable", p, err)
	} else {
		flush()
	}
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	provider, flush, err := tracing(t.Context(), "worker")
	if err != nil || provider == nil {
		t.Fatal(provider, err)
	}
	_, span := provider.Tracer("test").Start(t.Context(), "a task of a query")
	span.End()
	flush()
	select {
	case body := <-got:
		if !bytes.Contains(body, []byte("a task of a query")) || !bytes.Contains(body, []byte("fletch-worker")) {
			t.Errorf("%q", body)
		}
	default:
		t.Error("nothing came to the collector")
	}
	t.Setenv("OTEL_SDK_DISABLED", "true")
	if p, _, err := tracing(t.Context(), "worker"); p != nil || err != nil {
		t.Errorf("%v, %v although it is disabled", p, err)
	}
}
