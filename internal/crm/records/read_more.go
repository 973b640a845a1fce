package records

import (
	"context"
	"errors"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

const (
	readColumns = "SELECT campaign_id, member_type, member_id, status, has_responded"
	// Members of a campaign that is gone and who are yet to be removed count no more.
	notLeaving = ` AND NOT EXISTS (SELECT 1 FROM records_removal x
		WHERE x.tenant_id = $1 AND x.object = '` + objCampaign + `' AND x.record_id = campaign_id)`
	readMember  = readColumns + oneMember + notLeaving
	walkMembers = readColumns + ` FROM records_member
		WHERE tenant_id = $1 AND (campaign_id, member_type, member_id) > ($2, $3, $4)` + notLeaving + `
		ORDER BY campaign_id, member_type, member_id LIMIT $5`
)

func readCampaignMember(row *sqldb.Row) (m model.CampaignMember, err error) {
	return m, row.Scan(&m.CampaignID, &m.MemberType, &m.MemberID, &m.Status, &m.HasResponded)
}

// Member is a member of a campaign; ok says that it is one.
func (Reads) Member(ctx context.Context, tx *sqldb.Tx, tenant, campaign, memberType, member string) (
	m model.CampaignMember, ok bool, err error,
) {
	m, err = readCampaignMember(tx.Row(ctx, readMember, tenant, campaign, memberType, member))
	if errors.Is(err, sqldb.ErrNoRow) {
		return model.CampaignMember{}, false, nil
	}
	return m, err == nil, fault.Wrap("records.member", err)
}

// Members gives the members of all campaigns by campaign, type and id, behind the member
// after; its zero value is the beginning.
func (Reads) Members(ctx context.Context, tx *sqldb.Tx, tenant string, after model.CampaignMember, limit int) (
	all []model.CampaignMember, err error,
) {
	for row, err := range tx.Query(ctx, walkMembers, tenant, after.CampaignID, after.MemberType, after.MemberID,
		min(limit, MaxWalk)) {
		var m model.CampaignMember
		if err == nil {
			m, err = readCampaignMember(row)
		}
		if err != nil {
			return nil, fault.Wrap("records.members", err)
		}
		all = append(all, m)
	}
	return all, nil
}

// Tenants are those that have records, or had some.
func Tenants(ctx context.Context, db *sqldb.DB) (all []string, err error) {
	err = db.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		for last := ""; ; {
			var next string
			err := tx.Row(ctx, "SELECT tenant_id FROM records_record WHERE tenant_id > $1 ORDER BY tenant_id LIMIT 1",
				last).Scan(&next)
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
