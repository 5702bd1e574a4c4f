package exec

import (
	"context"
	"sync/atomic"

	"github.com/fletchdb/fletch/engine/eval"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
	"github.com/fletchdb/fletch/engine/vector/kernel"
)

// joinProbe is the operator that streams a join's probe side past its build side.
type joinProbe struct{ *join }

func (p *joinProbe) NewStep() (Step, error) {
	j := p.join
	s := &probeStep{
		join: j, keys: computers(j.probes, j.env), vals: make([]*vector.Vector, len(j.probes)),
		lanes: make([]lane, j.probeCols+len(j.kept)), out: make([]*vector.Vector, len(j.out)),
		cands: make([]*vector.Vector, j.probeCols+len(j.buildType)),
	}
	if !j.loop && j.rows.n > 0 {
		s.prober = j.keys.prober(j.table)
	}
	if j.residual != nil {
		var err error
		if s.residual, err = j.env.newFilter(j.residual); err != nil {
			return nil, err
		}
	}
	if keepsBuild(j.kind) {
		s.matched = j.matched
	}
	return s, nil
}

// probeStep is one goroutine's probing.
type probeStep struct {
	join     *join
	keys     []computer
	vals     []*vector.Vector
	prober   prober
	residual *eval.Filter
	matched  []uint64 // of build rows, shared: set with atomics

	sel    []int32 // rows of the batch that have a key
	bits   []uint64
	heads  []int32 // by position in sel
	byCode codeHeads
	prow   []int32  // pairs: probe rows
	brow   []int32  // and build rows
	hit    []uint64 // probe rows that had a match
	unsure []uint64 // probe rows whose mark is NULL without a match

	lanes []lane // probe columns, then kept build columns
	mark  lane
	null  []vector.Vector
	cands []*vector.Vector // all columns of both sides, those that matter
	out   []*vector.Vector
	rest  []int32
	cand  vector.Batch
	batch vector.Batch
}

func (*probeStep) Flush(context.Context, Emit) error { return nil }
func (*probeStep) Close() error                      { return nil }

func (s *probeStep) Push(ctx context.Context, b *vector.Batch, emit Emit) error {
	j := s.join
	if j.loop {
		return s.general(ctx, b, emit)
	}
	if j.rows.n == 0 {
		return s.finish(b, emit, nil)
	}
	if err := evalAll(s.keys, b, s.vals); err != nil {
		return err
	}
	sel, _ := j.keyed(s.vals, b, &s.sel, &s.bits)
	n := b.Len
	if sel != nil {
		n = len(sel)
	}
	if cap(s.heads) < n || s.heads == nil {
		s.heads, s.prow, s.brow = make([]int32, max(n, 1)), make([]int32, max(n, 1)), make([]int32, max(n, 1))
	}
	heads := s.heads[:n]
	s.byCode.find(s.prober, s.vals, sel, n, heads)

	if j.residual != nil || j.nullAware {
		return s.candidates(ctx, b, emit, sel, heads)
	}
	// Without a residual every row of a chain is a match.
	prow, brow, k := s.prow[:n], s.brow[:n], 0
	if sel == nil {
		for i, h := range heads {
			prow[k], brow[k] = int32(i), h
			k += int(^uint32(h) >> 31)
		}
	} else {
		for i, h := range heads {
			prow[k], brow[k] = sel[i], h
			k += int(^uint32(h) >> 31)
		}
	}
	prow, brow = prow[:k], brow[:k]
	if s.matched != nil {
		s.markBuild(brow)
	}
	switch j.kind {
	case physical.BuildSemi, physical.BuildAnti:
		return nil
	case physical.Semi:
		return s.emitProbe(b, prow, emit)
	}
	if pairs(j.kind) {
		if j.table.next != nil {
			for _, h := range brow {
				if j.table.next[h] >= 0 {
					return s.candidates(ctx, b, emit, sel, heads)
				}
			}
		}
		// At most one match per probe row: its columns stay where they are.
		if err := s.emitUnique(b, prow, brow, emit); err != nil {
			return err
		}
		if !keepsProbe(j.kind) {
			return nil
		}
	}
	s.begin(b)
	for _, r := range prow {
		setBit(s.hit, int(r))
	}
	return s.finish(b, emit, s.hit)
}

