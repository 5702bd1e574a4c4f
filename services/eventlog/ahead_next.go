//go:build nextlog

package eventlog

import "time"

const ahead = 1

// appendRaw keeps an event of a kind and with fields that this release's schema does not have.
func (w *Writer) appendRaw(query, kind, data string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.batch.events = append(w.batch.events, event{kind, query, time.Now(), []byte(data)})
	w.batch.size += len(data) + lineOverhead
	signal(w.some)
}
