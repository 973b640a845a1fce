package records

import (
	"context"
	"fmt"

	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// maxDifferences is how many differences a recount names.
const maxDifferences = 1000

// miscounted are the owners of whom a tenant's counts say something else than its records.
// Both are read in one statement, so changes that come meanwhile do no harm.
const miscounted = `SELECT x.object AS object, x.owner_id AS owner_id,
		CAST(sum(x.counted) AS bigint) AS counted, CAST(sum(x.found) AS bigint) AS found FROM (
		SELECT object, owner_id, n AS counted, 0 AS found FROM records_count WHERE tenant_id = $1
		UNION ALL SELECT object, owner_id, 0, count(*) FROM records_record
			WHERE tenant_id = $1 AND deleted_at = 0 GROUP BY object, owner_id) AS x
	GROUP BY x.object, x.owner_id HAVING sum(x.counted) <> sum(x.found)`

// Recount counts the living records of a tenant by owner, and says where the counts that
// totals of lists are added up from are different.
func Recount(ctx context.Context, db *sqldb.DB, tenant string) (differences []string, err error) {
	err = db.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		differences, err = sqldb.Collect(ctx, tx, func(row *sqldb.Row) (string, error) {
			var object, owner string
			var counted, found int64
			err := row.Scan(&object, &owner, &counted, &found)
			return fmt.Sprintf("%s owns %d records of %s, and %d are counted", owner, found, object, counted), err
		}, miscounted+" ORDER BY 1, 2 LIMIT $2", tenant, maxDifferences)
		return err
	})
	return differences, fault.Wrap("records.recount", err)
}

// Repair puts the counts of a tenant right, and gives how many were not. What is wrong is
// added, not overwritten, since records may change meanwhile.
func Repair(ctx context.Context, db *sqldb.DB, tenant string) (repaired int64, err error) {
	err = db.Write(ctx, sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
		// Two at once would both add what is missing.
		if err := kit.CompactRecordCounts.Hold(ctx, tx); err != nil {
			return err
		}
		repaired, err = tx.Exec(ctx, in(tx).repairCounts, tenant)
		return err
	})
	return repaired, fault.Wrap("records.repair", err)
}
