package api

import (
	_ "embed"
	"encoding/json"
	"net/http"

	"github.com/fletchdb/fletch/services/internal/identity"
)

// openapi describes the API in OpenAPI's words; ci/generate makes it of the schemas.
//
//go:embed openapi.json
var openapi []byte

// Where a server says what it serves, for whoever has no schema of it yet.
const (
	VersionsPath = "/api/versions"
	OpenAPIPath  = "/api/openapi.json"
)

// Describe adds to mux what a server says of its API without being called by it: the versions, and the OpenAPI document.
func Describe(mux *http.ServeMux) {
	type served struct {
		Package string `json:"package"`
		Version string `json:"version"`
		Minimum string `json:"minimum"`
		OpenAPI string `json:"openapi"`
	}
	// The names stay, and new ones may come, as in the API itself.
	versions, _ := json.Marshal(struct {
		Release string   `json:"release"`
		Build   string   `json:"build"`
		Served  []served `json:"served"`
	}{identity.Release(), identity.Build(), []served{{"fletch.api.v1", identity.API().String(), identity.APIMinimum().String(), OpenAPIPath}}})
	for path, body := range map[string][]byte{VersionsPath: append(versions, '\n'), OpenAPIPath: openapi} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set(identity.HeaderAPI, identity.API().String())
			w.Header().Set(identity.HeaderAPIMinimum, identity.APIMinimum().String())
			_, _ = w.Write(body) // to a caller who may have left
		})
	}
	mux.Handle("/", elsewhere())
}
