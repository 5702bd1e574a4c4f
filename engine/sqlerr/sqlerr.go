// Package sqlerr is the one error type that a user of Fletch sees: a stable code, a position in the statement where there
// is one, a sentence and a hint. It knows nothing of SQL, of files or of the network; the wire form is services' affair.
package sqlerr

import (
	"errors"
	"fmt"
	"io"
)

// A Code names a kind of error for programs. Codes are part of the API: one is never renamed or given another meaning.
type Code string

// The codes, with the PostgreSQL condition each stands for where there is one.
const (
	Syntax            Code = "syntax_error"                 // 42601
	UnknownColumn     Code = "undefined_column"             // 42703
	UnknownTable      Code = "undefined_table"              // 42P01
	UnknownFunction   Code = "undefined_function"           // 42883
	AmbiguousColumn   Code = "ambiguous_column"             // 42702
	AmbiguousFunction Code = "ambiguous_function"           // 42725
	DuplicateAlias    Code = "duplicate_alias"              // 42712
	DuplicateObject   Code = "duplicate_object"             // 42710
	Grouping          Code = "grouping_error"               // 42803
	Windowing         Code = "windowing_error"              // 42P20
	DatatypeMismatch  Code = "datatype_mismatch"            // 42804
	CannotCoerce      Code = "cannot_coerce"                // 42846
	InvalidReference  Code = "invalid_column_reference"     // 42P10
	Unsupported       Code = "feature_not_supported"        // 0A000
	DivisionByZero    Code = "division_by_zero"             // 22012
	OutOfRange        Code = "numeric_value_out_of_range"   // 22003
	InvalidText       Code = "invalid_text_representation"  // 22P02
	InvalidDatetime   Code = "invalid_datetime_format"      // 22007
	DatetimeOverflow  Code = "datetime_field_overflow"      // 22008
	InvalidParameter  Code = "invalid_parameter_value"      // 22023
	InvalidRegex      Code = "invalid_regular_expression"   // 2201B
	InvalidUTF8       Code = "character_not_in_repertoire"  // 22021
	NotNull           Code = "not_null_violation"           // 23502
	UniqueViolation   Code = "unique_violation"             // 23505
	CheckViolation    Code = "check_violation"              // 23514
	Cardinality       Code = "cardinality_violation"        // 21000: a scalar subquery with more than one row
	StatementTooLarge Code = "statement_too_complex"        // 54001
	MemoryLimit       Code = "memory_limit"                 // 53200
	DiskFull          Code = "disk_full"                    // 53100
	TooManyQueries    Code = "too_many_queries"             // 53300
	Canceled          Code = "query_canceled"               // 57014
	Timeout           Code = "statement_timeout"            // 57014
	FileNotFound      Code = "file_not_found"               // 58P01
	FileCorrupt       Code = "file_corrupt"                 // XX001: what was read is not what the format allows
	FileChanged       Code = "file_changed"                 // the file is not the one that was planned
	FileDenied        Code = "file_denied"                  // outside the configured roots, or not readable
	IO                Code = "io_error"                     // 58030
	InvalidPlan       Code = "invalid_plan"                 // a plan that this build refuses
	NoWorker          Code = "no_worker"                    // no usable worker
	WorkerLost        Code = "worker_lost"                  // a worker ended, or stopped answering, during the query
	VersionMismatch   Code = "version_mismatch"             // the other side is not the version that was asked for
	Draining          Code = "draining"                     // the process takes no new work
	Unauthenticated   Code = "invalid_authorization"        // 28000
	ObjectNotInState  Code = "object_not_in_required_state" // 55000
	UnknownSetting    Code = "undefined_setting"            // 42704
	FunctionFailed    Code = "external_routine_exception"   // 38000: code of a function that is not built in
	Internal          Code = "internal_error"               // XX000: a fault of Fletch itself
)

// A Pos is a place in a statement: byte offset of its first byte and of the byte after its last. The zero Pos is no place.
type Pos struct {
	Start, End int32
}

// IsZero tells whether p is no place.
func (p Pos) IsZero() bool { return p == Pos{} }

// To is the place from the start of p to the end of q.
func (p Pos) To(q Pos) Pos {
	if q.IsZero() {
		return p
	}
	if p.IsZero() {
		return q
	}
	return Pos{Start: min(p.Start, q.Start), End: max(p.End, q.End)}
}

// An Error is what a user is told. Message is one lower-case sentence without its final stop; Hint, which may be empty,
// says what to do. Err, which may be nil, is the cause and is never shown to a remote caller.
type Error struct {
	Code    Code
	Pos     Pos
	Message string
	Hint    string
	Err     error
}

func (e *Error) Error() string {
	if e.Hint == "" {
		return e.Message
	}
	return e.Message + " (" + e.Hint + ")"
}

// Unwrap is the cause. An io.EOF is not told as such: to whoever reads rows it says that all have come.
func (e *Error) Unwrap() error {
	if errors.Is(e.Err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return e.Err
}

// New makes an error with a code and a place; pos may be zero.
func New(code Code, pos Pos, message string) *Error {
	return &Error{Code: code, Pos: pos, Message: message}
}

// Newf is New with a format. A %w verb keeps its cause.
func Newf(code Code, pos Pos, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Pos: pos, Message: err.Error(), Err: errors.Unwrap(err)}
}

// WithHint sets what the user should do, and returns e.
func (e *Error) WithHint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// At returns err with pos, if err is an *Error that has none yet; any other err is returned as it is.
func At(err error, pos Pos) error {
	var e *Error
	if errors.As(err, &e) && e.Pos.IsZero() && !pos.IsZero() {
		c := *e
		c.Pos = pos
		return &c
	}
	return err
}

// CodeOf is the code of the first *Error in err's chain, and Internal where there is none.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return Internal
}
