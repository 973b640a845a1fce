package reporting

import (
	"context"

	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
)

// Consumer handles the events that the document lists for reporting, in its order. Events say that
// something has changed; the current state is read. Definitions, and who sees what, are read by
// every report in its own transaction.
func (s *Reporting) Consumer() bus.Consumer {
	c := kit.Consumer(service,
		kit.Handler{Type: "RecordCreated", Handle: s.onRecord},
		kit.Handler{Type: "RecordUpdated", Handle: s.onRecord},
		kit.Handler{Type: "RecordDeleted", Handle: s.onRecord},
		kit.Handler{Type: "OwnerChanged", Handle: s.onRecord},
		kit.Handler{Type: "StageChanged", Handle: s.onRecord},
		kit.Handler{Type: "LeadConverted", Handle: s.onRecord},
		kit.On("ApprovalSubmitted", onSubmitted),
		kit.On("ApprovalDecided", onDecided),
		kit.Ignore("MetadataChanged"),
		kit.Handler{Type: "SharingUpdated", Handle: s.onRecord},
		kit.Ignore("SharingRebuildCompleted"),
		kit.On("CampaignMemberChanged", s.onMember),
	)
	// The opportunities that events name are counted together, and each once.
	c.HandleAll = kit.HandleGroups(c.Handle, opportunityIn,
		func(ctx context.Context, tx *sqldb.Tx, g *kit.Group[mention]) error {
			named := map[string]canonical.Stamp{}
			for _, n := range g.Named {
				if before, ok := named[n.id]; !ok || before != 0 && (n.version == 0 || n.version > before) {
					named[n.id] = n.version
				}
			}
			return s.Wrap("on", s.refreshOpportunities(ctx, tx, g.Tenant, named))
		})
	return c
}

// opportunityIn is the opportunity that an event concerns; ok is false when it concerns something else.
func opportunityIn(e *events.Event) (object string, named mention, ok bool, err error) {
	object, named, err = recordIn(e)
	return object, named, object == objOpportunity, err
}

// mention is a record, and the version of it that an event has seen; 0: the event has another version.
type mention struct {
	id      string
	version canonical.Stamp
}

// recordIn is the record that an event concerns, of the object "" when it concerns something else.
func recordIn(e *events.Event) (object string, named mention, err error) {
	switch e.Type {
	case "StageChanged":
		p, err := events.DecodePayload[events.StageChanged](e)
		return objOpportunity, mention{p.OpportunityID, e.Version}, err
	case "LeadConverted":
		p, err := events.DecodePayload[events.LeadConverted](e)
		return objLead, mention{p.LeadID, e.Version}, err
	case "RecordCreated", "RecordUpdated", "RecordDeleted", "OwnerChanged", "SharingUpdated":
		p, err := events.DecodePayload[kit.Record](e)
		named = mention{p.RecordID, e.Version}
		if e.Type == "SharingUpdated" {
			named.version = 0
		}
		return p.ObjectName, named, err
	}
	return "", mention{}, nil
}

// onRecord counts the record that an event concerns.
func (s *Reporting) onRecord(ctx context.Context, tx *sqldb.Tx, e *events.Event) error {
	object, named, err := recordIn(e)
	if err != nil {
		return bus.Permanent(err)
	}
	return s.refresh(ctx, tx, e.Tenant, object, named.id, named.version)
}

func (s *Reporting) onMember(ctx context.Context, tx *sqldb.Tx, e *events.Event, p events.CampaignMemberChanged) error {
	return s.refreshMember(ctx, tx, e.Tenant, p.CampaignID, p.MemberType, p.MemberID)
}

const (
	approvalColumns = "id, object, record_id, submitted_by, submitted_at, decision, decided_at"
	insertApproval  = "INSERT INTO reporting_approval (tenant_id, " + approvalColumns + `)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (tenant_id, id) DO UPDATE SET `
	setSubmitted = "submitted_by = excluded.submitted_by, submitted_at = excluded.submitted_at"
	setDecided   = "decision = excluded.decision, decided_at = excluded.decided_at"
	putSubmitted = insertApproval + setSubmitted
	putDecided   = insertApproval + setDecided
	putApproval  = insertApproval + "object = excluded.object, record_id = excluded.record_id, " + setSubmitted + ", " +
		setDecided
)

// onSubmitted stores an approval, whose decision may have come before. The tenant is locked, so that a
// rebuild does not write what was true before.
func onSubmitted(ctx context.Context, tx *sqldb.Tx, e *events.Event, p events.ApprovalSubmitted) error {
	if err := hold(ctx, tx, e.Tenant); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, putSubmitted, e.Tenant, p.ApprovalInstanceID, p.Target.ObjectName, p.Target.RecordID,
		p.SubmittedBy, p.SubmittedAt, "", 0)
	return err
}

// onDecided stores how an approval ended.
func onDecided(ctx context.Context, tx *sqldb.Tx, e *events.Event, p events.ApprovalDecided) error {
	if err := hold(ctx, tx, e.Tenant); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, putDecided, e.Tenant, p.ApprovalInstanceID, p.Target.ObjectName, p.Target.RecordID, "", 0,
		p.Decision, p.DecidedAt)
	return err
}