// codeHeads finds the chains of a single dictionary-coded key once per element of the dictionary.
type codeHeads struct {
	id    uint64
	heads []int32
}

func (c *codeHeads) find(p prober, keys []*vector.Vector, sel []int32, n int, heads []int32) {
	if len(keys) != 1 || keys[0].Form != vector.Dict || keys[0].Dict.Len > 2*n+16 && c.id != keys[0].DictID || keys[0].Valid != nil {
		p.find(keys, sel, n, heads)
		return
	}
	v := keys[0]
	if c.id != v.DictID {
		if cap(c.heads) < v.Dict.Len {
			c.heads = make([]int32, v.Dict.Len)
		}
		c.heads = c.heads[:v.Dict.Len]
		p.find([]*vector.Vector{v.Dict}, nil, v.Dict.Len, c.heads)
		c.id = v.DictID
	}
	switch v.CodeWidth() {
	case 1:
		byCode(heads, c.heads, v.Codes8(), sel)
	case 2:
		byCode(heads, c.heads, v.Codes16(), sel)
	default:
		byCode(heads, c.heads, v.Codes32(), sel)
	}
}

func byCode[C uint8 | uint16 | uint32](dst, heads []int32, codes []C, sel []int32) {
	if sel == nil {
		for i := range dst {
			dst[i] = heads[codes[i]]
		}
		return
	}
	for i := range dst {
		dst[i] = heads[codes[sel[i]]]
	}
}

// markBuild marks all build rows of the chains.
func (s *probeStep) markBuild(heads []int32) {
	next := s.join.table.next
	for _, h := range heads {
		for {
			w, bit := &s.matched[h>>6], uint64(1)<<(uint(h)&63)
			if atomic.LoadUint64(w)&bit != 0 {
				break // and so are those after it
			}
			atomic.OrUint64(w, bit)
			if next == nil || next[h] < 0 {
				break
			}
			h = next[h]
		}
	}
}

// emitProbe gives the rows of b.
func (s *probeStep) emitProbe(b *vector.Batch, rows []int32, emit Emit) error {
	if len(rows) == 0 {
		return nil
	}
	j := s.join
	for i, c := range j.out {
		s.out[i] = b.Cols[c.at]
	}
	s.batch = vector.Batch{Cols: s.out, Len: b.Len, Sel: rows}
	return emit(&s.batch)
}

// emitUnique gives the pairs of probe rows prow, each of which occurs once, and build rows.
func (s *probeStep) emitUnique(b *vector.Batch, prow, brow []int32, emit Emit) error {
	j := s.join
	if len(prow) == 0 {
		return nil
	}
	for i, c := range j.out {
		if c.from == fromProbe {
			s.out[i] = b.Cols[c.at]
			continue
		}
		s.out[i] = j.rows.cols[c.at].gather(&s.lanes[j.probeCols+c.at], brow, prow, b.Len, false)
	}
	s.batch = vector.Batch{Cols: s.out, Len: b.Len, Sel: prow}
	return emit(&s.batch)
}

// begin clears what is kept per probe row of b.
func (s *probeStep) begin(b *vector.Batch) {
	w := vector.Words(b.Len)
	if cap(s.hit) < w {
		s.hit, s.unsure = make([]uint64, w), make([]uint64, w)
	}
	s.hit, s.unsure = s.hit[:w], s.unsure[:w]
	clear(s.hit)
	clear(s.unsure)
}

// candidates pairs every probe row of sel with its chain, checks the residual, and gives what the kind asks for.
func (s *probeStep) candidates(ctx context.Context, b *vector.Batch, emit Emit, sel, heads []int32) error {
	j := s.join
	s.begin(b)
	p := pairing{step: s, b: b, emit: emit, ctx: ctx, rows: j.env.BatchRows}
	next := j.table.next
	for i, h := range heads {
		r := int32(i)
		if sel != nil {
			r = sel[i]
		}
		for h >= 0 {
			if err := p.add(r, h); err != nil {
				return err
			}
			if next == nil {
				break
			}
			h = next[h]
		}
	}
	if err := p.flush(); err != nil {
		return err
	}
	if j.nullAware && (j.kind == physical.Anti || j.kind == physical.Mark) {
		if err := s.nullRules(&p); err != nil {
			return err
		}
	}
	return s.finish(b, emit, s.hit)
}

