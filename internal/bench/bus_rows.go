package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
)

// barePerCommit is how many events' rows one bare commit writes.
const barePerCommit = 300

const (
	bareOutbox = `INSERT INTO outbox_events (published_at, created_at, occurred_at, part, event_id, tenant_id,
		event_type, partition_key, service, body)
		VALUES ($1, $2, $2, $3, $4, $5, 'RecordUpdated', $6, 'records', $7)`
	bareProcessed = `INSERT INTO processed_events (day, consumer, tenant_id, event_id) VALUES ($1, 'bare', $2, $3)`
)

// bareEvent is what the rows of one event need.
type bareEvent struct {
	id, key string
	part    int
	version canonical.Stamp
	body    []byte
}

// bareEvents makes events before their time is taken.
func bareEvents(n int) (all []bareEvent, err error) {
	for i := range n {
		record := recordOf(i)
		e := bareEvent{
			id: uuid.Must(uuid.NewV7()).String(), key: events.RecordKey("Account", busTenantID, record),
			version: canonical.Stamp(time.Now().UnixMilli()),
		}
		e.part = events.Partition(e.key)
		full, err := eventOf(e.id, e.key, record, e.version)
		if err != nil {
			return nil, err
		}
		e.body = full.AppendJSON(nil)
		all = append(all, e)
	}
	return all, nil
}

// bare writes the rows of events, in batches and with nothing around them, and gives the
// events a second.
func (b *busBench) bare(ctx context.Context, n int) (float64, error) {
	all, err := bareEvents(n)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	for rest := all; len(rest) > 0; rest = rest[min(len(rest), barePerCommit):] {
		batch := rest[:min(len(rest), barePerCommit)]
		err := b.db.Write(ctx, sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
			for i := range batch {
				e := &batch[i]
				day := int64(e.version) / (24 * time.Hour).Milliseconds()
				if _, err := tx.Exec(ctx, bareOutbox, e.version, e.version, e.part, e.id, busTenantID, e.key,
					e.body); err != nil {
					return err
				}
				if _, err := tx.Exec(ctx, bareProcessed, day, busTenantID, e.id); err != nil {
					return err
				}
				if _, err := tx.Exec(ctx, effectSQL, e.key, e.version); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
	}
	return float64(n) / time.Since(began).Seconds(), nil
}

// fill puts published events into the outbox, of the last days and none of the keys that
// are measured.
func (b *busBench) fill(ctx context.Context, n int) error {
	const perCommit = 5000
	one, err := bareEvents(1)
	if err != nil {
		return err
	}
	began, now := time.Now(), time.Now().UnixMilli()
	for done := 0; done < n; done += perCommit {
		err := b.db.Write(ctx, sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
			_, err := tx.Exec(ctx, `WITH RECURSIVE n (i) AS (SELECT $1 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < $2)
				INSERT INTO outbox_events (published_at, created_at, occurred_at, part, event_id, tenant_id,
		event_type, partition_key, service, body)
				SELECT $3 - 86400000 + i / 100, $3 - 86400000 + i / 100, $3 - 86400000 + i / 100, i % 4,
					printf('018f3f9e-0000-7000-9000-%012x', i), $4, 'RecordUpdated',
					'Account:' || (i % 100000), 'records', $5 FROM n`,
				done, min(done+perCommit, n), now, busTenantID, one[0].body)
			return err
		})
		if err != nil {
			return err
		}
	}
	fmt.Printf("  (%d published events were stored in %v)\n", n, time.Since(began).Round(time.Second))
	return nil
}
