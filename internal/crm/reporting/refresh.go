package reporting

import (
	"context"
	"errors"
	"maps"
	"slices"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/sqldb"
)

// refresh counts a record anew. version is that of an event, which a fact that is not older has seen; 0:
// count in any case.
func (s *Reporting) refresh(
	ctx context.Context,
	tx *sqldb.Tx,
	tenant, object, id string,
	version canonical.Stamp,
) error {
	switch object {
	case objOpportunity:
		return s.refreshOpportunities(ctx, tx, tenant, map[string]canonical.Stamp{id: version})
	case objLead:
		return s.refreshLead(ctx, tx, tenant, id, version)
	case objCampaign:
		return s.refreshCampaign(ctx, tx, tenant, id)
	}
	return nil
}

// refreshAll counts records of an object anew in any case.
func (s *Reporting) refreshAll(ctx context.Context, tx *sqldb.Tx, tenant, object string, ids []string) error {
	if object == objOpportunity {
		named := make(map[string]canonical.Stamp, len(ids))
		for _, id := range ids {
			named[id] = 0
		}
		return s.refreshOpportunities(ctx, tx, tenant, named)
	}
	for _, id := range ids {
		if err := s.refresh(ctx, tx, tenant, object, id, 0); err != nil {
			return err
		}
	}
	return nil
}

// living is a record, nil when it does not exist or is deleted.
func (s *Reporting) living(ctx context.Context, tx *sqldb.Tx, tenant, object, id string) (*model.Record, error) {
	r, ok, err := s.cfg.Records.Get(ctx, tx, tenant, object, id)
	if err != nil || !ok || r.Deleted {
		return nil, err
	}
	return &r, nil
}

const (
	opportunityColumns = "version, owner_id, stage, status, category, month, campaign_id, amount, weighted"
	dropOpportunity    = "DELETE FROM reporting_opportunity WHERE tenant_id = $1 AND id = $2"
)

var putOpportunities = sqldb.NewInsert("reporting_opportunity (tenant_id, id, version, owner_id, stage, status, "+
	"category, month, campaign_id, amount, weighted)",
	`ON CONFLICT (tenant_id, id) DO UPDATE SET version = excluded.version, owner_id = excluded.owner_id,
		stage = excluded.stage, status = excluded.status, category = excluded.category, month = excluded.month,
		campaign_id = excluded.campaign_id, amount = excluded.amount, weighted = excluded.weighted`,
	"text", "text", "bigint", "text", "text", "text", "text", "text", "text", "bigint", "bigint")

func scanOpportunity(row *sqldb.Row, more ...any) (*opportunity, error) {
	o := &opportunity{}
	return o, row.Scan(append([]any{
		&o.version, &o.owner, &o.stage, &o.status, &o.category, &o.month, &o.campaign,
		&o.amount, &o.weighted,
	}, more...)...)
}

// refreshOpportunities counts some opportunities anew, together, with the version that the fact of each
// must have seen.
func (s *Reporting) refreshOpportunities(
	ctx context.Context, tx *sqldb.Tx, tenant string, named map[string]canonical.Stamp,
) error {
	if err := hold(ctx, tx, tenant); err != nil {
		return err
	}
	ids := slices.Sorted(maps.Keys(named))
	before, err := opportunities(ctx, tx, tenant, ids)
	if err != nil {
		return err
	}
	ids = slices.DeleteFunc(ids, func(id string) bool {
		was := before[id]
		return was != nil && named[id] != 0 && was.version >= named[id]
	})
	records, err := s.cfg.Records.Some(ctx, tx, tenant, objOpportunity, ids)
	if err != nil {
		return err
	}
	d := deltas{}
	var drops []sqldb.Stmt
	var facts []any
	var others []string
	for _, id := range ids {
		was := before[id]
		r, ok := records[id]
		var now *opportunity
		if ok && !r.Deleted {
			now = opportunityOf(&r)
		}
		if was == now || was != nil && now != nil && *was == *now {
			continue
		}
		others = append(others, id)
		if was != nil {
			was.counted(d, -1)
		}
		if now == nil {
			drops = append(drops, sqldb.Stmt{Query: dropOpportunity, Args: []any{tenant, id}})
			continue
		}
		now.counted(d, 1)
		facts = append(facts, tenant, id, now.version, now.owner, now.stage, now.status, now.category, now.month,
			now.campaign, now.amount, now.weighted)
	}
	if len(others) == 0 {
		return nil
	}
	notes, err := changed(tenant, others)
	if err != nil {
		return err
	}
	stmts := append(d.statements(tx, tenant), putOpportunities.Stmts(tx, facts)...)
	for some := range slices.Chunk(slices.Concat(stmts, drops, notes), maxBatch) {
		if err := tx.Batch(ctx, some...); err != nil {
			return err
		}
	}
	return nil
}

