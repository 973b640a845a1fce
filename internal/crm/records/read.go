package records

import (
	"context"
	"errors"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// Reads is how other services read records: all of them, whoever is asked for, in the
// transaction of the one who asks. It has no state.
type Reads struct{}

// MaxWalk is how many records one call of Reads gives at most.
const MaxWalk = 1000

// columns are those of a record, in the order of scanRecord.
const columns = `r.object, r.id, r.owner_id, r.name, r.account_id, r.opportunity_id, r.fields, r.version,
	r.created_at, r.created_by, r.updated_at, r.updated_by, r.deleted_at`

const (
	selectRecord = "SELECT " + columns + " FROM records_record r WHERE r.tenant_id = $1 AND r.object = $2 AND r.id = $3"
	selectWalk   = "SELECT " + columns + ` FROM records_record r
		WHERE r.tenant_id = $1 AND r.object = $2 AND r.id > $3 AND r.deleted_at = 0 ORDER BY r.id LIMIT $4`
	selectChildren = "SELECT " + columns + ` FROM records_record r
		WHERE r.tenant_id = $1 AND r.account_id = $2 AND r.account_id <> '' AND r.deleted_at = 0 AND (r.object, r.id) > ($3, $4)
		ORDER BY r.object, r.id LIMIT $5`
	selectQuotes = "SELECT " + columns + ` FROM records_record r
		WHERE r.tenant_id = $1 AND r.opportunity_id = $2 AND r.opportunity_id <> '' AND r.deleted_at = 0 AND r.id > $3 ORDER BY r.id LIMIT $4`
	walkTeams = `SELECT object, record_id, user_id, team_role, access FROM records_team
		WHERE tenant_id = $1 AND object = $2 AND (record_id, user_id) > ($3, $4) ORDER BY record_id, user_id LIMIT $5`
)

// Get is a record, also a deleted one; ok says that it exists.
func (Reads) Get(ctx context.Context, tx *sqldb.Tx, tenant, object, id string) (r model.Record, ok bool, err error) {
	r, err = scanRecord(tx.Row(ctx, selectRecord, tenant, object, id))
	if errors.Is(err, sqldb.ErrNoRow) {
		return model.Record{}, false, nil
	}
	return r, err == nil, fault.Wrap("records.get", err)
}

// Walk gives the living records of an object by id, behind afterID; "" is the beginning.
func (Reads) Walk(ctx context.Context, tx *sqldb.Tx, tenant, object, afterID string, limit int) (
	[]model.Record, error,
) {
	return many(ctx, tx, "records.walk", selectWalk, tenant, object, afterID, min(limit, MaxWalk))
}

// Children gives the living contacts, opportunities and quotes of an account by object and
// id, behind the record after; its zero value is the beginning.
func (Reads) Children(ctx context.Context, tx *sqldb.Tx, tenant, accountID string, after model.Record, limit int) (
	[]model.Record, error,
) {
	return many(ctx, tx, "records.children", selectChildren, tenant, accountID, after.Object, after.ID,
		min(limit, MaxWalk))
}

// Quotes gives the living quotes of an opportunity by id, behind afterID.
func (Reads) Quotes(ctx context.Context, tx *sqldb.Tx, tenant, opportunityID, afterID string, limit int) (
	[]model.Record, error,
) {
	return many(ctx, tx, "records.quotes", selectQuotes, tenant, opportunityID, afterID, min(limit, MaxWalk))
}

// Teams gives the teams of all records of an object, by record and user, behind the member
// after; its zero value is the beginning.
func (Reads) Teams(ctx context.Context, tx *sqldb.Tx, tenant, object string, after model.TeamMember, limit int) (
	[]model.TeamMember, error,
) {
	return team(ctx, tx, "records.teams", walkTeams, tenant, object, after.RecordID, after.UserID, min(limit, MaxWalk))
}

func team(ctx context.Context, tx *sqldb.Tx, op, query string, args ...any) (members []model.TeamMember, err error) {
	for row, err := range tx.Query(ctx, query, args...) {
		var m model.TeamMember
		if err == nil {
			err = row.Scan(&m.Object, &m.RecordID, &m.UserID, &m.TeamRole, &m.Access)
		}
		if err != nil {
			return nil, fault.Wrap(op, err)
		}
		members = append(members, m)
	}
	return members, nil
}

// many reads the records of a statement.
func many(ctx context.Context, tx *sqldb.Tx, op, query string, args ...any) (all []model.Record, err error) {
	for row, err := range tx.Query(ctx, query, args...) {
		if err != nil {
			return nil, fault.Wrap(op, err)
		}
		r, err := scanRecord(row)
		if err != nil {
			return nil, fault.Wrap(op, err)
		}
		all = append(all, r)
	}
	return all, nil
}

// scanRecord reads the columns of a record, and then those that more are for.
func scanRecord(row *sqldb.Row, more ...any) (r model.Record, err error) {
	var fields string
	var deletedAt int64
	err = row.Scan(append([]any{
		&r.Object, &r.ID, &r.OwnerID, &r.Name, &r.AccountID, &r.OpportunityID, &fields, &r.Version,
		&r.CreatedAt, &r.CreatedBy, &r.UpdatedAt, &r.UpdatedBy, &deletedAt,
	}, more...)...)
	if err != nil {
		return r, err
	}
	r.Deleted = deletedAt != 0
	return r, json.Unmarshal([]byte(fields), &r.Fields)
}