// nullRules finds the probe rows for which IN is NULL rather than false: those that have no match, where they or a build row are
// NULL and nothing but that keeps them from one.
func (s *probeStep) nullRules(p *pairing) error {
	j, b, v := s.join, p.b, s.vals[0]
	p.into = s.unsure
	n := b.Rows()
	for i := range n {
		r := int32(i)
		if b.Sel != nil {
			r = b.Sel[i]
		}
		if bitAt(s.hit, int(r)) {
			continue
		}
		null := v.IsNull(int(r))
		switch {
		case j.residual == nil:
			if null && (j.rows.n > 0 || j.hasNull) || j.hasNull {
				setBit(s.unsure, int(r))
			}
		case null:
			for k := range j.rows.n {
				if err := p.add(r, int32(k)); err != nil {
					return err
				}
			}
		default:
			for _, k := range j.nulls {
				if err := p.add(r, k); err != nil {
					return err
				}
			}
		}
	}
	err := p.flush()
	p.into = nil
	return err
}

// general pairs every probe row with every build row.
func (s *probeStep) general(ctx context.Context, b *vector.Batch, emit Emit) error {
	j := s.join
	s.begin(b)
	if cap(s.prow) == 0 {
		s.prow, s.brow = make([]int32, j.env.BatchRows), make([]int32, j.env.BatchRows)
	}
	p := pairing{step: s, b: b, emit: emit, ctx: ctx, rows: j.env.BatchRows}
	n := b.Rows()
	for i := range n {
		r := int32(i)
		if b.Sel != nil {
			r = b.Sel[i]
		}
		for k := range j.rows.n {
			if err := p.add(r, int32(k)); err != nil {
				return err
			}
			if !pairs(j.kind) && j.residual == nil {
				break // one is enough
			}
		}
	}
	if err := p.flush(); err != nil {
		return err
	}
	return s.finish(b, emit, s.hit)
}

// A pairing collects pairs of rows and looks at them by the batch.
type pairing struct {
	step *probeStep
	b    *vector.Batch
	emit Emit
	ctx  context.Context
	rows int
	n    int
	into []uint64 // where a pair that passes is marked, instead of given; nil: as the join's kind says
}

func (p *pairing) add(probe, build int32) error {
	s := p.step
	if p.n == 0 {
		s.prow, s.brow = s.prow[:cap(s.prow)], s.brow[:cap(s.brow)]
	}
	s.prow[p.n], s.brow[p.n] = probe, build
	if p.n++; p.n < min(p.rows, len(s.prow)) {
		return nil
	}
	return p.flush()
}

func (p *pairing) flush() error {
	s, j, n := p.step, p.step.join, p.n
	p.n = 0
	if n == 0 {
		return nil
	}
	if p.ctx.Err() != nil {
		return context.Cause(p.ctx)
	}
	prow, brow := s.prow[:n], s.brow[:n]
	give := pairs(j.kind) && p.into == nil
	s.cand = vector.Batch{Cols: s.cands, Len: n}
	if j.residual != nil {
		for _, c := range j.resProbe {
			s.cands[c] = s.lanes[c].take(p.b.Cols[c], prow)
		}
		for _, c := range j.resCols {
			k := j.slotOf[c]
			s.cands[j.probeCols+c] = j.rows.cols[k].gather(&s.lanes[j.probeCols+k], brow, nil, n, false)
		}
		if err := s.residual.Apply(&s.cand); err != nil {
			return err
		}
	}
	into := s.hit
	if p.into != nil {
		into = p.into
	}
	pass := s.cand.Rows()
	for i := range pass {
		k := i
		if s.cand.Sel != nil {
			k = int(s.cand.Sel[i])
		}
		setBit(into, int(prow[k]))
		if s.matched != nil {
			atomic.OrUint64(&s.matched[brow[k]>>6], 1<<(uint(brow[k])&63))
		}
	}
	if !give || pass == 0 {
		return nil
	}
	done := map[int]bool{}
	if j.residual != nil {
		for _, c := range j.resProbe {
			done[c] = true
		}
		for _, c := range j.resCols {
			done[j.probeCols+c] = true
		}
	}
	for i, c := range j.out {
		at := c.at
		if c.from == fromBuild {
			at = j.probeCols + j.kept[c.at]
		}
		if !done[at] {
			done[at] = true
			if c.from == fromBuild {
				s.cands[at] = j.rows.cols[c.at].gather(&s.lanes[j.probeCols+c.at], brow, nil, n, false)
			} else {
				s.cands[at] = s.lanes[at].take(p.b.Cols[at], prow)
			}
		}
		s.out[i] = s.cands[at]
	}
	s.batch = vector.Batch{Cols: s.out, Len: n, Sel: s.cand.Sel}
	return p.emit(&s.batch)
}