// maxBatch is how many statements are sent at once.
const maxBatch = 500

// opportunities are the facts of some opportunities.
func opportunities(ctx context.Context, tx *sqldb.Tx, tenant string, ids []string) (map[string]*opportunity, error) {
	var b sqldb.Binds
	b.Add(tenant)
	and := " AND " + b.OneOf(tx, "id", ids)
	return opportunityFacts.read(ctx, tx, and, b.Args()...)
}

const (
	leadColumns = "version, owner_id, source, month, converted"
	selectLead  = "SELECT " + leadColumns + " FROM reporting_lead WHERE tenant_id = $1 AND id = $2"
	putLead     = `INSERT INTO reporting_lead (tenant_id, id, version, owner_id, source, month, converted)
		VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (tenant_id, id) DO UPDATE SET version = excluded.version,
			owner_id = excluded.owner_id, source = excluded.source, month = excluded.month,
			converted = excluded.converted`
	dropLead = "DELETE FROM reporting_lead WHERE tenant_id = $1 AND id = $2"
)

func scanLead(row *sqldb.Row, more ...any) (*lead, error) {
	l := &lead{}
	return l, row.Scan(append([]any{&l.version, &l.owner, &l.source, &l.month, &l.converted}, more...)...)
}

// refreshLead counts a lead, also in the campaigns that it is in.
func (s *Reporting) refreshLead(ctx context.Context, tx *sqldb.Tx, tenant, id string, version canonical.Stamp) error {
	if err := hold(ctx, tx, tenant); err != nil {
		return err
	}
	was, err := scanLead(tx.Row(ctx, selectLead, tenant, id))
	switch {
	case errors.Is(err, sqldb.ErrNoRow):
		was = nil
	case err != nil:
		return err
	case version != 0 && was.version >= version:
		return nil
	}
	r, err := s.living(ctx, tx, tenant, objLead, id)
	if err != nil || r == nil && was == nil {
		return err
	}
	d, now := deltas{}, &lead{}
	if was != nil {
		was.counted(d, -1)
	}
	stmts := []sqldb.Stmt{{Query: dropLead, Args: []any{tenant, id}}}
	if r != nil {
		now = leadOf(r)
		now.counted(d, 1)
		stmts[0] = sqldb.Stmt{Query: putLead, Args: []any{
			tenant, id, now.version, now.owner, now.source, now.month,
			now.converted,
		}}
	}
	in, err := members(ctx, tx, " AND member_type = $2 AND member_id = $3 ORDER BY campaign_id", tenant, objLead, id)
	if err != nil {
		return err
	}
	for i := range in {
		m := &in[i]
		if m.owner == now.owner && m.converted == now.converted {
			continue
		}
		m.counted(d, -1)
		m.owner, m.converted = now.owner, now.converted
		m.counted(d, 1)
		stmts = append(stmts, m.put(tenant))
	}
	return tx.Batch(ctx, append(d.statements(tx, tenant), stmts...)...)
}

