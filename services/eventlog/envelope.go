package eventlog

import (
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	eventlogv1 "github.com/fletchdb/fletch/gen/go/fletch/eventlog/v1"
)

// An Envelope is what every line says of its event, whatever the schema version. Its slices are parts of the line.
type Envelope struct {
	Version uint32
	Kind    []byte
	At      []byte // RFC 3339 in UTC to the microsecond: it compares like the time does
	Seq     uint64
	Query   []byte // id, empty for an event of no one query
	Data    []byte // the payload's JSON object
}

// What is wrong with a line.
var (
	// ErrCorrupt is a line whose bytes are not what was written: the checksum differs, or there is none.
	ErrCorrupt = errors.New("corrupt")
	// ErrNewer is an intact line of a schema version above this build's. Its envelope is valid.
	ErrNewer = errors.New("newer")
)

const (
	timeLayout = "2006-01-02T15:04:05.000000Z"
	crcLength  = len(`,"crc":"00000000"}`)
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Time is when the writer says that it was.
func (e *Envelope) Time() time.Time { return timeOf(e.At) }

func timeOf(at []byte) time.Time {
	t, _ := time.Parse(timeLayout, string(at)) // ParseLine has looked at it; the 31st of February is no time
	return t
}

// ParseLine reads a line without its line feed: first the checksum, then the version, then the rest of the envelope. The payload's
// shape is Decode's matter. It fails with ErrCorrupt or, with a valid envelope, ErrNewer.
func ParseLine(line []byte) (e Envelope, err error) {
	n := len(line) - crcLength
	if n < 0 || len(line) >= MaxLine {
		return e, fmt.Errorf("%w: %d bytes are no line", ErrCorrupt, len(line))
	}
	tail := line[n:]
	if string(tail[:8]) != `,"crc":"` || string(tail[16:]) != `"}` {
		return e, fmt.Errorf("%w: no checksum at the end", ErrCorrupt)
	}
	var sum [4]byte
	if !decodeHex(sum[:], tail[8:16]) {
		return e, fmt.Errorf("%w: the checksum is no number", ErrCorrupt)
	}
	if crc32.Checksum(line[:n], castagnoli) != uint32(sum[0])<<24|uint32(sum[1])<<16|uint32(sum[2])<<8|uint32(sum[3]) {
		return e, fmt.Errorf("%w: the checksum differs", ErrCorrupt)
	}
	c := cursor{rest: line[:n]}
	v := c.number(`{"v":`)
	e.Kind = c.word(`,"kind":"`, maxKind)
	e.At = c.take(`","at":"`, len(timeLayout))
	e.Seq = c.number(`","seq":`)
	if c.next(`,"query":"`) {
		e.Query = c.word("", maxQuery)
		c.expect(`"`)
	}
	c.expect(`,"data":`)
	e.Data = c.rest
	if c.failed || v == 0 || v > 1<<31 || len(e.Kind) == 0 || !isTime(e.At) || len(e.Data) < 2 || e.Data[0] != '{' || e.Data[len(e.Data)-1] != '}' {
		return Envelope{}, fmt.Errorf("%w: it is no envelope", ErrCorrupt)
	}
	e.Version = uint32(v)
	if e.Version > version {
		return e, fmt.Errorf("%w: schema version %d, this build reads up to %d", ErrNewer, e.Version, version)
	}
	return e, nil
}

// decodeHex reads lower-case digits only: a line has one form.
func decodeHex(dst, src []byte) bool {
	for i := range dst {
		hi, lo := digit(src[2*i]), digit(src[2*i+1])
		if hi|lo > 15 {
			return false
		}
		dst[i] = hi<<4 | lo
	}
	return true
}

func digit(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10
	}
	return 255
}

// isTime tells whether b is a time in the log's one form.
func isTime(b []byte) bool {
	if len(b) != len(timeLayout) {
		return false
	}
	for i, c := range []byte("0000-00-00T00:00:00.000000Z") {
		if c == '0' && (b[i] < '0' || b[i] > '9') || c != '0' && b[i] != c {
			return false
		}
	}
	return true
}

// A cursor walks through an envelope; after a failure it goes nowhere.
type cursor struct {
	rest   []byte
	failed bool
}

func (c *cursor) next(s string) bool {
	if len(c.rest) < len(s) || string(c.rest[:len(s)]) != s {
		return false
	}
	c.rest = c.rest[len(s):]
	return true
}

func (c *cursor) expect(s string) {
	if !c.next(s) {
		c.failed = true
	}
}

