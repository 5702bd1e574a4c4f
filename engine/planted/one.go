//go:build planted

package planted

import "os"

var chosen = os.Getenv("FLETCH_PLANTED")

// The faults.
var (
	NullKeys        = chosen == "null_keys"
	WindowFrame     = chosen == "window_frame"
	LastBatch       = chosen == "last_batch"
	NegativeZero    = chosen == "negative_zero"
	DecimalScale    = chosen == "decimal_scale"
	LikeEscape      = chosen == "like_escape"
	NotIn           = chosen == "not_in"
	Selection       = chosen == "selection"
	PartialCount    = chosen == "partial_count"
	DictionaryCodes = chosen == "dictionary_codes"
)
