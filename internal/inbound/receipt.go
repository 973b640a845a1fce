package inbound

import (
	"context"
	"errors"
	"strconv"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/sqldb"
)

// trimChunk is how many of the oldest receipts of a tenant are looked at when one is
// added. It is more than one, so that a lower maximum is reached.
const trimChunk = 100

// receipt is what a key has started. It counts until its time has passed or too many were written after
// it; one that does not count is deleted when others are written.
type receipt struct {
	about
	n  int64 // from 1, without a gap
	at canonical.Stamp
}

const selectReceipt = `SELECT n, run_id, template_id, template_name, action, year, month, at FROM trigger_receipt
	WHERE tenant_id = $1 AND idempotency_key = $2`

func (r *receipt) scan(row *sqldb.Row) error {
	return row.Scan(&r.n, &r.run, &r.templateID, &r.templateName, &r.action, &r.year, &r.month, &r.at)
}

// desk is what a decision about a tenant's delivery starts from.
type desk struct {
	now       canonical.Stamp
	receipts  int64    // the number of the last receipt
	templates int64    // changes of templates
	receipt   *receipt // of the key; nil: none that counts
}

// open reads the desk, without holding it.
func (t *Deliveries) open(ctx context.Context, tx *sqldb.Tx, tenant, key string, d *desk) error {
	return t.fill(ctx, tx, sqldb.Stmt{
		Query: "SELECT receipts, templates FROM trigger_tenant WHERE tenant_id = $1", Args: []any{tenant},
		Row: func(r *sqldb.Row) error { return r.Scan(&d.receipts, &d.templates) },
	}, tenant, key, d)
}

// hold is open for whoever decides: nobody else does until the transaction ends.
func (t *Deliveries) hold(ctx context.Context, tx *sqldb.Tx, tenant, key string, d *desk) error {
	return t.fill(ctx, tx, lockStmt(tenant, &d.receipts, &d.templates), tenant, key, d)
}

func (t *Deliveries) fill(ctx context.Context, tx *sqldb.Tx, first sqldb.Stmt, tenant, key string, d *desk) error {
	*d = desk{}
	stmts := []sqldb.Stmt{first}
	if clock := t.clock(&d.now); clock != nil {
		stmts = append(stmts, *clock)
	}
	if key != "" {
		stmts = append(stmts, sqldb.Stmt{
			Query: selectReceipt, Args: []any{tenant, key},
			Row: func(row *sqldb.Row) error {
				d.receipt = &receipt{}
				return d.receipt.scan(row)
			},
		})
	}
	if err := tx.Batch(ctx, stmts...); err != nil {
		return err
	}
	if d.receipt != nil && !t.counts(d.receipt, d) {
		d.receipt = nil
	}
	return nil
}

// counts reports whether a receipt is still there.
func (t *Deliveries) counts(r *receipt, d *desk) bool {
	return r.n > t.lastGone(d.receipts) && r.at >= t.oldest(d.now)
}

// lastGone is the number of the newest receipt that too many were written after.
func (t *Deliveries) lastGone(last int64) int64 { return last - int64(t.cfg.MaxReceipts) }

// oldest is the first instant whose receipts count.
func (t *Deliveries) oldest(now canonical.Stamp) canonical.Stamp {
	return now - canonical.Stamp(t.cfg.TTL.Milliseconds())
}

// save writes a receipt, and deletes some that do not count. A receipt of the same key
// that does not count any more is replaced. The tenant is held.
func (t *Deliveries) save(tenant, key string, r *receipt) []sqldb.Stmt {
	return []sqldb.Stmt{
		{Query: "UPDATE trigger_tenant SET receipts = $2 WHERE tenant_id = $1", Args: []any{tenant, r.n}},
		{
			Query: `INSERT INTO trigger_receipt (tenant_id, idempotency_key, n, run_id, template_id,
				template_name, action, year, month, at)
				VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
				ON CONFLICT (tenant_id, idempotency_key) DO UPDATE SET n = excluded.n, run_id = excluded.run_id,
				template_id = excluded.template_id, template_name = excluded.template_name, action = excluded.action,
				year = excluded.year, month = excluded.month, at = excluded.at`,
			Args: []any{tenant, key, r.n, r.run, r.templateID, r.templateName, r.action, r.year, r.month, r.at},
		},
		{Query: deleteGone, Args: []any{tenant, t.lastGone(r.n), t.oldest(r.at)}},
	}
}

// deleteGone deletes those of a tenant's oldest receipts that do not count. It is written so that both
// databases look them up: by their numbers SQLite would walk all receipts of the tenant, and with a
// limit that it does not know PostgreSQL may.
var deleteGone = `DELETE FROM trigger_receipt WHERE tenant_id = $1 AND idempotency_key IN (SELECT idempotency_key FROM
	(SELECT idempotency_key, n, at FROM trigger_receipt WHERE tenant_id = $1 ORDER BY n LIMIT ` +
	strconv.Itoa(trimChunk) + `) AS oldest WHERE n <= $2 OR at < $3)`

const selectMonth = "SELECT run_id FROM trigger_month WHERE tenant_id = $1 AND template_id = $2 AND year = $3 AND " +
	"month = $4"

// active reports whether the newest run of a template for a month has not ended.
func (t *Deliveries) active(ctx context.Context, tx *sqldb.Tx, tenant string, p *plan) (bool, error) {
	var run string
	err := tx.Row(ctx, selectMonth, tenant, p.ID, p.year, p.month).Scan(&run)
	if errors.Is(err, sqldb.ErrNoRow) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return t.cfg.Active(ctx, tx, tenant, run)
}

// newest makes a run the newest of its template for a month.
func newest(tenant string, a *about) sqldb.Stmt {
	return sqldb.Stmt{
		Query: `INSERT INTO trigger_month (tenant_id, template_id, year, month, run_id) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (tenant_id, template_id, year, month) DO UPDATE SET run_id = excluded.run_id`,
		Args: []any{tenant, a.templateID, a.year, a.month, a.run},
	}
}