const (
	memberColumns = "campaign_id, member_type, member_id, responded, owner_id, converted"
	putMember     = `INSERT INTO reporting_member (tenant_id, campaign_id, member_type, member_id, responded, owner_id,
			converted) VALUES ($1, $2, $3, $4, $5, $6, $7)
		ON CONFLICT (tenant_id, campaign_id, member_type, member_id) DO UPDATE SET responded = excluded.responded,
			owner_id = excluded.owner_id, converted = excluded.converted`
	andMember   = " AND campaign_id = $2 AND member_type = $3 AND member_id = $4"
	dropMember  = "DELETE FROM reporting_member WHERE tenant_id = $1" + andMember
	dropMembers = "DELETE FROM reporting_member WHERE tenant_id = $1 AND campaign_id = $2"
)

func (m *member) put(tenant string) sqldb.Stmt {
	return sqldb.Stmt{Query: putMember, Args: []any{
		tenant, m.campaign, m.kind, m.id, m.responded, m.owner,
		m.converted,
	}}
}

// members are those of a tenant ($1); and is more of the condition.
func members(ctx context.Context, tx *sqldb.Tx, and string, args ...any) ([]member, error) {
	return sqldb.Collect(ctx, tx, func(row *sqldb.Row) (m member, err error) {
		err = row.Scan(&m.campaign, &m.kind, &m.id, &m.responded, &m.owner, &m.converted)
		return m, err
	}, "SELECT "+memberColumns+" FROM reporting_member WHERE tenant_id = $1"+and, args...)
}

// refreshMember counts a member of a campaign.
func (s *Reporting) refreshMember(ctx context.Context, tx *sqldb.Tx, tenant, campaign, kind, id string) error {
	if err := hold(ctx, tx, tenant); err != nil {
		return err
	}
	was, err := members(ctx, tx, andMember, tenant, campaign, kind, id)
	if err != nil {
		return err
	}
	found, ok, err := s.cfg.Records.Member(ctx, tx, tenant, campaign, kind, id)
	if err != nil {
		return err
	}
	d := deltas{}
	for i := range was {
		was[i].counted(d, -1)
	}
	if !ok {
		return tx.Batch(ctx, append(d.statements(tx, tenant), sqldb.Stmt{
			Query: dropMember,
			Args:  []any{tenant, campaign, kind, id},
		})...)
	}
	l, err := s.leadOfMember(ctx, tx, tenant, &found)
	if err != nil {
		return err
	}
	m := memberOf(&found, l)
	m.counted(d, 1)
	return tx.Batch(ctx, append(d.statements(tx, tenant), m.put(tenant))...)
}

// leadOfMember is the lead that a member is, nil of a contact.
func (s *Reporting) leadOfMember(ctx context.Context, tx *sqldb.Tx, tenant string, m *model.CampaignMember) (
	*lead, error,
) {
	if m.MemberType != objLead {
		return nil, nil
	}
	r, err := s.living(ctx, tx, tenant, objLead, m.MemberID)
	if err != nil || r == nil {
		return nil, err
	}
	return leadOf(r), nil
}

// refreshCampaign removes the members of a deleted campaign from the counts. Each has an event, too, but
// many of these come later.
func (s *Reporting) refreshCampaign(ctx context.Context, tx *sqldb.Tx, tenant, id string) error {
	r, err := s.living(ctx, tx, tenant, objCampaign, id)
	if err != nil || r != nil {
		return err
	}
	if err := hold(ctx, tx, tenant); err != nil {
		return err
	}
	gone, err := members(ctx, tx, " AND campaign_id = $2", tenant, id)
	if err != nil || len(gone) == 0 {
		return err
	}
	d := deltas{}
	for i := range gone {
		gone[i].counted(d, -1)
	}
	return tx.Batch(ctx, append(d.statements(tx, tenant), sqldb.Stmt{
		Query: dropMembers,
		Args:  []any{tenant, id},
	})...)
}
