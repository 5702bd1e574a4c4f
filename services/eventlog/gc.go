package eventlog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"
)

// A Garbage says what of a log is kept. A limit of 0 is none.
type Garbage struct {
	Age  time.Duration // of a segment, since it was written to last
	Size int64         // bytes of the whole log
	Keep bool          // say only what would go
}

// Collect deletes segments, the oldest first, as far as g asks, and gives those that went. It leaves instances alone whose writer is
// alive: they see to their own.
func (l *Log) Collect(g Garbage) (gone []Segment, err error) {
	type candidate struct {
		Segment
		changed time.Time
	}
	var dead []candidate
	total := int64(0)
	for _, i := range l.Instances {
		alive := i.Segments[len(i.Segments)-1].Running()
		for _, s := range i.Segments {
			info, err := os.Stat(s.Path)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("read the event log: %w", err)
			}
			total += info.Size()
			if !alive {
				dead = append(dead, candidate{s, info.ModTime()})
			}
		}
	}
	slices.SortStableFunc(dead, func(a, b candidate) int { return a.changed.Compare(b.changed) })
	for _, c := range dead {
		if (g.Age <= 0 || time.Since(c.changed) <= g.Age) && (g.Size <= 0 || total <= g.Size) {
			continue
		}
		if !g.Keep {
			if err := os.Remove(c.Path); err != nil {
				return gone, fmt.Errorf("delete a segment: %w", err)
			}
		}
		total -= c.Size
		gone = append(gone, c.Segment)
	}
	return gone, nil
}
