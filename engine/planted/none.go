//go:build !planted

package planted

// The faults.
const (
	NullKeys        = false // NULL joins what equals it by its bits
	WindowFrame     = false // a frame of rows ends one row early
	LastBatch       = false // sorted rows lose their last batch
	NegativeZero    = false // −0 and 0 go to different partitions
	DecimalScale    = false // operands of a sum keep their own scales
	LikeEscape      = false // an escaped character of LIKE is none
	NotIn           = false // NOT IN forgets that there was a NULL
	Selection       = false // a sort takes rows that a filter dropped
	PartialCount    = false // partial counts are merged as if each were 1
	DictionaryCodes = false // codes of one dictionary are taken for those of another
)
