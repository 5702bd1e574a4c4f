// Package budget counts the memory of a query by named user and refuses what goes over its limit. It counts what it is
// told; it never allocates and knows no operator.
package budget

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/fletchdb/fletch/engine/sqlerr"
)

// A Budget is the memory of one query in one process: all its users together stay at or below the limit. Methods may be
// called from any goroutine.
type Budget struct {
	limit int64
	used  atomic.Int64
	peak  atomic.Int64

	mu    sync.Mutex
	users []*User
}

// New is a budget of limit bytes; 0 or less is no limit.
func New(limit int64) *Budget { return &Budget{limit: limit} }

// Used is the bytes reserved now.
func (b *Budget) Used() int64 { return b.used.Load() }

// Peak is the most that was reserved at once.
func (b *Budget) Peak() int64 { return b.peak.Load() }

// A User is one named consumer of a budget, such as "HashJoin build". Methods may be called from any goroutine.
type User struct {
	name   string
	budget *Budget
	used   atomic.Int64
	peak   atomic.Int64
}

// User adds a user. Names need not be unique.
func (b *Budget) User(name string) *User {
	u := &User{name: name, budget: b}
	b.mu.Lock()
	b.users = append(b.users, u)
	b.mu.Unlock()
	return u
}

// Reserve asks for n more bytes. If the budget has no room it changes nothing and fails with code memory_limit, naming the
// largest users.
func (u *User) Reserve(n int64) error {
	total := u.budget.used.Add(n)
	if u.budget.limit > 0 && total > u.budget.limit && n > 0 {
		u.budget.used.Add(-n)
		return u.budget.refuse(u.name, n)
	}
	raise(&u.budget.peak, total)
	raise(&u.peak, u.used.Add(n))
	return nil
}

// Release gives n bytes back.
func (u *User) Release(n int64) {
	u.used.Add(-n)
	u.budget.used.Add(-n)
}

// ReleaseAll gives everything back.
func (u *User) ReleaseAll() { u.budget.used.Add(-u.used.Swap(0)) }

// Used is the bytes that u has reserved now.
func (u *User) Used() int64 { return u.used.Load() }

// Peak is the most that u had reserved at once.
func (u *User) Peak() int64 { return u.peak.Load() }

func raise(peak *atomic.Int64, to int64) {
	for {
		p := peak.Load()
		if to <= p || peak.CompareAndSwap(p, to) {
			return
		}
	}
}

func (b *Budget) refuse(name string, n int64) error {
	b.mu.Lock()
	users := slices.Clone(b.users)
	b.mu.Unlock()
	slices.SortStableFunc(users, func(x, y *User) int { return cmp.Compare(y.used.Load(), x.used.Load()) })
	var parts []string
	for _, u := range users[:min(3, len(users))] {
		if used := u.used.Load(); used > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", u.name, Bytes(used)))
		}
	}
	held := ""
	if len(parts) > 0 {
		held = "; largest: " + strings.Join(parts, ", ")
	}
	return sqlerr.Newf(sqlerr.MemoryLimit, sqlerr.Pos{}, "%s needs %s more, over the query's memory limit of %s%s", name, Bytes(n), Bytes(b.limit), held).
		WithHint("raise --memory, or make the query keep less")
}

// Bytes is n for people, in binary units.
func Bytes(n int64) string {
	const units = "KMGTPE"
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	f, i := float64(n)/1024, 0
	for f >= 1024 && i < len(units)-1 {
		f /= 1024
		i++
	}
	return fmt.Sprintf("%.1f %ciB", f, units[i])
}