// number takes s and decimal digits after it.
func (c *cursor) number(s string) uint64 {
	c.expect(s)
	i, n := 0, uint64(0)
	for i < len(c.rest) && i < 19 && c.rest[i] >= '0' && c.rest[i] <= '9' {
		n = n*10 + uint64(c.rest[i]-'0')
		i++
	}
	if i == 0 || i > 1 && c.rest[0] == '0' {
		c.failed = true
	}
	c.rest = c.rest[i:]
	return n
}

// word takes s and what follows of [a-z0-9_-], at most limit bytes.
func (c *cursor) word(s string, limit int) []byte {
	c.expect(s)
	i := 0
	for i < len(c.rest) && isWord(c.rest[i]) {
		i++
	}
	w := c.rest[:i]
	c.rest = c.rest[i:]
	if i > limit {
		c.failed = true
	}
	return w
}

func isWord(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= '0' && b <= '9' || b == '_' || b == '-'
}

func (c *cursor) take(s string, n int) []byte {
	c.expect(s)
	if len(c.rest) < n {
		c.failed = true
		return nil
	}
	b := c.rest[:n]
	c.rest = c.rest[n:]
	return b
}

// appendLine adds a line to b: an envelope around data, with its checksum and line feed.
func appendLine(b []byte, v uint32, kind string, at time.Time, seq uint64, query string, data []byte) []byte {
	from := len(b)
	b = append(b, `{"v":`...)
	b = strconv.AppendUint(b, uint64(v), 10)
	b = append(b, `,"kind":"`...)
	b = append(b, kind...)
	b = append(b, `","at":"`...)
	b = at.UTC().AppendFormat(b, timeLayout)
	b = append(b, `","seq":`...)
	b = strconv.AppendUint(b, seq, 10)
	if query != "" {
		b = append(b, `,"query":"`...)
		b = append(b, query...)
		b = append(b, '"')
	}
	b = append(b, `,"data":`...)
	b = append(b, data...)
	sum := crc32.Checksum(b[from:], castagnoli)
	b = append(b, `,"crc":"`...)
	b = hex.AppendEncode(b, []byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)})
	return append(b, "\"}\n"...)
}

// lineOverhead is more than the bytes of an envelope around its payload.
const lineOverhead = 512

// encodeWithin adds a payload of at most limit bytes to b: what is longest and least is left out until it fits. nil without an error
// says that it cannot.
func encodeWithin(b []byte, m proto.Message, limit int) ([]byte, error) {
	for {
		data, err := appendEvent(b, m)
		if err != nil || len(data)-len(b) <= limit {
			return data, err
		}
		if m = smaller(m); m == nil {
			return nil, nil
		}
	}
}

// smaller is m without the longest of its parts, nil where there is nothing to leave out.
func smaller(m proto.Message) proto.Message {
	switch m := m.(type) {
	case *eventlogv1.QueryStarted:
		if n := len(m.GetStatement()); n > 1024 {
			c := proto.CloneOf(m)
			c.StatementBytes = max(c.GetStatementBytes(), uint32(n))
			c.Statement = cut(m.GetStatement(), n/2)
			return c
		}
	case *eventlogv1.AttemptStarted:
		c := proto.CloneOf(m)
		switch {
		case len(m.GetStages()) > 0:
			c.Stages = nil
		case len(m.GetColumns()) > 0:
			c.Columns = nil
		case len(m.GetWorkers()) > 0:
			c.Workers = nil
		default:
			return nil
		}
		return c
	case *eventlogv1.TaskFinished:
		if len(m.GetOperators()) > 0 {
			c := proto.CloneOf(m)
			c.Operators = nil
			return c
		}
	case *eventlogv1.QueryFinished:
		if m.GetDigest() != nil {
			c := proto.CloneOf(m)
			c.Digest = nil
			return c
		}
	}
	return nil
}

// cut is at most n bytes of s, whole characters.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// ErrUnknownKind is an intact event of a kind that this build does not know. Readers skip it.
var ErrUnknownKind = errors.New("unknown kind")

// Decode gives an event's payload, lifted to this build's schema: a message of fletch.eventlog.v1. Fields and enum numbers that this
// build does not know are left out and kept, respectively. It fails with ErrUnknownKind, or with ErrCorrupt for a payload that is not
// its kind's.
func (e *Envelope) Decode() (proto.Message, error) {
	m := newEvent(string(e.Kind))
	if m == nil {
		return nil, fmt.Errorf("%w %q", ErrUnknownKind, e.Kind)
	}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(e.Data, m); err != nil {
		return nil, fmt.Errorf("%w: payload of %s: %w", ErrCorrupt, e.Kind, err)
	}
	return m, nil
}
