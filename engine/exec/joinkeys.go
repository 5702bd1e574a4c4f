package exec

import (
	"bytes"
	"unsafe"

	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
	"github.com/fletchdb/fletch/engine/vector/kernel"
)

// joinKeys keeps the keys of a join's build rows, in the form that a probe compares fastest, and puts the keys of a probe's
// batch into the same form. A row of either side whose key is NULL, where NULL equals nothing, is never put in.
type joinKeys interface {
	// append keeps the keys of the rows sel, or the first n.
	append(keys []*vector.Vector, sel []int32, n int) error
	// adopt appends all of others, which are not used afterwards.
	adopt(others []joinKeys)
	len() int
	// hashes stores the hashes of the rows from …
	hashes(dst []uint64, from int)
	// same tells whether two build rows have equal keys.
	same(a, b int32) bool
	// prober is one goroutine's view for probing.
	prober(t *joinTable) prober
}

// A prober finds keys of a batch among a build side's.
type prober interface {
	// find stores, for the i-th of the rows sel (or the first n), the head of the chain of build rows with an equal key at
	// heads[i], −1 where there is none. No key is NULL where NULL equals nothing.
	find(keys []*vector.Vector, sel []int32, n int, heads []int32)
}

func newJoinKeys(types []sqltype.Type, nullEqual bool, acct *account) joinKeys {
	if len(types) == 1 && integerLike(types[0]) && !nullEqual {
		return &intKeys{acct: acct}
	}
	if p, ok := newPacking(types); ok {
		if p.words <= 2 {
			return &packedKeys[[2]uint64]{packing: p, acct: acct}
		}
		return &packedKeys[[4]uint64]{packing: p, acct: acct}
	}
	return &byteKeys{acct: acct, at: []uint64{0}, rows: rowEncoder{compares: true}}
}

// intKeys is keys of one integer.
type intKeys struct {
	all  []int64
	acct *account
	held int64
	in   numbers
}

func (k *intKeys) len() int { return len(k.all) }

func (k *intKeys) append(keys []*vector.Vector, sel []int32, n int) error {
	if want := int64(grown(cap(k.all), len(k.all)+n)) * 8; want > k.held {
		if err := k.acct.resize(&k.held, want); err != nil {
			return err
		}
	}
	at := len(k.all)
	k.all = extend(k.all, n)
	copy(k.all[at:], k.in.of(keys[0], sel, n))
	return nil
}

func (k *intKeys) adopt(others []joinKeys) {
	parts := make([][]int64, len(others))
	for i, o := range others {
		parts[i] = o.(*intKeys).all
	}
	k.all = concat(k.all, parts)
}

