package records

import (
	"context"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

const (
	countLiving = "SELECT count(*) FROM records_record r WHERE r.tenant_id = $1 AND r.object = $2 AND r.deleted_at " +
		"= 0"
	walkCampaigns = `SELECT member_id, campaign_id FROM records_member
		WHERE tenant_id = $1 AND member_type = $2 AND member_id > $3 AND member_id <= $4 ORDER BY member_id, campaign_id`
)

// Pick gives those of some living records of an object that a condition over their row r
// is true of, in no order. where writes the condition and adds its arguments.
func (Reads) Pick(
	ctx context.Context, tx *sqldb.Tx, tenant, object string, ids []string, where func(*sqldb.Binds) (string, error),
) ([]model.Record, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var b sqldb.Binds
	of := "r.tenant_id = " + b.Add(tenant) + " AND r.object = " + b.Add(object) + " AND r.deleted_at = 0"
	condition, err := where(&b)
	if err != nil {
		return nil, err
	}
	list := b.OneOf(tx, "r.id", ids)
	return many(ctx, tx, "records.pick", "SELECT "+columns+" FROM records_record r WHERE "+of+" AND "+list+" AND ("+
		condition+")", b.Args()...)
}

// Some gives those of some records of an object that exist, deleted ones too, by id.
func (Reads) Some(ctx context.Context, tx *sqldb.Tx, tenant, object string, ids []string) (
	map[string]model.Record, error,
) {
	some := make(map[string]model.Record, len(ids))
	if len(ids) == 0 {
		return some, nil
	}
	var b sqldb.Binds
	query := "SELECT " + columns + " FROM records_record r WHERE r.tenant_id = " + b.Add(tenant) + " AND r.object = " +
		b.Add(object) + " AND " + b.OneOf(tx, "r.id", ids)
	all, err := many(ctx, tx, "records.some", query, b.Args()...)
	for i := range all {
		some[all[i].ID] = all[i]
	}
	return some, err
}

// TeamsAmong gives the teams of some records, each by user.
func (Reads) TeamsAmong(ctx context.Context, tx *sqldb.Tx, tenant, object string, ids []string) (
	map[string][]model.TeamMember, error,
) {
	var b sqldb.Binds
	query := "SELECT object, record_id, user_id, team_role, access FROM records_team WHERE tenant_id = " +
		b.Add(tenant) + " AND object = " + b.Add(object) +
		" AND " + b.OneOf(tx, "record_id", ids) + inOrder(tx, "record_id") + ", user_id"
	all, err := team(ctx, tx, "records.teams", query, b.Args()...)
	teams := map[string][]model.TeamMember{}
	for _, m := range all {
		teams[m.RecordID] = append(teams[m.RecordID], m)
	}
	return teams, err
}

// Count is how many living records of an object there are.
func (Reads) Count(ctx context.Context, tx *sqldb.Tx, tenant, object string) (n int, err error) {
	err = tx.Row(ctx, countLiving, tenant, object).Scan(&n)
	return n, fault.Wrap("records.count", err)
}

// CampaignsOf gives the campaigns of all leads or contacts behind one id and up to another.
func (Reads) CampaignsOf(ctx context.Context, tx *sqldb.Tx, tenant, object, afterID, lastID string) (
	map[string][]string, error,
) {
	return campaigns(ctx, tx, walkCampaigns, tenant, object, afterID, lastID)
}

// campaigns are those that a statement finds, by who is in them.
func campaigns(ctx context.Context, tx *sqldb.Tx, query string, args ...any) (map[string][]string, error) {
	found := map[string][]string{}
	for row, err := range tx.Query(ctx, query, args...) {
		var id, campaign string
		if err == nil {
			err = row.Scan(&id, &campaign)
		}
		if err != nil {
			return nil, fault.Wrap("records.campaigns", err)
		}
		found[id] = append(found[id], campaign)
	}
	return found, nil
}

// CampaignsAmong gives the campaigns of some leads or contacts, each by id.
func (Reads) CampaignsAmong(ctx context.Context, tx *sqldb.Tx, tenant, object string, ids []string) (
	map[string][]string, error,
) {
	var b sqldb.Binds
	query := "SELECT member_id, campaign_id FROM records_member WHERE tenant_id = " + b.Add(tenant) +
		" AND member_type = " + b.Add(object) +
		" AND " + b.OneOf(tx, "member_id", ids) + inOrder(tx, "member_id") + ", campaign_id"
	return campaigns(ctx, tx, query, b.Args()...)
}

// MembersAmong says which of some leads or contacts are in a campaign.
func (Reads) MembersAmong(ctx context.Context, tx *sqldb.Tx, tenant, campaign, object string, ids []string) (
	map[string]bool, error,
) {
	var b sqldb.Binds
	query := "SELECT member_id FROM records_member WHERE tenant_id = " + b.Add(tenant) + " AND campaign_id = " +
		b.Add(campaign) + " AND member_type = " + b.Add(object)
	return among(ctx, tx, query, "member_id", ids, &b)
}

// LockedAmong says of which of some records an approval is open.
func (Reads) LockedAmong(ctx context.Context, tx *sqldb.Tx, tenant, object string, ids []string) (
	map[string]bool, error,
) {
	var b sqldb.Binds
	query := "SELECT DISTINCT record_id FROM records_lock WHERE tenant_id = " + b.Add(tenant) + " AND object = " +
		b.Add(object)
	return among(ctx, tx, query, "record_id", ids, &b)
}

// among is the set of those ids that a statement finds.
func among(ctx context.Context, tx *sqldb.Tx, query, column string, ids []string, b *sqldb.Binds) (
	map[string]bool, error,
) {
	found := map[string]bool{}
	if len(ids) == 0 {
		return found, nil
	}
	query += " AND " + b.OneOf(tx, column, ids)
	for row, err := range tx.Query(ctx, query, b.Args()...) {
		var id string
		if err == nil {
			err = row.Scan(&id)
		}
		if err != nil {
			return nil, fault.Wrap("records.among", err)
		}
		found[id] = true
	}
	return found, nil
}
