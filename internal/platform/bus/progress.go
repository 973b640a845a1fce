package bus

import (
	"context"
	"maps"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/sqldb"
)

const maxVersions = 50_000 // versions that a reader caches

// position is a reader's position in its stream.
type position struct {
	streamAt int64 // creation of the stream in nanoseconds; 0: none seen
	seq      uint64
	relayed  canonical.Stamp // publication of the message at seq
	source   int64           // number of that in the source
	minRelay int64           // earlier relay epochs are ignored
	last     uint64          // sequence of the last message delivered; seq may be later
	lastID   string          // its id, which verifies the position
}

func (p position) after(items []item) position {
	last := items[len(items)-1]
	p.seq, p.last, p.lastID = last.Seq, last.Seq, last.ID
	if last.Relay.Epoch >= p.minRelay {
		p.relayed, p.source = last.Relay.At, last.Relay.Source
	}
	return p
}

type counts struct{ applied, duplicate, stale, failed int }

// changes is a transaction and what it changes in memory after its commit.
type changes struct {
	*sqldb.Tx
	now      canonical.Stamp
	versions map[string]keyVersion  // newest version of each key read
	keys     map[string]*blockedKey // nil: unblocked
	deadKeys []string               // of new dead letters
	counts   counts
}

// progress commits effects, position, blocked keys and counters in one transaction.
type progress struct {
	*parts
	pos     position
	pending uint64 // messages that follow
	waited  bool   // the committed row has pending ones
}

// commit runs fn in a transaction under the lease, with the position to unless it is nil, and applies its changes to
// memory.
func (pr *progress) commit(
	ctx context.Context, to *position, fn func(context.Context, *changes) error,
) error {
	var t *changes
	err := pr.bus.write(ctx, "bus.take", func(ctx context.Context, tx *sqldb.Tx) error {
		t = &changes{Tx: tx, versions: map[string]keyVersion{}, keys: map[string]*blockedKey{}}
		pr.handler.poison.begin()
		var err error
		if t.now, err = pr.bus.fence(ctx, tx, pr.lease); err != nil {
			return err
		}
		if err := fn(ctx, t); err != nil {
			return err
		}
		if err := pr.parked.save(ctx, t); err != nil {
			return err
		}
		if err := pr.save(ctx, t, to); err != nil {
			return err
		}
		pr.bus.cfg.Passed("reader.before-commit")
		return nil
	})
	if err != nil {
		return err
	}
	pr.bus.cfg.Passed("reader.committed")
	pr.waited = pr.pending > 0
	pr.remember(t)
	if to != nil {
		pr.pos = *to
	}
	return nil
}

func (pr *progress) remember(t *changes) {
	if len(pr.versions.newest)+len(t.versions) > maxVersions {
		clear(pr.versions.newest)
	}
	maps.Copy(pr.versions.newest, t.versions)
	for key, l := range t.keys {
		if l == nil {
			delete(pr.parked.keys, key)
			continue
		}
		pr.parked.keys[key] = l
		pr.parked.schedule(l)
	}
	for _, key := range t.deadKeys {
		pr.dlq.deadKeys[key] = pr.consumer.Continue
	}
}

func (pr *progress) save(ctx context.Context, t *changes, to *position) error {
	at := pr.pos
	if to != nil {
		at = *to
	}
	_, err := t.Exec(ctx, `UPDATE bus_reader SET stream_at = $3, seq = $4, relayed_at = $5, source_id = $6,
		pending = $7, at = $8, applied = applied + $9, duplicate = duplicate + $10, stale = stale + $11,
		failed = failed + $12, last_seq = $13, last_event = $14 WHERE consumer = $1 AND part = $2`,
		pr.consumer.Name, pr.lease.part, at.streamAt, at.seq, at.relayed, at.source, pr.pending, t.now,
		t.counts.applied, t.counts.duplicate, t.counts.stale, t.counts.failed, at.last, at.lastID)
	return err
}
