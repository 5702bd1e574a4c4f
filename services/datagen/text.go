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

// A choice is a weighted list to draw from: an entry is in it weight times.
type choice[T any] []*T

func newChoice[T any](list []weighted, from func(text string) T) choice[T] {
	var c choice[T]
	for _, w := range list {
		entry := from(w.text)
		for range w.weight {
			c = append(c, &entry)
		}
	}
	return c
}

// pick draws one of n places and returns the state after.
func pick(state uint64, n int) (uint64, uint64) {
	state = step(state)
	return state, share(state, uint64(n))
}

// A word has what follows it, a space at least.
type word struct {
	text [maxWord]byte
	size int
}

func newWords(list []weighted, after string) choice[word] {
	return newChoice(list, func(text string) (w word) {
		w.size = copy(w.text[:], text+after)
		return w
	})
}

// A phrase is a list of words, each to be drawn.
type phrase []choice[word]

func newPhrases(list []weighted, words map[rune]choice[word]) choice[phrase] {
	return newChoice(list, func(form string) (p phrase) {
		for _, letter := range form {
			p = append(p, words[letter])
		}
		return p
	})
}

var (
	adverb      = newWords(adverbs, " ")
	preposition = newWords(prepositions, " the ")
	terminator  = newWords(terminators, " ")

	nounPhrase = newPhrases(nounPhrases, map[rune]choice[word]{
		'N': newWords(nouns, " "), 'J': newWords(adjectives, " "), 'C': newWords(adjectives, ", "), 'D': adverb,
	})
	verbPhrase = newPhrases(verbPhrases, map[rune]choice[word]{
		'V': newWords(verbs, " "), 'X': newWords(auxiliaries, " "), 'D': adverb,
	})
	sentenceForm = newChoice(sentences, func(form string) string { return form })
)

// sentence writes one sentence and the space after it into buf at at. It returns the state after and the end.
func sentence(state uint64, buf []byte, at int) (uint64, int) {
	state, i := pick(state, len(sentenceForm))
	for _, part := range []byte(*sentenceForm[i]) {
		switch part {
		case 'N':
			state, at = writePhrase(nounPhrase, state, buf, at)
		case 'V':
			state, at = writePhrase(verbPhrase, state, buf, at)
		case 'P':
			state, at = writeWord(preposition, state, buf, at)
			state, at = writePhrase(nounPhrase, state, buf, at)
		case 'T':
			state, at = writeWord(terminator, state, buf, at-1) // in place of the space
		}
	}
	return state, at
}

func writePhrase(phrases choice[phrase], state uint64, buf []byte, at int) (uint64, int) {
	state, i := pick(state, len(phrases))
	for _, words := range *phrases[i] {
		state, at = writeWord(words, state, buf, at)
	}
	return state, at
}

func writeWord(words choice[word], state uint64, buf []byte, at int) (uint64, int) {
	state, i := pick(state, len(words))
	w := words[i]
	*(*[maxWord]byte)(buf[at:]) = w.text
	return state, at + w.size
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
