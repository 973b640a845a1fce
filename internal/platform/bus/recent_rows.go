package bus

import (
	"sync"

	"renga.dev/renga/internal/platform/wire"
)

// What is kept of one partition at most. A relay that lags by more reads
// the table.
const (
	recentMaxRows  = relayRows
	recentMaxBytes = 2 << 20
)

// recentRows are the outbox rows that this process has just committed, so that relays need not read them back. The
// table stays the truth. It is for SQLite, where rows are committed in the order of their ids and without a gap: when
// an id is missing, because somebody else inserted it or there was no room, the relays read the table.
type recentRows struct {
	mu    sync.Mutex
	last  int64 // id of the newest row; 0: none was given yet
	parts [wire.Partitions]recentPartition
}

// recentPartition is the recent rows of a partition.
type recentPartition struct {
	reader   uint64 // the relay that reads them; others get nothing
	complete bool   // no row since that relay attached is missing
	ids      []int64
	msgs     []Message
	size     int
}

// append adds committed rows, in the order of their ids. It is called in the order of commits.
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

// invalidate makes every relay read the table.
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

// add keeps a row, if none before it is missing.
func (p *recentPartition) add(id int64, m Message) {
	if !p.complete {
		return
	}
	p.ids, p.msgs, p.size = append(p.ids, id), append(p.msgs, m), p.size+len(m.Body)
	if len(p.ids) > recentMaxRows || p.size > recentMaxBytes {
		*p = recentPartition{reader: p.reader}
	}
}

// attach keeps what is committed to a partition from now on. A relay attaches before it reads the table, so nothing
// falls between the two. An earlier relay gets nothing any more.
func (h *recentRows) attach(part int) (watch uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := &h.parts[part]
	*p = recentPartition{reader: p.reader + 1, complete: true}
	return p.reader
}

// detach drops the rows of a relay that has ended.
func (h *recentRows) detach(part int, watch uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if p := &h.parts[part]; p.reader == watch {
		*p = recentPartition{reader: watch}
	}
}

// read gives the rows of a partition after an id and drops them. It is not ok when some are missing.
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
