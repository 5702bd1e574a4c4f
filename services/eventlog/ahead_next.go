//go:build nextlog

package eventlog

const ahead = 1

// appendRaw keeps an event of a kind and with fields that this release's schema does not have.
func (w *Writer) appendRaw(query, kind, data string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.batch.add(kind, query, []byte(data))
	signal(w.some)
}