// finish gives what the kind says of the rows of b, of which those of hit have had a match (nil: none has).
func (s *probeStep) finish(b *vector.Batch, emit Emit, hit []uint64) error {
	j := s.join
	switch j.kind {
	case physical.Semi, physical.Anti, physical.ProbeOuter, physical.FullOuter:
	case physical.Mark:
		return s.emitMark(b, emit, hit)
	default:
		return nil
	}
	if hit == nil {
		if j.kind == physical.Semi {
			return nil
		}
		// An empty build side leaves no doubt about NULL – unless all its rows were NULL and are not kept.
		if j.kind == physical.Anti && j.nullAware && j.hasNull {
			return nil
		}
		return s.emitAlone(b, b.Sel, emit)
	}
	n := b.Rows()
	if cap(s.rest) < n {
		s.rest = make([]int32, n)
	}
	rest, k := s.rest[:n], 0
	want := j.kind == physical.Semi
	for i := range n {
		r := int32(i)
		if b.Sel != nil {
			r = b.Sel[i]
		}
		if bitAt(hit, int(r)) == want && !(j.nullAware && bitAt(s.unsure, int(r))) {
			rest[k] = r
			k++
		}
	}
	if k == 0 {
		return nil
	}
	return s.emitAlone(b, rest[:k], emit)
}

// emitAlone gives probe rows with NULL for the build side's columns.
func (s *probeStep) emitAlone(b *vector.Batch, sel []int32, emit Emit) error {
	j := s.join
	if s.null == nil {
		s.null = make([]vector.Vector, len(j.out))
	}
	for i, c := range j.out {
		if c.from == fromProbe {
			s.out[i] = b.Cols[c.at]
			continue
		}
		vector.SetNull(&s.null[i], c.typ, b.Len)
		s.out[i] = &s.null[i]
	}
	s.batch = vector.Batch{Cols: s.out, Len: b.Len, Sel: sel}
	return emit(&s.batch)
}

// emitMark gives every probe row, and whether it had a match.
func (s *probeStep) emitMark(b *vector.Batch, emit Emit, hit []uint64) error {
	j, n := s.join, b.Len
	bits := room[uint64](&s.mark, max(1, vector.Words(n)))
	clear(bits)
	copy(bits, hit)
	var valid []uint64
	switch {
	case hit == nil && j.nullAware && j.hasNull:
		valid = s.mark.roomValid(n)
	case hit != nil && j.nullAware && kernel.Any(s.unsure):
		valid = s.mark.roomValid(n)
		kernel.Not(valid, s.unsure, n)
		kernel.Or(valid, valid, hit)
	}
	mark := s.mark.flat(sqltype.Of(sqltype.Bool), vector.PhysBool, n, valid)
	for i, c := range j.out {
		if c.from == fromMark {
			s.out[i] = mark
		} else {
			s.out[i] = b.Cols[c.at]
		}
	}
	s.batch = vector.Batch{Cols: s.out, Len: n, Sel: b.Sel}
	return emit(&s.batch)
}
