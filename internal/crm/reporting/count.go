package reporting

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/platform/sqldb"
)

// everybody as an owner is all of them together.
const everybody = ""

// key is a row of reporting_count.
type key struct{ cube, owner, k1, k2, k3 string }

func (k key) compare(o key) int {
	return cmp.Or(cmp.Compare(k.cube, o.cube), cmp.Compare(k.owner, o.owner), cmp.Compare(k.k1, o.k1),
		cmp.Compare(k.k2, o.k2), cmp.Compare(k.k3, o.k3))
}

// tally is how many there are, and their sums.
type tally struct {
	n                int64
	amount, weighted Money
}

func (t tally) plus(o tally, n int64) tally {
	return tally{t.n + n*o.n, t.amount.plus(o.amount.times(n)), t.weighted.plus(o.weighted.times(n))}
}

// deltas are changes of counts.
type deltas map[key]tally

// add counts something n times, for its owner and for everybody.
func (d deltas) add(k key, t tally, n int64) {
	d[k] = d[k].plus(t, n)
	if k.owner != everybody {
		k.owner = everybody
		d[k] = d[k].plus(t, n)
	}
}

const (
	// Only what is nothing at all: a count that is wrong is not to lose the rest of what it has.
	dropCount = `DELETE FROM reporting_count WHERE tenant_id = $1 AND cube = $2 AND owner_id = $3 AND k1 = $4
		AND k2 = $5 AND k3 = $6 AND n = 0 AND amount_hi = 0 AND amount_lo = 0 AND weighted_hi = 0 AND weighted_lo = 0`
	countColumns = "cube, owner_id, k1, k2, k3, n, amount_hi, amount_lo, weighted_hi, weighted_lo"
)

var addCounts = sqldb.NewInsert(
	"reporting_count AS c (tenant_id, cube, owner_id, k1, k2, k3, n, amount_hi, amount_lo, weighted_hi, weighted_lo)",
	`ON CONFLICT (tenant_id, cube, owner_id, k1, k2, k3) DO UPDATE SET n = c.n + excluded.n,
		amount_hi = c.amount_hi + excluded.amount_hi, amount_lo = c.amount_lo + excluded.amount_lo,
		weighted_hi = c.weighted_hi + excluded.weighted_hi, weighted_lo = c.weighted_lo + excluded.weighted_lo`,
	"text", "text", "text", "text", "text", "text", "bigint", "bigint", "bigint", "bigint", "bigint")

// eachCount gives the counts of a tenant ($1); and is more of the condition.
func eachCount(ctx context.Context, tx *sqldb.Tx, tenant, and string, do func(key, tally)) error {
	for row, err := range tx.Query(ctx, "SELECT "+countColumns+" FROM reporting_count WHERE tenant_id = $1"+and,
		tenant) {
		var k key
		var t tally
		if err == nil {
			err = row.Scan(&k.cube, &k.owner, &k.k1, &k.k2, &k.k3, &t.n, &t.amount.hi, &t.amount.lo, &t.weighted.hi,
				&t.weighted.lo)
		}
		if err != nil {
			return err
		}
		do(k, t)
	}
	return nil
}

// statements are those that change the counts, in one order for all.
func (d deltas) statements(tx *sqldb.Tx, tenant string) []sqldb.Stmt {
	var drops []sqldb.Stmt
	var counts []any
	for _, k := range slices.SortedFunc(maps.Keys(d), key.compare) {
		t := d[k]
		if t == (tally{}) {
			continue
		}
		counts = append(counts, tenant, k.cube, k.owner, k.k1, k.k2, k.k3, t.n, t.amount.hi, t.amount.lo, t.weighted.hi,
			t.weighted.lo)
		if t.n < 0 {
			drops = append(drops, sqldb.Stmt{Query: dropCount, Args: []any{tenant, k.cube, k.owner, k.k1, k.k2, k.k3}})
		}
	}
	return append(addCounts.Stmts(tx, counts), drops...)
}

// hold lets no other transaction change the counts of a tenant.
func hold(ctx context.Context, tx *sqldb.Tx, tenant string) error {
	return kit.ReportingLocks.Hold(ctx, tx, service+":"+tenant)
}
