package sqltext

import (
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // zones are known on machines that have none

	"github.com/fletchdb/fletch/engine/calendar"
	"github.com/fletchdb/fletch/engine/sqlerr"
)

// A Zone is a time zone: a place's rules or a fixed offset.
type Zone struct{ location *time.Location }

// abbreviations are hours east of UTC.
var abbreviations = map[string]int{
	"utc": 0, "gmt": 0, "z": 0, "zulu": 0, "ut": 0, "wet": 0, "west": 1, "cet": 1, "cest": 2, "eet": 2, "eest": 3, "msk": 3, "bst": 1, "jst": 9, "kst": 9,
	"est": -5, "edt": -4, "cst": -6, "cdt": -5, "mst": -7, "mdt": -6, "pst": -8, "pdt": -7, "akst": -9, "akdt": -8, "hst": -10, "aest": 10, "aedt": 11,
}

var zones sync.Map // of names that were found, to Zone

// FindZone finds a zone by its name in the IANA database, such as Europe/Berlin, in any case; by an abbreviation; or by an
// offset in the manner of POSIX, in which +05 is five hours west. It fails with invalid_parameter_value.
func FindZone(name string) (Zone, *sqlerr.Error) {
	if z, ok := zones.Load(name); ok {
		return z.(Zone), nil
	}
	z, ok := findZone(strings.Trim(name, spaces))
	if !ok {
		return Zone{}, sqlerr.Newf(sqlerr.InvalidParameter, sqlerr.Pos{}, "time zone %s not recognized", quote(name)).
			WithHint("zones have names such as 'Europe/Berlin', or offsets such as '+01:00'")
	}
	zones.Store(strings.Clone(name), z)
	return z, nil
}

// maxZoneName bounds what is looked up, and so what zones keeps.
const maxZoneName = 64

func findZone(name string) (Zone, bool) {
	if name == "" || len(name) > maxZoneName {
		return Zone{}, false
	}
	if hours, ok := abbreviations[strings.ToLower(name)]; ok {
		return Zone{time.FixedZone(name, hours*3600)}, true
	}
	p := datetime{}
	if p.zone(name) {
		return Zone{time.FixedZone(name, -int(p.offset/calendar.Second))}, true
	}
	if strings.EqualFold(name, "local") {
		return Zone{}, false
	}
	for _, spelled := range []string{name, titled(name), strings.ToUpper(name)} {
		if l, err := time.LoadLocation(spelled); err == nil {
			return Zone{l}, true
		}
	}
	return Zone{}, false
}

// titled is name with a capital at the start of each word, as most zones are spelled.
func titled(name string) string {
	b := []byte(strings.ToLower(name))
	for i := range b {
		if (i == 0 || b[i-1] == '/' || b[i-1] == '_' || b[i-1] == '-') && b[i] >= 'a' && b[i] <= 'z' {
			b[i] -= 'a' - 'A'
		}
	}
	return string(b)
}

// FixedZone is a zone a number of microseconds east of UTC.
func FixedZone(micros int64) Zone {
	return Zone{time.FixedZone("", int(micros/calendar.Second))}
}

// Offset is how far east of UTC the zone is at a time in UTC, in microseconds.
func (z Zone) Offset(micros int64) int64 {
	_, seconds := time.UnixMicro(micros).In(z.location).Zone()
	return int64(seconds) * calendar.Second
}

// Name is the zone's abbreviation at a time in UTC.
func (z Zone) Name(micros int64) string {
	name, _ := time.UnixMicro(micros).In(z.location).Zone()
	return name
}

// Local is what a clock in the zone shows at a time in UTC.
func (z Zone) Local(micros int64) int64 { return micros + z.Offset(micros) }

// UTC is the time in UTC at which a clock in the zone shows local. Of two such times it is the later; where the clock was put
// forward past it, the one that the time before gives.
func (z Zone) UTC(local int64) int64 {
	before, after := z.Offset(local-calendar.Day), z.Offset(local+calendar.Day)
	if before == after {
		return local - before
	}
	late, early := local-after, local-before
	if z.Offset(late) == after {
		return late
	}
	return early
}
