package bus

import (
	"cmp"
	"context"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
)

// keyVersion orders the events of a key: by record version, then by index within the change.
type keyVersion struct {
	version canonical.Stamp
	index   int
	eventID string // that has it
}

func versionOf(e *events.Event) keyVersion { return keyVersion{e.Version, e.Index, e.ID} }

func (p keyVersion) compare(q keyVersion) int {
	return cmp.Or(cmp.Compare(p.version, q.version), cmp.Compare(p.index, q.index))
}

type verdict uint8

const (
	apply     verdict = iota
	duplicate         // applied before
	stale             // a newer event of its key was applied
	conflict          // another event has its version
)

// admit is the version guard: what to do with an event, given the newest applied version of its key. No event has the
// zero version.
func admit(last, got keyVersion) verdict {
	switch c := got.compare(last); {
	case c > 0:
		return apply
	case c < 0:
		return stale
	case got.eventID == last.eventID:
		return duplicate
	}
	return conflict
}

// judge asks the version guard, counts, and remembers the version of an event to apply.
func (t *changes) judge(e *events.Event) verdict {
	v := admit(t.versions[e.Key], versionOf(e))
	switch v {
	case apply:
		t.versions[e.Key] = versionOf(e)
	case duplicate:
		t.counts.duplicate++
	case stale:
		t.counts.stale++
	}
	return v
}

// versionStore is the newest applied version of each key.
type versionStore struct {
	partition
	parked *parkedEvents
	newest map[string]keyVersion // a cache
}

// A statement has each key once.
var insertVersions = sqldb.NewInsert("bus_applied (consumer, partition_key, version, idx, event_id)",
	`ON CONFLICT (consumer, partition_key)
		DO UPDATE SET version = excluded.version, idx = excluded.idx, event_id = excluded.event_id`,
	"text", "text", "bigint", "bigint", "text")

// load loads the versions of a batch's keys.
func (vs *versionStore) load(ctx context.Context, t *changes, items []item) error {
	var missing []string
	for i := range items {
		key := items[i].event.Key
		if _, ok := t.versions[key]; ok || vs.parked.keys[key] != nil {
			continue
		}
		p, ok := vs.newest[key]
		t.versions[key] = p
		if !ok {
			missing = append(missing, key)
		}
	}
	return vs.read(ctx, t, missing)
}

func (vs *versionStore) read(ctx context.Context, t *changes, keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	var b sqldb.Binds
	query := "SELECT partition_key, version, idx, event_id FROM bus_applied WHERE consumer = " +
		b.Add(vs.consumer.Name) +
		" AND " + b.OneOf(t.Tx, "partition_key", keys)
	for row, err := range t.Query(ctx, query, b.Args()...) {
		var key string
		var p keyVersion
		if err == nil {
			err = row.Scan(&key, &p.version, &p.index, &p.eventID)
		}
		if err != nil {
			return err
		}
		t.versions[key] = p
	}
	return nil
}

func (vs *versionStore) save(ctx context.Context, t *changes, keys []string) error {
	values := make([]any, 0, 5*len(keys))
	for _, key := range keys {
		p := t.versions[key]
		values = append(values, vs.consumer.Name, key, p.version, p.index, p.eventID)
	}
	return t.Batch(ctx, insertVersions.Stmts(t.Tx, values)...)
}

// of is the version of a key as the transaction sees it.
func (vs *versionStore) of(ctx context.Context, t *changes, key string) (keyVersion, error) {
	if p, ok := t.versions[key]; ok {
		return p, nil
	}
	p, ok := vs.newest[key]
	t.versions[key] = p
	if ok {
		return p, nil
	}
	err := vs.read(ctx, t, []string{key})
	return t.versions[key], err
}
