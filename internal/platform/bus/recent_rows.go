package bus

import (
	"sync"

	"renga.dev/renga/internal/platform/wire"
)

// What is handed over of one partition at most. A relay that falls behind by more reads
// the table.
const (
	recentMaxRows  = relayRows
	recentMaxBytes = 2 << 20
)

// handover gives relays what this process has just committed to the outbox, so that they
// need not read it. The table stays the truth. It is for SQLite, where rows are committed
// in the order of their ids and an id follows on the one before: whenever one is missing,
// which somebody else inserted, or there was no room, the relays read the table again.
type recentRows struct {
	mu    sync.Mutex
	last  int64 // id of the newest row; 0: none was given yet
	parts [wire.Partitions]recentPartition
}

// handed is what is there for the relay of a partition.
type recentPartition struct {
	reader   uint64 // of the relay that takes it; others get nothing
	complete bool   // all rows since that began to watch are here, or were taken
	ids      []int64
	msgs     []Message
	size     int
}

// give hands over rows that were committed, in the order of their ids. It is called in
// the order of commits.
func (h *recentRows) append(ids []int64, msgs []Message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, id := range ids {
		if id != h.last+1 {
			h.drop()
		}
		h.last = id
		h.parts[msgs[i].Part].add(id, msgs[i])
	}
}

// lose makes every relay read the table.
func (h *recentRows) invalidate() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.drop()
}

func (h *recentRows) drop() {
	for i := range h.parts {
		h.parts[i] = recentPartition{reader: h.parts[i].reader}
	}
}

// add keeps a row for the relay, if it has all that came before.
func (p *recentPartition) add(id int64, m Message) {
	if !p.complete {
		return
	}
	p.ids, p.msgs, p.size = append(p.ids, id), append(p.msgs, m), p.size+len(m.Body)
	if len(p.ids) > recentMaxRows || p.size > recentMaxBytes {
		*p = recentPartition{reader: p.reader}
	}
}

// begin keeps what is committed to a partition from now on. A relay begins before it
// reads the table: what that does not have is handed over. Who began before gets nothing
// any more.
func (h *recentRows) attach(part int) (watch uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := &h.parts[part]
	*p = recentPartition{reader: p.reader + 1, complete: true}
	return p.reader
}

// end keeps nothing for a relay that has ended.
func (h *recentRows) detach(part int, watch uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if p := &h.parts[part]; p.reader == watch {
		*p = recentPartition{reader: watch}
	}
}

// take gives the rows of a partition behind an id. It is not ok when some are missing.
func (h *recentRows) read(part int, watch uint64, after int64) (out outboxBatch, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := &h.parts[part]
	if p.reader != watch || !p.complete {
		return out, false
	}
	out.ids, out.msgs = p.ids, p.msgs
	*p = recentPartition{reader: watch, complete: true}
	for len(out.ids) > 0 && out.ids[0] <= after {
		out.ids, out.msgs = out.ids[1:], out.msgs[1:]
	}
	return out, true
}
