package automation

import (
	"context"
	"errors"
	"slices"
	"strings"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
)

// notify puts a note about a record into the inboxes of users and of the members of queues,
// because of an event and without a rule, by the action of this key. The user who made the
// change, except, gets none.
func (s *Automation) notify(
	ctx context.Context, tx *sqldb.Tx, e *events.Event, object, id, key string, whom []string, except, message string,
) error {
	m, err := s.cfg.Models.Model(ctx, tx, e.Tenant)
	if err != nil {
		return err
	}
	users := []string{} // not nil, which would be the users that the action names
	for _, one := range whom {
		users = append(users, ownersOf(m, one)...)
	}
	users = active(m, slices.DeleteFunc(users, func(u string) bool { return u == except }))
	if len(users) == 0 {
		return nil
	}
	t := s.turnOf(e, object, id)
	action := &model.Action{Key: key, Type: model.Notify, Message: message}
	t.deeds = []deed{{source: SourceEvent, ruleID: SourceEvent, action: action, users: users}}
	return s.do(ctx, tx, m, &t)
}

// onOwner notifies the new owner of a record.
func (s *Automation) onOwner(ctx context.Context, tx *sqldb.Tx, e *events.Event, p events.OwnerChanged) error {
	return s.notifyOwner(ctx, tx, e, p.ObjectName, p.RecordID, "owner", "A record of "+p.ObjectName+
		" was given to you.")
}

// onStage notifies the owner of an opportunity.
func (s *Automation) onStage(ctx context.Context, tx *sqldb.Tx, e *events.Event, p events.StageChanged) error {
	return s.notifyOwner(ctx, tx, e, "Opportunity", p.OpportunityID, "stage",
		"The stage of an opportunity of yours was changed.")
}

// onConverted notifies the owner of a lead.
func (s *Automation) onConverted(ctx context.Context, tx *sqldb.Tx, e *events.Event, p events.LeadConverted) error {
	return s.notifyOwner(ctx, tx, e, "Lead", p.LeadID, "converted", "A lead of yours was converted.")
}

// notifyOwner notifies the owner of a record of a change that another user made.
func (s *Automation) notifyOwner(
	ctx context.Context, tx *sqldb.Tx, e *events.Event, object, id, key, message string,
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
	return s.notify(ctx, tx, e, object, id, key, []string{d.OwnerID}, by, message)
}

// onMember notifies the owner of a lead or a contact that it responded to a campaign.
func (s *Automation) onMember(
	ctx context.Context,
	tx *sqldb.Tx,
	e *events.Event,
	p events.CampaignMemberChanged,
) error {
	if p.ChangeType != "Responded" {
		return nil
	}
	r, ok, err := s.cfg.Records.Get(ctx, tx, e.Tenant, p.MemberType, p.MemberID)
	if err != nil || !ok {
		return err
	}
	return s.notify(ctx, tx, e, p.MemberType, p.MemberID, "responded", []string{r.OwnerID}, "",
		"A "+strings.ToLower(p.MemberType)+" of yours responded to a campaign.")
}

// onSubmitted notifies the users who may decide an approval, and stores who asked for it.
func (s *Automation) onSubmitted(
	ctx context.Context,
	tx *sqldb.Tx,
	e *events.Event,
	p events.ApprovalSubmitted,
) error {
	if _, err := tx.Exec(ctx,
		`INSERT INTO automation_approval (tenant_id, approval_id, submitted_by, at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (tenant_id, approval_id) DO UPDATE SET submitted_by = excluded.submitted_by`, e.Tenant,
		p.ApprovalInstanceID, p.SubmittedBy, s.now()); err != nil {
		return err
	}
	if s.cfg.Approvers == nil {
		return nil
	}
	users, err := s.cfg.Approvers(ctx, tx, e.Tenant, p.ApprovalInstanceID)
	if err != nil {
		return err
	}
	return s.notify(ctx, tx, e, p.Target.ObjectName, p.Target.RecordID, "approvers", users, "",
		"An approval waits for your decision.")
}

// onDecided notifies the user who asked for an approval of its decision.
func (s *Automation) onDecided(ctx context.Context, tx *sqldb.Tx, e *events.Event, p events.ApprovalDecided) error {
	var submitter string
	err := tx.Row(ctx,
		"DELETE FROM automation_approval WHERE tenant_id = $1 AND approval_id = $2 RETURNING submitted_by", e.Tenant,
		p.ApprovalInstanceID).Scan(&submitter)
	if errors.Is(err, sqldb.ErrNoRow) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.notify(ctx, tx, e, p.Target.ObjectName, p.Target.RecordID, "decided", []string{submitter}, p.DecidedBy,
		"What you submitted for approval was decided: "+strings.ToLower(p.Decision)+".")
}

// OutcomeRefused notifies the user who asked for an approval, and the one who decided, that the
// record refused its outcome: both think that it was written. The approval gives the reason,
// to those who may read the fields. It is for the records, in the transaction that handles the
// event.
func (s *Automation) OutcomeRefused(ctx context.Context, tx *sqldb.Tx, e *events.Event, o model.Outcome) error {
	users := slices.Compact([]string{o.SubmittedBy, o.DecidedBy})
	return s.notify(ctx, tx, e, o.Object, o.RecordID, "refused", users, "",
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
// inbox. Of more users than an action notifies it does not look at all.
func active(m *model.Model, users []string) (some []string) {
	for _, id := range users {
		if len(some) > MaxRecipients {
			break
		}
		if u := m.User(id); u != nil && u.IsActive && !m.IsSystem(id) {
			some = append(some, id)
		}
	}
	return some
}
