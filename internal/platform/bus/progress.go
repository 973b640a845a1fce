package bus

import (
	"context"
	"maps"

	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
)

const maxVersions = 50_000 // newest versions of keys that a reader keeps in memory

// position is how far a reader is in its stream.
type position struct {
	streamAt int64      // when the stream was created, in nanoseconds; 0: the reader has seen none
	seq      uint64     // of the last message
	relayed  wire.Stamp // when that was published
	source   int64      // its number in the source
	minRelay int64      // messages of earlier relay epochs are ignored
	last     uint64     // sequence of the last message delivered, which seq may be past
	lastID   string     // and its id, by which the position is verified
}

// after is the position after items that came from the stream.
func (p position) after(items []item) position {
	last := items[len(items)-1]
	p.seq, p.last, p.lastID = last.Seq, last.Seq, last.ID
	if last.Relay.Epoch >= p.minRelay {
		p.relayed, p.source = last.Relay.At, last.Relay.Source
	}
	return p
}

// counts is what was done with events.
type counts struct{ applied, duplicate, stale, failed int }

// changes are what one transaction changes of what is in memory. They take effect there after the commit.
type changes struct {
	now      wire.Stamp
	versions map[string]keyVersion  // newest version of each key that was looked up
	keys     map[string]*blockedKey // those that changed; nil: no longer blocked
	deadKeys []string               // keys of new dead letters
	counts   counts
}

// progress commits: effects, position, blocked keys and counters in one transaction.
type progress struct {
	partition
	versions *versionStore
	parked   *parkedEvents
	dlq      *deadLetterQueue
	handler  *invoker

	pos     position
	pending uint64 // messages after those that were read
	waited  bool   // the committed row says that there are some
}

// commit runs fn in a transaction under the lease and takes its changes into memory after the commit. to is the
// position to commit; nil: it stays.
func (pr *progress) commit(
	ctx context.Context, to *position, fn func(context.Context, *sqldb.Tx, *changes) error,
) error {
	var t *changes
	err := pr.bus.write(ctx, "bus.take", func(ctx context.Context, tx *sqldb.Tx) error {
		t = &changes{versions: map[string]keyVersion{}, keys: map[string]*blockedKey{}}
		pr.handler.poison.begin()
		var err error
		if t.now, err = pr.bus.fence(ctx, tx, pr.lease); err != nil {
			return err
		}
		if err := fn(ctx, tx, t); err != nil {
			return err
		}
		if err := pr.parked.save(ctx, tx, t); err != nil {
			return err
		}
		if err := pr.save(ctx, tx, t, to); err != nil {
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

// remember takes committed changes into memory.
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

// save commits the position and adds to the counters.
func (pr *progress) save(ctx context.Context, tx *sqldb.Tx, t *changes, to *position) error {
	at := pr.pos
	if to != nil {
		at = *to
	}
	_, err := tx.Exec(ctx, `UPDATE bus_reader SET stream_at = $3, seq = $4, relayed_at = $5, source_id = $6,
		pending = $7, at = $8, applied = applied + $9, duplicate = duplicate + $10, stale = stale + $11,
		failed = failed + $12, last_seq = $13, last_event = $14 WHERE consumer = $1 AND part = $2`,
		pr.consumer.Name, pr.lease.part, at.streamAt, at.seq, at.relayed, at.source, pr.pending, t.now,
		t.counts.applied, t.counts.duplicate, t.counts.stale, t.counts.failed, at.last, at.lastID)
	return err
}
