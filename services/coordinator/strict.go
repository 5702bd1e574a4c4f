package coordinator

import "github.com/fletchdb/fletch/services/api"

// known refuses a request with a field that this build does not know.
var known = api.Strict
