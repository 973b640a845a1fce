package automation

import (
	"context"
	"errors"
	"slices"
	"strings"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
)

// The actions that events lead to without a rule.
const (
	tellOwner     = "owner"
	tellStage     = "stage"
	tellConverted = "converted"
	tellResponded = "responded"
	tellApprovers = "approvers"
	tellDecided   = "decided"
	tellRefused   = "refused"
)

// tell puts a note into inboxes because of an event. Who made the change, except, is not
// told of it.
func (s *Automation) tell(ctx context.Context, tx *sqldb.Tx, m *model.Model, t turn, key string, users []string, except,
	message string,
) error {
	users = slices.DeleteFunc(slices.Clone(users), func(u string) bool { return u == except })
	if len(active(m, users)) == 0 {
		return nil
	}
	t.deeds = []deed{{source: SourceEvent, ruleID: SourceEvent, action: &model.Action{
		Key: key, Type: model.Notify,
		Message: message,
	}, users: users}}
	return s.do(ctx, tx, m, &t)
}

// onOwner tells the new owner of a record.
func (s *Automation) onOwner(ctx context.Context, tx *sqldb.Tx, e *wire.Event) error {
	p, err := wire.DecodePayload[wire.OwnerChanged](e)
	if err != nil {
		return bus.Permanent(err)
	}
	return s.tellChange(ctx, tx, e, p.ObjectName, p.RecordID, tellOwner, "A record of "+p.ObjectName+
		" was given to you.")
}

// onStage tells the owner of an opportunity.
func (s *Automation) onStage(ctx context.Context, tx *sqldb.Tx, e *wire.Event) error {
	p, err := wire.DecodePayload[wire.StageChanged](e)
	if err != nil {
		return bus.Permanent(err)
	}
	return s.tellChange(ctx, tx, e, "Opportunity", p.OpportunityID, tellStage,
		"The stage of an opportunity of yours was changed.")
}

// onConverted tells the owner of a lead.
func (s *Automation) onConverted(ctx context.Context, tx *sqldb.Tx, e *wire.Event) error {
	p, err := wire.DecodePayload[wire.LeadConverted](e)
	if err != nil {
		return bus.Permanent(err)
	}
	return s.tellChange(ctx, tx, e, "Lead", p.LeadID, tellConverted, "A lead of yours was converted.")
}

// tellChange tells the owner of a record of a change that somebody else made.
func (s *Automation) tellChange(ctx context.Context, tx *sqldb.Tx, e *wire.Event, object, id, key,
	message string,
) error {
	m, err := s.cfg.Models.Model(ctx, tx, e.Tenant)
	if err != nil {
		return err
	}
	o := m.Object(object)
	if o == nil {
		return nil
	}
	d, by, ok, err := s.cfg.Records.At(ctx, tx, e.Tenant, o, id, e.Version)
	if err != nil || !ok {
		return err
	}
	return s.tell(ctx, tx, m, s.turnOf(e, object, id), key, ownersOf(m, d.OwnerID), by, message)
}

// onMember tells the owner of a lead or a contact that it responded to a campaign.
func (s *Automation) onMember(ctx context.Context, tx *sqldb.Tx, e *wire.Event) error {
	p, err := wire.DecodePayload[wire.CampaignMemberChanged](e)
	if err != nil {
		return bus.Permanent(err)
	}
	if p.ChangeType != "Responded" {
		return nil
	}
	m, err := s.cfg.Models.Model(ctx, tx, e.Tenant)
	if err != nil {
		return err
	}
	r, ok, err := s.cfg.Records.Get(ctx, tx, e.Tenant, p.MemberType, p.MemberID)
	if err != nil || !ok {
		return err
	}
	return s.tell(ctx, tx, m, s.turnOf(e, p.MemberType, p.MemberID), tellResponded, ownersOf(m, r.OwnerID), "",
		"A "+strings.ToLower(p.MemberType)+" of yours responded to a campaign.")
}

// onSubmitted tells those who may decide an approval, and remembers who asked for it.
func (s *Automation) onSubmitted(ctx context.Context, tx *sqldb.Tx, e *wire.Event) error {
	p, err := wire.DecodePayload[wire.ApprovalSubmitted](e)
	if err != nil {
		return bus.Permanent(err)
	}
	if _, err := tx.Exec(ctx,
		`INSERT INTO automation_approval (tenant_id, approval_id, submitted_by, at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (tenant_id, approval_id) DO UPDATE SET submitted_by = excluded.submitted_by`, e.Tenant,
		p.ApprovalInstanceID, p.SubmittedBy, s.now()); err != nil {
		return err
	}
	if s.cfg.Approvers == nil {
		return nil
	}
	m, err := s.cfg.Models.Model(ctx, tx, e.Tenant)
	if err != nil {
		return err
	}
	users, err := s.cfg.Approvers(ctx, tx, e.Tenant, p.ApprovalInstanceID)
	if err != nil {
		return err
	}
	return s.tell(ctx, tx, m, s.turnOf(e, p.Target.ObjectName, p.Target.RecordID), tellApprovers, users, "",
		"An approval waits for your decision.")
}

// onDecided tells who asked for an approval how it ended.
func (s *Automation) onDecided(ctx context.Context, tx *sqldb.Tx, e *wire.Event) error {
	p, err := wire.DecodePayload[wire.ApprovalDecided](e)
	if err != nil {
		return bus.Permanent(err)
	}
	var submitter string
	err = tx.Row(ctx, "DELETE FROM automation_approval WHERE tenant_id = $1 AND approval_id = $2 RETURNING submitted_by", e.Tenant, p.ApprovalInstanceID).Scan(&submitter)
	if errors.Is(err, sqldb.ErrNoRow) {
		return nil
	}
	if err != nil {
		return err
	}
	m, err := s.cfg.Models.Model(ctx, tx, e.Tenant)
	if err != nil {
		return err
	}
	return s.tell(ctx, tx, m, s.turnOf(e, p.Target.ObjectName, p.Target.RecordID), tellDecided, []string{submitter},
		p.DecidedBy,
		"What you submitted for approval was decided: "+strings.ToLower(p.Decision)+".")
}

// OutcomeRefused tells who asked for an approval, and who decided, that the record did not
// take what was decided: both think that it has. Why is not told here, but by the approval,
// to those who may read the fields. It is for core, in the transaction in which it takes the
// event.
func (s *Automation) OutcomeRefused(ctx context.Context, tx *sqldb.Tx, e *wire.Event, o model.Outcome) error {
	m, err := s.cfg.Models.Model(ctx, tx, e.Tenant)
	if err != nil {
		return err
	}
	users := []string{o.SubmittedBy}
	if o.DecidedBy != o.SubmittedBy {
		users = append(users, o.DecidedBy)
	}
	return s.tell(ctx, tx, m, s.turnOf(e, o.Object, o.RecordID), tellRefused, users, "",
		"An approval was decided, and its outcome could not be written into the record: the approval says why.")
}

// ownersOf are the users who own a record: one, or the members of a queue.
func ownersOf(m *model.Model, owner string) []string {
	if m.Group(owner) != nil {
		return m.MembersOf(owner)
	}
	return []string{owner}
}

// active are those of some users who are active, but not the system user: nobody reads its
// inbox. There may be more than an action tells; then it does not look at all of them.
func active(m *model.Model, users []string) (some []string) {
	for _, id := range users {
		if len(some) > MaxTold {
			break
		}
		if u := m.User(id); u != nil && u.IsActive && !m.IsSystem(id) {
			some = append(some, id)
		}
	}
	return some
}
