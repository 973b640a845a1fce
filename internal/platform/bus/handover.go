package bus

import (
	"sync"

	"renga.dev/renga/internal/platform/wire"
)

// What is handed over of one partition at most. A relay that falls behind by more reads
// the table.
const (
	handoverRows  = relayRows
	handoverBytes = 2 << 20
)

// handover gives relays what this process has just committed to the outbox, so that they
// need not read it. The table stays the truth. It is for SQLite, where rows are committed
// in the order of their ids and an id follows on the one before: whenever one is missing,
// which somebody else inserted, or there was no room, the relays read the table again.
type handover struct {
	mu    sync.Mutex
	last  int64 // id of the newest row; 0: none was given yet
	parts [wire.Partitions]handed
}

// handed is what is there for the relay of a partition.
type handed struct {
	watch uint64 // of the relay that takes it; others get nothing
	whole bool   // all rows since that began to watch are here, or were taken
	ids   []int64
	msgs  []Message
	size  int
}

// give hands over rows that were committed, in the order of their ids. It is called in
// the order of commits.
func (h *handover) give(ids []int64, msgs []Message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, id := range ids {
		if id != h.last+1 {
			h.forget()
		}
		h.last = id
		h.parts[msgs[i].Part].add(id, msgs[i])
	}
}

// lose makes every relay read the table.
func (h *handover) lose() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.forget()
}

func (h *handover) forget() {
	for i := range h.parts {
		h.parts[i] = handed{watch: h.parts[i].watch}
	}
}

// add keeps a row for the relay, if it has all that came before.
func (p *handed) add(id int64, m Message) {
	if !p.whole {
		return
	}
	p.ids, p.msgs, p.size = append(p.ids, id), append(p.msgs, m), p.size+len(m.Body)
	if len(p.ids) > handoverRows || p.size > handoverBytes {
		*p = handed{watch: p.watch}
	}
}

// begin keeps what is committed to a partition from now on. A relay begins before it
// reads the table: what that does not have is handed over. Who began before gets nothing
// any more.
func (h *handover) begin(part int) (watch uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := &h.parts[part]
	*p = handed{watch: p.watch + 1, whole: true}
	return p.watch
}

// end keeps nothing for a relay that has ended.
func (h *handover) end(part int, watch uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if p := &h.parts[part]; p.watch == watch {
		*p = handed{watch: watch}
	}
}

// take gives the rows of a partition behind an id. It is not ok when some are missing.
func (h *handover) take(part int, watch uint64, after int64) (out outboxBatch, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := &h.parts[part]
	if p.watch != watch || !p.whole {
		return out, false
	}
	out.ids, out.msgs = p.ids, p.msgs
	*p = handed{watch: watch, whole: true}
	for len(out.ids) > 0 && out.ids[0] <= after {
		out.ids, out.msgs = out.ids[1:], out.msgs[1:]
	}
	return out, true
}
