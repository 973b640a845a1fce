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
// transaction of the one who asks. It has no state. What walks begins with the zero value
// of its position.
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
		WHERE r.tenant_id = $1 AND r.account_id = $2 AND r.account_id <> '' AND r.deleted_at = 0
		AND (r.object, r.id) > ($3, $4) ORDER BY r.object, r.id LIMIT $5`
	selectTeams = `SELECT object, record_id, user_id, team_role, access FROM records_team
		WHERE tenant_id = $1 AND object = $2 AND `
	walkCampaigns = `SELECT member_id, campaign_id FROM records_member
		WHERE tenant_id = $1 AND member_type = $2 AND member_id > $3 AND member_id <= $4
		ORDER BY member_id, campaign_id`

	// Members of a campaign that is gone and who are yet to be removed count no more.
	notLeaving = ` AND NOT EXISTS (SELECT 1 FROM records_removal x
		WHERE x.tenant_id = $1 AND x.object = '` + objCampaign + `' AND x.record_id = campaign_id)`
	readColumns = "SELECT campaign_id, member_type, member_id, status, has_responded"
	readMember  = readColumns + oneMember + notLeaving
	walkMembers = readColumns + ` FROM records_member
		WHERE tenant_id = $1 AND (campaign_id, member_type, member_id) > ($2, $3, $4)` + notLeaving + `
		ORDER BY campaign_id, member_type, member_id LIMIT $5`
)

// collect is sqldb.Collect with the operation in its error.
func collect[T any](ctx context.Context, tx *sqldb.Tx, op string, scan func(*sqldb.Row) (T, error), query string,
	args ...any,
) ([]T, error) {
	all, err := sqldb.Collect(ctx, tx, scan, query, args...)
	return all, fault.Wrap("records."+op, err)
}

// oneOrNone is a row that may not be there; ok says that it is.
func oneOrNone[T any](op string, one T, err error) (got T, ok bool, _ error) {
	if errors.Is(err, sqldb.ErrNoRow) {
		return got, false, nil
	}
	return one, err == nil, fault.Wrap("records."+op, err)
}

// Get is a record, also a deleted one; ok says that it exists.
func (Reads) Get(ctx context.Context, tx *sqldb.Tx, tenant, object, id string) (r model.Record, ok bool, err error) {
	r, err = scanRecord(tx.Row(ctx, selectRecord, tenant, object, id))
	return oneOrNone("get", r, err)
}

// Walk gives the living records of an object by id, after afterID.
func (Reads) Walk(ctx context.Context, tx *sqldb.Tx, tenant, object, afterID string, limit int) (
	[]model.Record, error,
) {
	return many(ctx, tx, "walk", selectWalk, tenant, object, afterID, min(limit, MaxWalk))
}

// Children gives the living contacts, opportunities and quotes of an account by object and
// id, after a record.
func (Reads) Children(ctx context.Context, tx *sqldb.Tx, tenant, accountID string, after model.Record, limit int) (
	[]model.Record, error,
) {
	return many(ctx, tx, "children", selectChildren, tenant, accountID, after.Object, after.ID, min(limit, MaxWalk))
}

func readTeamMember(row *sqldb.Row) (m model.TeamMember, err error) {
	return m, row.Scan(&m.Object, &m.RecordID, &m.UserID, &m.TeamRole, &m.Access)
}

// many reads the records of a statement.
func many(ctx context.Context, tx *sqldb.Tx, op, query string, args ...any) ([]model.Record, error) {
	return collect(ctx, tx, op, func(row *sqldb.Row) (model.Record, error) { return scanRecord(row) }, query, args...)
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

func readCampaignMember(row *sqldb.Row) (m model.CampaignMember, err error) {
	return m, row.Scan(&m.CampaignID, &m.MemberType, &m.MemberID, &m.Status, &m.HasResponded)
}

// Member is a member of a campaign; ok says that it is one.
func (Reads) Member(ctx context.Context, tx *sqldb.Tx, tenant, campaign, memberType, member string) (
	m model.CampaignMember, ok bool, err error,
) {
	m, err = readCampaignMember(tx.Row(ctx, readMember, tenant, campaign, memberType, member))
	return oneOrNone("member", m, err)
}

// Members gives the members of all campaigns by campaign, type and id, after a member.
func (Reads) Members(ctx context.Context, tx *sqldb.Tx, tenant string, after model.CampaignMember, limit int) (
	[]model.CampaignMember, error,
) {
	return collect(ctx, tx, "members", readCampaignMember, walkMembers, tenant, after.CampaignID, after.MemberType,
		after.MemberID, min(limit, MaxWalk))
}

// Tenants are those that have records, or had some.
func Tenants(ctx context.Context, db *sqldb.DB) (all []string, err error) {
	err = db.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		for last := ""; ; {
			next, err := sqldb.Column[string](tx.Row(ctx,
				"SELECT tenant_id FROM records_record WHERE tenant_id > $1 ORDER BY tenant_id LIMIT 1", last))
			if errors.Is(err, sqldb.ErrNoRow) {
				return nil
			}
			if err != nil {
				return err
			}
			all, last = append(all, next), next
		}
	})
	return all, fault.Wrap("records.tenants", err)
}

// Pick gives those of some living records of an object that a condition over their row r
// is true of, in no order. where writes the condition and adds its arguments.
func (Reads) Pick(
	ctx context.Context, tx *sqldb.Tx, tenant, object string, ids []string, where func(*sqldb.Binds) (string, error),
) ([]model.Record, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var b sqldb.Binds
	from := living(&b, tenant, object)
	condition, err := where(&b)
	if err != nil {
		return nil, err
	}
	return many(ctx, tx, "pick", "SELECT "+columns+" FROM "+from+" AND "+b.OneOf(tx, "r.id", ids)+
		" AND ("+condition+")", b.Args()...)
}

// Some gives those of some records of an object that exist, deleted ones too, by id.
func (Reads) Some(ctx context.Context, tx *sqldb.Tx, tenant, object string, ids []string) (
	map[string]model.Record, error,
) {
	some := make(map[string]model.Record, len(ids))
	if len(ids) == 0 {
		return some, nil
	}
	b := sqldb.Bind(tenant, object)
	all, err := many(ctx, tx, "some", "SELECT "+columns+" FROM records_record r WHERE r.tenant_id = $1 AND "+
		"r.object = $2 AND "+b.OneOf(tx, "r.id", ids), b.Args()...)
	for i := range all {
		some[all[i].ID] = all[i]
	}
	return some, err
}

// TeamsAmong gives the teams of some records, each by user.
func (Reads) TeamsAmong(ctx context.Context, tx *sqldb.Tx, tenant, object string, ids []string) (
	map[string][]model.TeamMember, error,
) {
	b := sqldb.Bind(tenant, object)
	query := selectTeams + b.OneOf(tx, "record_id", ids) + in(tx).inOrder("record_id") + ", user_id"
	all, err := collect(ctx, tx, "teams", readTeamMember, query, b.Args()...)
	teams := map[string][]model.TeamMember{}
	for _, m := range all {
		teams[m.RecordID] = append(teams[m.RecordID], m)
	}
	return teams, err
}

// Count is how many living records of an object there are.
func (Reads) Count(ctx context.Context, tx *sqldb.Tx, tenant, object string) (n int, err error) {
	var b sqldb.Binds
	query := "SELECT count(*) FROM " + living(&b, tenant, object)
	err = tx.Row(ctx, query, b.Args()...).Scan(&n)
	return n, fault.Wrap("records.count", err)
}

// CampaignsOf gives the campaigns of all leads or contacts after one id and up to another.
func (Reads) CampaignsOf(ctx context.Context, tx *sqldb.Tx, tenant, object, afterID, lastID string) (
	map[string][]string, error,
) {
	return campaigns(ctx, tx, walkCampaigns, tenant, object, afterID, lastID)
}

// campaigns are those that a statement finds, by who is in them.
func campaigns(ctx context.Context, tx *sqldb.Tx, query string, args ...any) (map[string][]string, error) {
	found := map[string][]string{}
	_, err := collect(ctx, tx, "campaigns", func(row *sqldb.Row) (struct{}, error) {
		var id, campaign string
		err := row.Scan(&id, &campaign)
		found[id] = append(found[id], campaign)
		return struct{}{}, err
	}, query, args...)
	return found, err
}

// CampaignsAmong gives the campaigns of some leads or contacts, each by id.
func (Reads) CampaignsAmong(ctx context.Context, tx *sqldb.Tx, tenant, object string, ids []string) (
	map[string][]string, error,
) {
	b := sqldb.Bind(tenant, object)
	query := "SELECT member_id, campaign_id FROM records_member WHERE tenant_id = $1 AND member_type = $2 AND " +
		b.OneOf(tx, "member_id", ids) + in(tx).inOrder("member_id") + ", campaign_id"
	return campaigns(ctx, tx, query, b.Args()...)
}

// MembersAmong says which of some leads or contacts are in a campaign.
func (Reads) MembersAmong(ctx context.Context, tx *sqldb.Tx, tenant, campaign, object string, ids []string) (
	map[string]bool, error,
) {
	return among(ctx, tx, "SELECT member_id FROM records_member WHERE tenant_id = $1 AND campaign_id = $2 AND "+
		"member_type = $3", "member_id", ids, sqldb.Bind(tenant, campaign, object))
}

// LockedAmong says of which of some records an approval is open.
func (Reads) LockedAmong(ctx context.Context, tx *sqldb.Tx, tenant, object string, ids []string) (
	map[string]bool, error,
) {
	return among(ctx, tx, "SELECT DISTINCT record_id FROM records_lock WHERE tenant_id = $1 AND object = $2",
		"record_id", ids, sqldb.Bind(tenant, object))
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
	all, err := collect(ctx, tx, "among", sqldb.Column[string], query, b.Args()...)
	for _, id := range all {
		found[id] = true
	}
	return found, err
}

// Living is what follows FROM in a statement of another service that joins living records
// of an object: the table under an alias, WHERE, and a condition that AND may follow. tenant
// and object are SQL, such as the place of an argument. Of the columns it may name id,
// object, owner_id, account_id, name and fields.
func (Reads) Living(alias, tenant, object string) string {
	return "records_record " + alias + " WHERE " + alias + ".tenant_id = " + tenant +
		" AND " + alias + ".object = " + object + " AND " + alias + ".deleted_at = 0"
}

// Counts is what follows FROM, as in Living, where living records of an object are counted
// by owner: of the columns a statement may name owner_id and n. An owner has one row or
// more, which add up.
func (Reads) Counts(alias, tenant, object string) string {
	return "records_count " + alias + " WHERE " + alias + ".tenant_id = " + tenant + " AND " + alias + ".object = " +
		object
}
