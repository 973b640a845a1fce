package records

import (
	"context"
	"errors"
	"strings"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// Member is a lead or a contact in a campaign.
type Member struct {
	MemberType   string          `json:"memberType"` // Lead, Contact
	MemberID     string          `json:"memberId"`
	Status       string          `json:"status"`
	HasResponded bool            `json:"hasResponded"`
	AddedAt      canonical.Stamp `json:"addedAt"`
	UpdatedAt    canonical.Stamp `json:"updatedAt"`
}

// maxStatus is how long the status of a member may be, in characters.
const maxStatus = 40

// defaultStatus is the status of a new member for whom none is named.
const defaultStatus = "Sent"

const (
	memberColumns = "member_type, member_id, status, has_responded, added_at, updated_at"
	oneMember     = " FROM records_member WHERE tenant_id = $1 AND campaign_id = $2 AND member_type = $3 AND " +
		"member_id = $4"
)

func scanMember(row *sqldb.Row) (m Member, err error) {
	return m, row.Scan(&m.MemberType, &m.MemberID, &m.Status, &m.HasResponded, &m.AddedAt, &m.UpdatedAt)
}

// Members is a page of those members of a campaign that the caller sees, by type and id, and
// how many there are on all pages.
func (s *Records) Members(ctx context.Context, c Caller, campaign string, offset, limit int) (
	page []Member, total int, err error,
) {
	err = s.Read(ctx, "members", s.as(c, func(ctx context.Context, w *session) error {
		page = []Member{}
		r, err := w.campaign(ctx, campaign, model.ReadOp, loose)
		if err != nil {
			return err
		}
		b := sqldb.Bind(c.Tenant, r.ID)
		seen, err := w.seenMembers(ctx, b)
		if err != nil || seen == "" {
			return err
		}
		from := " FROM records_member m WHERE m.tenant_id = $1 AND m.campaign_id = $2 AND (" + seen + ")"
		if err := w.Tx.Row(ctx, "SELECT count(*)"+from, b.Args()...).Scan(&total); err != nil {
			return err
		}
		query := "SELECT " + memberColumns + from + " ORDER BY m.member_type, m.member_id LIMIT " + b.Add(limit) +
			" OFFSET " + b.Add(offset)
		found, err := sqldb.Collect(ctx, w.Tx, scanMember, query, b.Args()...)
		page = append(page, found...)
		return err
	}))
	return page, total, err
}

// seenMembers is the condition of members of a campaign that the caller sees; "" when it may
// read none of their objects.
func (w *session) seenMembers(ctx context.Context, b *sqldb.Binds) (string, error) {
	var seen []string
	for _, object := range []string{objContact, objLead} {
		if !w.Model.Can(w.User, object, model.ReadOp) {
			continue
		}
		where, err := w.visible(ctx, object, b)
		if err != nil {
			return "", err
		}
		seen = append(seen, "m.member_type = "+b.Add(object)+
			" AND EXISTS (SELECT 1 FROM records_record r WHERE "+where+" AND r.id = m.member_id)")
	}
	return strings.Join(seen, " OR "), nil
}

// campaign is a campaign that the caller sees; to change its members, it must be able to
// edit it.
func (w *session) campaign(ctx context.Context, id string, op model.Op, how hold) (*row, error) {
	if _, err := w.viewOf(objCampaign, op); err != nil {
		return nil, err
	}
	return w.getFor(ctx, op, objCampaign, id, how)
}

// MemberDraft is what a caller says of a member; nil stays as it is.
type MemberDraft struct {
	Status       *string
	HasResponded *bool
}

// PutMember puts a lead or a contact into a campaign, or changes what is known of it there;
// created says that it was not in it.
func (s *Records) PutMember(ctx context.Context, c Caller, campaign, memberType, member string, d MemberDraft) (
	m Member, created bool, err error,
) {
	err = s.Write(ctx, "members.put", s.as(c, func(ctx context.Context, w *session) error {
		m, created, err = w.putMember(ctx, campaign, memberType, strings.ToLower(member), d)
		return err
	}))
	return m, created, err
}

func (w *session) putMember(ctx context.Context, campaign, memberType, member string, d MemberDraft) (
	m Member, created bool, err error,
) {
	r, err := w.withMembers(ctx, campaign, memberType)
	if err != nil {
		return m, false, err
	}
	if _, err := w.get(ctx, memberType, member, named); err != nil {
		return m, false, err
	}
	was, err := scanMember(w.Tx.Row(ctx, "SELECT "+memberColumns+oneMember, w.Caller.Tenant, r.ID, memberType, member))
	if created = errors.Is(err, sqldb.ErrNoRow); err != nil && !created {
		return m, false, err
	}
	if created {
		was = Member{MemberType: memberType, MemberID: member, Status: defaultStatus, AddedAt: w.now, UpdatedAt: w.now}
	}
	m = was
	if err := d.over(&m); err != nil {
		return m, false, err
	}
	changes := memberChanges(created, &was, &m)
	if len(changes) == 0 {
		return m, false, nil
	}
	m.UpdatedAt = w.now
	_, err = w.Tx.Exec(ctx, "INSERT INTO records_member (tenant_id, campaign_id, "+memberColumns+`)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (tenant_id, campaign_id, member_type, member_id) DO UPDATE
		SET status = excluded.status, has_responded = excluded.has_responded, updated_at = excluded.updated_at`,
		w.Caller.Tenant, r.ID, memberType, member, m.Status, m.HasResponded, m.AddedAt, m.UpdatedAt)
	if err != nil {
		return m, false, err
	}
	return m, created, w.publishMember(ctx, &r.Record, &m, changes...)
}

// withMembers is a campaign whose members of a type the caller may change: it edits the
// campaign and reads their object.
func (w *session) withMembers(ctx context.Context, campaign, memberType string) (*row, error) {
	if memberType != objLead && memberType != objContact {
		return nil, fault.New(fault.NotFound, CodeObjectUnknown,
			"members of a campaign are of type Lead or Contact, not %q", memberType)
	}
	r, err := w.campaign(ctx, campaign, model.UpdateOp, changing)
	if err != nil {
		return nil, err
	}
	_, err = w.viewOf(memberType, model.ReadOp)
	return r, err
}

// over puts a draft over a member.
func (d *MemberDraft) over(m *Member) error {
	if d.Status != nil {
		f := model.Field{Name: "status", Type: model.Text, MaxLength: maxStatus}
		status := canonical.NFC(*d.Status)
		if status == "" {
			return unfit(&f, "must have 1 to %d characters", maxStatus)
		}
		if err := f.CheckText(status); err != nil {
			return unfit(&f, "%v", err)
		}
		m.Status = status
	}
	if d.HasResponded != nil {
		m.HasResponded = *d.HasResponded
	}
	return nil
}

// memberChanges are the changes of a member that are published, in order.
func memberChanges(created bool, was, now *Member) (changes []string) {
	if created {
		return []string{memberAdded}
	}
	if was.Status != now.Status {
		changes = append(changes, statusChanged)
	}
	switch {
	case now.HasResponded && !was.HasResponded:
		changes = append(changes, responded)
	case was.HasResponded && !now.HasResponded:
		changes = append(changes, memberUpdated)
	}
	return changes
}

// publishMember gives the campaign a new version and publishes what changed about a member
// with it.
func (w *session) publishMember(ctx context.Context, campaign *model.Record, m *Member, changes ...string) error {
	next := *campaign
	next.Version = canonical.NextStamp(campaign.Version, w.now)
	payloads := make([]events.Payload, len(changes))
	for i, change := range changes {
		payloads[i] = w.memberEvent(&next, change, m)
	}
	return w.bump(ctx, &next, payloads...)
}

// memberEvent is the event about a member of a campaign, in the version of the campaign.
func (w *session) memberEvent(campaign *model.Record, change string, m *Member) events.Payload {
	name := campaign.Name
	if w.Model.Sensitive(objCampaign, "Name") {
		name = ""
	}
	return events.CampaignMemberChanged{
		ChangeType: change, CampaignID: campaign.ID, CampaignName: name, MemberType: m.MemberType, MemberID: m.MemberID,
		MemberStatus: m.Status, HasResponded: m.HasResponded, RecordVersion: campaign.Version,
	}
}

// RemoveMember takes a lead or a contact out of a campaign. What is not in it, or not to be
// seen by the caller, is not found.
func (s *Records) RemoveMember(ctx context.Context, c Caller, campaign, memberType, member string) error {
	return s.Write(ctx, "members.remove", s.as(c, func(ctx context.Context, w *session) error {
		r, err := w.withMembers(ctx, campaign, memberType)
		if err != nil {
			return err
		}
		var m Member
		if _, err = w.get(ctx, memberType, member, loose); err == nil {
			m, err = scanMember(w.Tx.Row(ctx, "DELETE"+oneMember+" RETURNING "+memberColumns, c.Tenant, r.ID,
				memberType, strings.ToLower(member)))
		}
		if errors.Is(err, sqldb.ErrNoRow) || fault.KindOf(err) == fault.NotFound {
			return fault.New(fault.NotFound, "CAMPAIGN_MEMBER_NOT_FOUND", "the %s %q is not a member of the campaign",
				memberType, member)
		}
		if err != nil {
			return err
		}
		return w.publishMember(ctx, &r.Record, &m, memberRemoved)
	}))
}