// concat is first and then parts, in new memory only if there is a part.
func concat[T any](first []T, parts [][]T) []T {
	total := len(first)
	for _, p := range parts {
		total += len(p)
	}
	if total == len(first) {
		return first
	}
	all := make([]T, 0, total)
	all = append(all, first...)
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

func (k *intKeys) hashes(dst []uint64, from int) { kernel.Hash64(dst, k.all[from:from+len(dst)]) }
func (k *intKeys) same(a, b int32) bool          { return k.all[a] == k.all[b] }

func (k *intKeys) prober(t *joinTable) prober { return &intProber{keys: k, table: t} }

type intProber struct {
	keys   *intKeys
	table  *joinTable
	in     numbers
	hashed []uint64
}

func (p *intProber) find(keys []*vector.Vector, sel []int32, n int, heads []int32) {
	probe, t := p.in.of(keys[0], sel, n), p.table
	heads = heads[:len(probe)]
	if t.direct != nil {
		low, direct := t.low, t.direct
		for i, k := range probe {
			h := int32(-1)
			if d := uint64(k) - uint64(low); d < uint64(len(direct)) {
				h = direct[d] - 1
			}
			heads[i] = h
		}
		return
	}
	if cap(p.hashed) < n {
		p.hashed = make([]uint64, n)
	}
	hashed := p.hashed[:n]
	kernel.Hash64(hashed, probe)
	t.prefetch(hashed)
	all, slots, shift, region := p.keys.all, t.slots, t.shift, t.region
	var last int64
	lastHead := int32(-2)
	for i, k := range probe {
		if k == last && lastHead != -2 {
			heads[i] = lastHead
			continue
		}
		h := hashed[i]
		head := int32(-1)
		for at := h >> shift; ; at = at&^region | (at+1)&region {
			s := slots[at]
			if s == 0 {
				break
			}
			if (s^h<<48)&tagMask == 0 {
				if row := int32(s&numberMask) - 1; all[row] == k {
					head = row
					break
				}
			}
		}
		heads[i] = head
		last, lastHead = k, head
	}
}

// packedKeys is keys of fixed width.
type packedKeys[K [2]uint64 | [4]uint64] struct {
	packing packing
	all     []K
	acct    *account
	held    int64
	in      numbers
	cols    [4][]uint64
}

func (k *packedKeys[K]) len() int { return len(k.all) }

func (k *packedKeys[K]) append(keys []*vector.Vector, sel []int32, n int) error {
	if want := int64(grown(cap(k.all), len(k.all)+n)) * int64(unsafe.Sizeof(*new(K))); want > k.held {
		if err := k.acct.resize(&k.held, want); err != nil {
			return err
		}
	}
	at := len(k.all)
	k.all = extend(k.all, n)
	k.packing.pack(&k.cols, &k.in, keys, sel, n)
	gatherPacked(k.all[at:], &k.cols, k.packing.words)
	return nil
}

// gatherPacked turns keys by word into keys by row.
func gatherPacked[K [2]uint64 | [4]uint64](dst []K, cols *[4][]uint64, words int) {
	for i := range dst {
		var key K
		for w := range words {
			key[w] = cols[w][i]
		}
		dst[i] = key
	}
}

func (k *packedKeys[K]) adopt(others []joinKeys) {
	parts := make([][]K, len(others))
	for i, o := range others {
		parts[i] = o.(*packedKeys[K]).all
	}
	k.all = concat(k.all, parts)
}

func (k *packedKeys[K]) hashes(dst []uint64, from int) {
	hashPacked(dst, k.all[from:from+len(dst)], k.packing.words)
}

// hashPacked stores the hash of each key.
func hashPacked[K [2]uint64 | [4]uint64](dst []uint64, keys []K, words int) {
	const step = 1024
	var part [step]int64
	for from := 0; from < len(keys); from += step {
		some := keys[from:min(from+step, len(keys))]
		for w := range words {
			for i, k := range some {
				part[i] = int64(k[w])
			}
			if w == 0 {
				kernel.Hash64(dst[from:from+len(some)], part[:len(some)])
			} else {
				kernel.HashCombine(dst[from:from+len(some)], part[:len(some)])
			}
		}
	}
}

func (k *packedKeys[K]) same(a, b int32) bool { return k.all[a] == k.all[b] }

func (k *packedKeys[K]) prober(t *joinTable) prober { return &packedProber[K]{keys: k, table: t} }

type packedProber[K [2]uint64 | [4]uint64] struct {
	keys   *packedKeys[K]
	table  *joinTable
	in     numbers
	cols   [4][]uint64
	probe  []K
	hashed []uint64
}

func (p *packedProber[K]) find(keys []*vector.Vector, sel []int32, n int, heads []int32) {
	pack, t := &p.keys.packing, p.table
	pack.pack(&p.cols, &p.in, keys, sel, n)
	if cap(p.probe) < n {
		p.probe, p.hashed = make([]K, n), make([]uint64, n)
	}
	probe, hashed := p.probe[:n], p.hashed[:n]
	gatherPacked(probe, &p.cols, pack.words)
	kernel.Hash64(hashed, recast[int64](p.cols[0][:n]))
	for w := 1; w < pack.words; w++ {
		kernel.HashCombine(hashed, recast[int64](p.cols[w][:n]))
	}
	t.prefetch(hashed)
	all := p.keys.all
	for i, k := range probe {
		h := hashed[i]
		head := int32(-1)
		for at := h >> t.shift; ; at = at&^t.region | (at+1)&t.region {
			s := t.slots[at]
			if s == 0 {
				break
			}
			if (s^h<<48)&tagMask == 0 {
				if row := int32(s&numberMask) - 1; all[row] == k {
					head = row
					break
				}
			}
		}
		heads[i] = head
	}
}

// byteKeys is any keys, encoded.
type byteKeys struct {
	at   []uint64 // row i is data[at[i]:at[i+1]]
	data []byte
	hash []uint64
	acct *account
	held int64
	rows rowEncoder
}

func (k *byteKeys) len() int { return len(k.hash) }

func (k *byteKeys) append(keys []*vector.Vector, sel []int32, n int) error {
	k.rows.encode(keys, sel, n)
	rows := len(k.hash) + n
	want := int64(grown(cap(k.at), rows+1))*8 + int64(grown(cap(k.hash), rows))*8 + int64(grown(cap(k.data), len(k.data)+len(k.rows.buf)))
	if want > k.held {
		if err := k.acct.resize(&k.held, want); err != nil {
			return err
		}
	}
	base, from := uint64(len(k.data)), len(k.hash)
	k.data = extend(k.data, len(k.rows.buf))
	copy(k.data[base:], k.rows.buf)
	k.at = extend(k.at, n)
	for i, end := range k.rows.at[1:] {
		k.at[from+1+i] = base + uint64(end)
	}
	k.hash = extend(k.hash, n)
	copy(k.hash[from:], k.rows.hash())
	return nil
}

func (k *byteKeys) adopt(others []joinKeys) {
	datas, hashes := make([][]byte, len(others)), make([][]uint64, len(others))
	base := uint64(len(k.data))
	for i, o := range others {
		b := o.(*byteKeys)
		datas[i], hashes[i] = b.data, b.hash
		for _, end := range b.at[1:] {
			k.at = append(k.at, base+end)
		}
		base += uint64(len(b.data))
	}
	k.data, k.hash = concat(k.data, datas), concat(k.hash, hashes)
}

func (k *byteKeys) row(i int32) []byte            { return k.data[k.at[i]:k.at[i+1]] }
func (k *byteKeys) hashes(dst []uint64, from int) { copy(dst, k.hash[from:]) }
func (k *byteKeys) same(a, b int32) bool          { return bytes.Equal(k.row(a), k.row(b)) }
func (k *byteKeys) prober(t *joinTable) prober {
	return &byteProber{keys: k, table: t, rows: rowEncoder{compares: true}}
}

type byteProber struct {
	keys  *byteKeys
	table *joinTable
	rows  rowEncoder
}

func (p *byteProber) find(keys []*vector.Vector, sel []int32, n int, heads []int32) {
	t := p.table
	p.rows.encode(keys, sel, n)
	hashed := p.rows.hash()
	t.prefetch(hashed)
	for i, h := range hashed {
		key := p.rows.row(i)
		head := int32(-1)
		for at := h >> t.shift; ; at = at&^t.region | (at+1)&t.region {
			s := t.slots[at]
			if s == 0 {
				break
			}
			if (s^h<<48)&tagMask == 0 {
				if row := int32(s&numberMask) - 1; bytes.Equal(p.keys.row(row), key) {
					head = row
					break
				}
			}
		}
		heads[i] = head
	}
}
