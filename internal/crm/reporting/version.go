package reporting

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"renga.dev/renga/internal/platform/sqldb"
)

// maxChanges is how many of the last changes of a tenant's opportunities are stored. A cache of an older
// version is read anew.
const maxChanges = 1000

// dataVersion is a version of the facts of a tenant's opportunities: that after one change. The stamp is
// unique, also when a database is restored from a backup, or fails over to a replica that lacks
// changes, and gives the same numbers again. The zero version is that before any change.
type dataVersion struct {
	num   int64
	stamp string
}

const (
	addChange = `INSERT INTO reporting_change (tenant_id, num, stamp, ids)
		SELECT $1, coalesce(max(num), 0) + 1, $2, $3 FROM reporting_change WHERE tenant_id = $1`
	dropChanges = "DELETE FROM reporting_change WHERE tenant_id = $1 AND num <= (SELECT max(num) - $2 FROM " +
		"reporting_change WHERE tenant_id = $1)"
	lastChange  = "SELECT num, stamp FROM reporting_change WHERE tenant_id = $1 ORDER BY num DESC LIMIT 1"
	changesFrom = "SELECT num, stamp, ids FROM reporting_change WHERE tenant_id = $1 AND num >= $2 ORDER BY num"
)

// changed stores that this transaction changes the facts of some opportunities. The tenant is locked, so
// numbers are in the order of the commits.
func changed(tenant string, ids []string) ([]sqldb.Stmt, error) {
	list, err := json.Marshal(ids)
	return []sqldb.Stmt{
		{Query: addChange, Args: []any{tenant, uuid.NewString(), string(list)}},
		{Query: dropChanges, Args: []any{tenant, maxChanges}},
	}, err
}

// versionIn is the version that a transaction sees.
func versionIn(ctx context.Context, tx *sqldb.Tx, tenant string) (now dataVersion, err error) {
	err = tx.Row(ctx, lastChange, tenant).Scan(&now.num, &now.stamp)
	if errors.Is(err, sqldb.ErrNoRow) {
		err = nil
	}
	return now, err
}

// changes are the facts that are others than in a version, as they are in the one that a
// transaction sees; nil is one that is gone.
type changes struct {
	now   dataVersion
	facts map[string]*opportunity
}

// Why changes cannot be shown.
var (
	errLost = errors.New("reporting: a version is not, or no more, among the changes")
	errMany = errors.New("reporting: more has changed than is wanted")
)

// changesSince are the changes since a version, of at most so many opportunities.
func changesSince(ctx context.Context, tx *sqldb.Tx, tenant string, since, now dataVersion, most int) (changes, error) {
	switch {
	case since == now:
		return changes{now: now}, nil
	case since.num >= now.num:
		return changes{}, errLost
	}
	ids, next := map[string]bool{}, max(since.num, 1) // there is no row of the version before any change
	for row, err := range tx.Query(ctx, changesFrom, tenant, next) {
		var c dataVersion
		var list string
		var some []string
		if err == nil {
			err = row.Scan(&c.num, &c.stamp, &list)
		}
		if err == nil {
			err = json.Unmarshal([]byte(list), &some)
		}
		if err != nil {
			return changes{}, err
		}
		if c.num != next || c.num == since.num && c != since {
			return changes{}, errLost
		}
		if next++; c == since {
			continue
		}
		for _, id := range some {
			ids[id] = true
		}
		if len(ids) > most {
			return changes{}, errMany
		}
	}
	if next != now.num+1 {
		return changes{}, errLost
	}
	return latest(ctx, tx, tenant, now, slices.Sorted(maps.Keys(ids)))
}

// latest are the facts of some opportunities as a transaction sees them.
func latest(ctx context.Context, tx *sqldb.Tx, tenant string, now dataVersion, ids []string) (changes, error) {
	got := changes{now, make(map[string]*opportunity, len(ids))}
	for some := range slices.Chunk(ids, walkSize) {
		found, err := opportunities(ctx, tx, tenant, some)
		if err != nil {
			return changes{}, err
		}
		for _, id := range some {
			got.facts[id] = found[id]
		}
	}
	return got, nil
}
