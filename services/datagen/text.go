package datagen

import "context"

// dbgen cuts its comments out of one text of 300 MiB, sentences of the grammar drawn from one stream. That text is never
// held here: an index has the stream's state at a sentence in every block of blockSize bytes, and a comment is written anew
// from there. It costs about as much as a read at random in 300 MiB does, and takes 6 MB.
const (
	poolSize  = 300 << 20
	poolSeed  = 933588178
	blockSize = 256

	maxSentence = 148 // of all in the pool, by the test that walks it; less than a block, so every block has a start
	maxWord     = 24  // room that a word is copied with
	maxComment  = 198
	scratchSize = blockSize + maxComment + 2*maxSentence + maxWord
)

// A text is the index of the pool.
type text struct {
	seeds  []uint32 // state before the first sentence that starts in the block
	starts []uint8  // where in the block it starts
}

// newText walks the whole pool once, in some tenths of a second. Its error is the context's.
func newText(ctx context.Context) (*text, error) {
	t := &text{seeds: make([]uint32, 0, poolSize/blockSize), starts: make([]uint8, 0, poolSize/blockSize)}
	var buf [2 * maxSentence]byte
	state := uint64(poolSeed)
	for at := 0; at < poolSize; {
		if at >= len(t.seeds)*blockSize {
			t.starts = append(t.starts, uint8(at-len(t.seeds)*blockSize))
			t.seeds = append(t.seeds, uint32(state))
			if len(t.seeds)%4096 == 0 && ctx.Err() != nil {
				return nil, ctx.Err()
			}
		}
		var n int
		state, n = sentence(state, buf[:], 0)
		at += n
	}
	return t, nil
}

// append adds the n bytes of the pool from offset on; scratch has scratchSize bytes.
func (t *text) append(dst []byte, offset, n int, scratch []byte) []byte {
	block := offset / blockSize
	start := block*blockSize + int(t.starts[block])
	if start > offset {
		block--
		start = block*blockSize + int(t.starts[block])
	}
	state := uint64(t.seeds[block])
	from := offset - start
	for at := 0; at < from+n; {
		// A sentence that ends before the comment is not kept.
		next, end := sentence(state, scratch, at)
		if state = next; end <= from {
			from -= end
			end = 0
		}
		at = end
	}
	return append(dst, scratch[from:from+n]...)
}

// A dist is a weighted list to draw from: index has a word's place weight times.
type dist struct {
	total uint64
	index []uint8
	words []word
}

type word struct {
	text [maxWord]byte
	size int
}

// newDist makes a list of words; each is followed by after.
func newDist(list []weighted, after string) *dist {
	d := &dist{}
	for i, w := range list {
		var made word
		made.size = copy(made.text[:], w.text+after)
		d.words = append(d.words, made)
		for range w.weight {
			d.index = append(d.index, uint8(i))
		}
	}
	d.total = uint64(len(d.index))
	return d
}

var (
	sentenceDist    = newDist(sentences, "")
	nounPhraseDist  = newDist(nounPhrases, "")
	verbPhraseDist  = newDist(verbPhrases, "")
	nounDist        = newDist(nouns, " ")
	verbDist        = newDist(verbs, " ")
	adverbDist      = newDist(adverbs, " ")
	adjectiveDist   = newDist(adjectives, " ")
	commaDist       = newDist(adjectives, ", ")
	prepositionDist = newDist(prepositions, " the ")
	auxiliaryDist   = newDist(auxiliaries, " ")
	terminatorDist  = newDist(terminators, " ")
)

// draw picks a word and returns the state after.
func (d *dist) draw(state uint64) (uint64, *word) {
	state = step(state)
	return state, &d.words[d.index[share(state, d.total)]]
}

// write draws a word into buf at at.
func (d *dist) write(state uint64, buf []byte, at int) (uint64, int) {
	state, w := d.draw(state)
	*(*[maxWord]byte)(buf[at:]) = w.text
	return state, at + w.size
}

// sentence writes one sentence and the space after it into buf at at. It returns the state after and the end.
func sentence(state uint64, buf []byte, at int) (uint64, int) {
	state, form := sentenceDist.draw(state)
	for _, part := range form.text[:form.size] {
		switch part {
		case 'N':
			state, at = nounPhrase(state, buf, at)
		case 'V':
			state, at = verbPhrase(state, buf, at)
		case 'P':
			state, at = prepositionDist.write(state, buf, at)
			state, at = nounPhrase(state, buf, at)
		case 'T':
			state, at = terminatorDist.write(state, buf, at-1) // in place of the space
		}
	}
	return state, at
}

func nounPhrase(state uint64, buf []byte, at int) (uint64, int) {
	state, form := nounPhraseDist.draw(state)
	for _, part := range form.text[:form.size] {
		switch part {
		case 'N':
			state, at = nounDist.write(state, buf, at)
		case 'J':
			state, at = adjectiveDist.write(state, buf, at)
		case 'C':
			state, at = commaDist.write(state, buf, at)
		case 'D':
			state, at = adverbDist.write(state, buf, at)
		}
	}
	return state, at
}

func verbPhrase(state uint64, buf []byte, at int) (uint64, int) {
	state, form := verbPhraseDist.draw(state)
	for _, part := range form.text[:form.size] {
		switch part {
		case 'V':
			state, at = verbDist.write(state, buf, at)
		case 'X':
			state, at = auxiliaryDist.write(state, buf, at)
		case 'D':
			state, at = adverbDist.write(state, buf, at)
		}
	}
	return state, at
}

// A commenter draws comments of a column.
type commenter struct {
	stream
	text      *text
	low, high int64
	scratch   []byte
}

// newCommenter draws texts of average bytes, from four tenths to sixteen tenths of that, perRow of them in a row.
func newCommenter(t *text, seed uint64, average float64, perRow int64) commenter {
	return commenter{
		stream: newStream(seed, 2*perRow), text: t,
		low: int64(average * 0.4), high: int64(average * 1.6), scratch: make([]byte, scratchSize),
	}
}

// add draws a comment as the next value of to.
func (c *commenter) add(to *texts) {
	offset := c.between(0, poolSize-c.high)
	to.data = c.text.append(to.data, int(offset), int(c.between(c.low, c.high)), c.scratch)
	to.end()
}
