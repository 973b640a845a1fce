package webhooks

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// How Run looks for something to do.
const (
	lookEvery  = time.Second // at least
	maxTenants = 100         // of one look
	// MaxPasses is how many webhooks a process works on at a time, and MaxTenantPasses how many of one tenant.
	MaxPasses       = 64
	MaxTenantPasses = 16
)

// works are the passes of a process.
type works struct {
	*Webhooks
	wait    sync.WaitGroup
	claims  atomic.Int64
	mu      sync.Mutex
	total   int
	running map[string]int // by tenant
}

func newWorks(w *Webhooks) *works { return &works{Webhooks: w, running: map[string]int{}} }

// Run sends what is due until ctx ends. Requests that are under way then may take a moment more.
func (w *Webhooks) Run(ctx context.Context) {
	all := newWorks(w)
	defer w.sender.close()
	defer all.wait.Wait()
	w.complain(ctx, w.restart(ctx))
	all.wait.Go(func() { w.retainEvery(ctx) })
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		wait, err := all.look(ctx)
		w.complain(ctx, err)
		timer.Reset(wait)
		select {
		case <-w.wakeups:
		case <-timer.C:
		case <-ctx.Done():
		}
	}
}

// restart frees what a process had claimed that died, where no other process can have claimed anything.
func (w *Webhooks) restart(ctx context.Context) error {
	if w.db.Dialect() != sqldb.SQLite {
		return nil
	}
	return w.write(ctx, "restart", func(ctx context.Context, tx *sqldb.Tx, _ canonical.Stamp) error {
		_, err := tx.Exec(ctx, "UPDATE webhooks_webhook SET held_until = 0, holder = '' WHERE held_until > 0")
		return err
	})
}

// complain logs what should not fail.
func (w *Webhooks) complain(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil && !fault.Passes(err) {
		w.cfg.Log.ErrorContext(ctx, "webhooks could not go on", "error", err)
	}
}

// Those with something to do, by tenant: the one that waits longest first.
const dueTenants = `SELECT tenant_id FROM webhooks_webhook WHERE look_at > 0 AND look_at <= $1 AND held_until <= $1
	GROUP BY tenant_id ORDER BY min(look_at), tenant_id LIMIT $2`

const nextLook = "SELECT look_at FROM webhooks_webhook WHERE look_at > $1 ORDER BY look_at LIMIT 1"

// look begins passes of the webhooks that have something to do, while there are places for their tenants. It gives
// when to look again.
func (w *works) look(ctx context.Context) (wait time.Duration, err error) {
	var tenants []string
	wait = lookEvery
	err = w.read(ctx, "due", func(ctx context.Context, tx *sqldb.Tx) error {
		now, err := w.now(ctx, tx)
		if err != nil {
			return err
		}
		if tenants, err = sqldb.Collect(ctx, tx, sqldb.Column[string], dueTenants, now, maxTenants); err != nil {
			return err
		}
		var next canonical.Stamp
		if err := tx.Row(ctx, nextLook, now).Scan(&next); err == nil {
			wait = min(wait, time.Duration(next-now)*time.Millisecond)
		} else if !errors.Is(err, sqldb.ErrNoRow) {
			return err
		}
		return nil
	})
	for _, tenant := range tenants {
		if ctx.Err() != nil || fault.Passes(err) {
			break
		}
		places := w.places(tenant)
		if places == 0 {
			continue
		}
		claims, bad := w.claim(sqldb.For(ctx, tenant), tenant, places)
		err = errors.Join(err, bad)
		for _, c := range claims {
			w.begin(sqldb.For(ctx, tenant), c)
		}
	}
	return wait, err
}

// places is how many passes of a tenant may begin.
func (w *works) places(tenant string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return max(min(MaxTenantPasses-w.running[tenant], MaxPasses-w.total), 0)
}

// begin works on a claimed webhook beside the others.
func (w *works) begin(ctx context.Context, c *claim) {
	w.mu.Lock()
	w.total++
	w.running[c.tenant]++
	w.mu.Unlock()
	w.wait.Go(func() {
		w.complain(ctx, w.pass(ctx, c))
		w.mu.Lock()
		w.total--
		if w.running[c.tenant]--; w.running[c.tenant] == 0 {
			delete(w.running, c.tenant)
		}
		w.mu.Unlock()
		w.wake()
	})
}

// claim takes webhooks of a tenant that have something to do, so that nobody else sends for them meanwhile.
func (w *works) claim(ctx context.Context, tenant string, most int) (claims []*claim, err error) {
	token := w.cfg.Name + " " + strconv.FormatInt(w.claims.Add(1), 10)
	err = w.write(ctx, "claim", func(ctx context.Context, tx *sqldb.Tx, now canonical.Stamp) error {
		skip := ""
		if tx.Dialect() != sqldb.SQLite {
			skip = " FOR UPDATE SKIP LOCKED"
		}
		// In two statements: in one, PostgreSQL may evaluate the limit again and claim more.
		ids, err := sqldb.Collect(ctx, tx, sqldb.Column[string], `SELECT id FROM webhooks_webhook
			WHERE tenant_id = $1 AND look_at > 0 AND look_at <= $2 AND held_until <= $2
			ORDER BY look_at, id LIMIT $3`+skip, tenant, now, most)
		if err != nil {
			return err
		}
		binds := sqldb.Bind(tenant, now+stamps(holdFor), token)
		_, err = tx.Exec(ctx, `UPDATE webhooks_webhook SET held_until = $2, holder = $3 WHERE tenant_id = $1 AND `+
			binds.OneOf(tx, "id", ids), binds.Args()...)
		claims = nil
		for _, id := range ids {
			claims = append(claims, &claim{tenant: tenant, id: id, token: token})
		}
		return err
	})
	return claims, err
}

// counts are the requests that this process has sent, by what came of them.
type counts [gone + 1]atomic.Int64

func (c *counts) add(results []result) {
	for _, r := range results {
		c[r.verdict].Add(1)
	}
}

// Sent are the requests that this process has sent: delivered, refused by the endpoint, and without a usable answer.
func (w *Webhooks) Sent() (delivered, refused, away int64) {
	return w.counts[0].Load(), w.counts[1].Load() + w.counts[gone].Load(), w.counts[2].Load()
}
