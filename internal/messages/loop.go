package messages

import (
	"context"
	"errors"
	"sync"
	"time"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// How Run looks for something to do.
const (
	lookEvery   = time.Second      // for messages whose time to live has ended, and after a failure
	sweepEvery  = time.Minute      // for messages that are kept and awaited, which a killed process left
	retainEvery = 10 * time.Minute // for messages that were retained long enough
	someRows    = 1000             // at a time
	maxQueued   = 10_000           // names and keys that nodes began to wait for
	deliverers  = 8                // deliveries at the same time
)

// Run delivers what is kept to the nodes that begin to wait, until ctx ends.
func (m *Messages) Run(ctx context.Context) {
	if m.cfg.Engine == nil {
		return
	}
	var wg sync.WaitGroup
	for range deliverers {
		wg.Go(func() { m.deliverQueued(ctx) })
	}
	m.missed.Store(true)
	var swept, retained time.Time
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		now := time.Now()
		err := m.expire(ctx)
		if m.missed.Swap(false) || now.Sub(swept) >= sweepEvery {
			swept = now
			err = errors.Join(err, m.sweep(ctx))
		}
		if now.Sub(retained) >= retainEvery {
			retained = now
			err = errors.Join(err, m.retain(ctx))
		}
		m.report(ctx, "messages could not go on", err)
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	wg.Wait()
}

func (m *Messages) report(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil && !fault.Passes(err) {
		m.cfg.Log.ErrorContext(ctx, what, "error", err)
	}
}

// deliverQueued delivers what nodes began to wait for until ctx ends. What fails is looked for again.
func (m *Messages) deliverQueued(ctx context.Context) {
	for {
		select {
		case of := <-m.queue:
			if err := m.deliver(sqldb.For(ctx, of.tenant), of); err != nil {
				m.missed.Store(true)
				m.report(ctx, "a message could not be delivered", err)
			}
		case <-ctx.Done():
			return
		}
	}
}

// sweep queues what is kept and awaited.
func (m *Messages) sweep(ctx context.Context) error {
	var all []awaited
	err := m.read(ctx, "sweep", func(ctx context.Context, tx *sqldb.Tx) error {
		now, err := m.now(ctx, tx)
		if err != nil {
			return err
		}
		all, err = sqldb.Collect(ctx, tx, func(row *sqldb.Row) (of awaited, err error) {
			err = row.Scan(&of.tenant, &of.Name, &of.Key)
			return of, err
		}, `SELECT DISTINCT m.tenant_id, m.name, m.key FROM messages_message AS m
			WHERE m.state = 1 AND m.expires_at > $1 AND `+m.cfg.IsAwaited("m.tenant_id", "m.name", "m.key")+
			` LIMIT $2`, now, someRows)
		return err
	})
	if len(all) == someRows {
		m.missed.Store(true)
	}
	for _, of := range all {
		m.Awaits(of.tenant, of.Awaited)
	}
	return err
}

const due = "state = 1 AND expires_at <= $1"

// expire gives up the messages whose time to live has ended.
func (m *Messages) expire(ctx context.Context) error {
	for n := int64(someRows); n == someRows; {
		var now canonical.Stamp
		var any bool
		err := m.read(ctx, "expired", func(ctx context.Context, tx *sqldb.Tx) (err error) {
			if now, err = m.now(ctx, tx); err != nil {
				return err
			}
			return tx.Row(ctx, "SELECT EXISTS (SELECT 1 FROM messages_message WHERE "+due+")", now).Scan(&any)
		})
		if err != nil || !any {
			return err
		}
		err = m.write(ctx, "expire", func(ctx context.Context, tx *sqldb.Tx) (err error) {
			n, err = tx.Exec(ctx, `UPDATE messages_message SET state = 5, decided_at = expires_at
				WHERE state = 1 AND (tenant_id, id) IN
				(SELECT tenant_id, id FROM messages_message WHERE `+due+` ORDER BY expires_at LIMIT $2)`, now, someRows)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// retain deletes messages that were retained long enough.
func (m *Messages) retain(ctx context.Context) error {
	for n := int64(someRows); n == someRows; {
		err := m.write(ctx, "retain", func(ctx context.Context, tx *sqldb.Tx) error {
			now, err := m.now(ctx, tx)
			if err != nil {
				return err
			}
			n, err = tx.Exec(ctx, `DELETE FROM messages_message WHERE (tenant_id, id) IN
				(SELECT tenant_id, id FROM messages_message WHERE state <> 1 AND decided_at < $1
				ORDER BY decided_at LIMIT $2)`, now-canonical.Stamp(m.cfg.Retention.Milliseconds()), someRows)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
