package exec

// A loserTree finds the least of k inputs again and again: an input that moves on is compared along one path only. less
// compares the heads of two inputs that have one.
type loserTree struct {
	less  func(a, b int) bool
	nodes []int // nodes[0] the winner, then the losers of the matches
	ended []bool
	left  int // inputs that have a head
}

// newLoserTree makes the tree of k inputs, all of which have a head.
func newLoserTree(k int, less func(a, b int) bool) *loserTree {
	t := &loserTree{less: less, nodes: make([]int, max(k, 1)), ended: make([]bool, k), left: k}
	for i := range t.nodes {
		t.nodes[i] = -1
	}
	for i := k - 1; i >= 0; i-- {
		t.play(i)
	}
	return t
}

// play lets input i go up its path: the loser of each match stays, the winner goes on. While the tree is built, the first to
// reach a match waits there.
func (t *loserTree) play(i int) {
	for at := (i + len(t.nodes)) / 2; at > 0; at /= 2 {
		o := t.nodes[at]
		if o < 0 {
			t.nodes[at] = i
			return
		}
		if t.beats(o, i) {
			t.nodes[at], i = i, o
		}
	}
	t.nodes[0] = i
}

func (t *loserTree) beats(a, b int) bool {
	switch {
	case t.ended[a]:
		return false
	case t.ended[b]:
		return true
	}
	return t.less(a, b)
}

// winner is the input with the least head; there must be one left.
func (t *loserTree) winner() int { return t.nodes[0] }

// advance is called when the winner's head has been taken: more tells whether it has another.
func (t *loserTree) advance(more bool) {
	i := t.nodes[0]
	if !more {
		t.ended[i] = true
		t.left--
	}
	t.play(i)
}
