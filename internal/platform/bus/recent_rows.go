package bus

import (
	"sync"

	"renga.dev/renga/internal/platform/events"
)

// Recent rows per partition. A relay that lags by more reads the table.
const (
	recentMaxRows  = relayRows
	recentMaxBytes = 2 << 20
)

// recentRows are the outbox rows that this process just committed, so that its relays need not read them back. It is
// for SQLite, where rows are committed in the order of ids without gaps: when an id is missing, because of another
// writer or lack of room, relays read the table.
type recentRows struct {
	mu    sync.Mutex
	last  int64 // newest id; 0: none
	parts [events.Partitions]recentPartition
}

type recentPartition struct {
	reader   uint64 // relay that may read
	complete bool   // since that relay attached
	ids      []int64
	msgs     []Message
	size     int
}

// append adds rows in the order of commits and ids.
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

func (h *recentRows) drop() {
	for i := range h.parts {
		h.parts[i] = recentPartition{reader: h.parts[i].reader}
	}
}

func (p *recentPartition) add(id int64, m Message) {
	if !p.complete {
		return
	}
	p.ids, p.msgs, p.size = append(p.ids, id), append(p.msgs, m), p.size+len(m.Body)
	if len(p.ids) > recentMaxRows || p.size > recentMaxBytes {
		*p = recentPartition{reader: p.reader}
	}
}

// attach collects a partition's rows from now on, for the newest relay only. A relay attaches before it reads the
// table, so it misses nothing.
func (h *recentRows) attach(part int) (watch uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := &h.parts[part]
	*p = recentPartition{reader: p.reader + 1, complete: true}
	return p.reader
}

func (h *recentRows) detach(part int, watch uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if p := &h.parts[part]; p.reader == watch {
		*p = recentPartition{reader: watch}
	}
}

// read returns and drops the rows after an id; not ok: some are missing.
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
