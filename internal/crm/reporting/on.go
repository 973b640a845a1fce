package reporting

import (
	"context"
	"maps"
	"slices"

	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
)

// Consumer handles the events that the document lists for reporting, in its order. Events say that
// something has changed; the current state is read. Definitions, and who sees what, are read by
// every report in its own transaction.
func (s *Reporting) Consumer() bus.Consumer {
	c := kit.Consumer(service,
		kit.On("RecordCreated", s.onRecord),
		kit.On("RecordUpdated", s.onRecord),
		kit.On("RecordDeleted", s.onRecord),
		kit.On("OwnerChanged", s.onRecord),
		kit.On("StageChanged", s.onStage),
		kit.On("LeadConverted", s.onConverted),
		kit.On("ApprovalSubmitted", onSubmitted),
		kit.On("ApprovalDecided", onDecided),
		kit.Ignore("MetadataChanged"),
		kit.On("SharingUpdated", s.onRecord),
		kit.Ignore("SharingRebuildCompleted"),
		kit.On("CampaignMemberChanged", s.onMember),
	)
	// The opportunities that events name are counted together, and each once.
	c.HandleAll = func(ctx context.Context, tx *sqldb.Tx, events []*wire.Event) error {
		named := map[string]map[string]wire.Stamp{} // by tenant
		for _, e := range events {
			id, version, err := opportunityIn(e)
			if err != nil {
				return err
			}
			if id == "" {
				if err := c.Handle(ctx, tx, e); err != nil {
					return err
				}
				continue
			}
			if named[e.Tenant] == nil {
				named[e.Tenant] = map[string]wire.Stamp{}
			}
			if before, ok := named[e.Tenant][id]; ok && (before == 0 || version != 0 && version < before) {
				version = before
			}
			named[e.Tenant][id] = version
		}
		for _, tenant := range slices.Sorted(maps.Keys(named)) {
			if err := s.refreshOpportunities(ctx, tx, tenant, named[tenant]); err != nil {
				return s.Wrap("on", err)
			}
		}
		return nil
	}
	return c
}

// opportunityIn is the opportunity that an event concerns, "" when it concerns something else, and the
// version that its fact must have seen.
func opportunityIn(e *wire.Event) (id string, version wire.Stamp, err error) {
	switch e.Type {
	case "StageChanged":
		p, err := wire.DecodePayload[wire.StageChanged](e)
		return p.OpportunityID, e.Version, err
	case "RecordCreated", "RecordUpdated", "RecordDeleted", "OwnerChanged", "SharingUpdated":
		p, err := wire.DecodePayload[kit.Record](e)
		if err != nil || p.ObjectName != objOpportunity {
			return "", 0, err
		}
		return p.RecordID, recordVersion(e), nil
	}
	return "", 0, nil
}

// recordVersion is the version of the record that an event has seen; 0: the event has another version.
func recordVersion(e *wire.Event) wire.Stamp {
	if e.Type == "SharingUpdated" {
		return 0
	}
	return e.Version
}

func (s *Reporting) onRecord(ctx context.Context, tx *sqldb.Tx, e *wire.Event, p kit.Record) error {
	return s.refresh(ctx, tx, e.Tenant, p.ObjectName, p.RecordID, recordVersion(e))
}

func (s *Reporting) onStage(ctx context.Context, tx *sqldb.Tx, e *wire.Event, p wire.StageChanged) error {
	return s.refresh(ctx, tx, e.Tenant, objOpportunity, p.OpportunityID, e.Version)
}

func (s *Reporting) onConverted(ctx context.Context, tx *sqldb.Tx, e *wire.Event, p wire.LeadConverted) error {
	return s.refresh(ctx, tx, e.Tenant, objLead, p.LeadID, e.Version)
}

func (s *Reporting) onMember(ctx context.Context, tx *sqldb.Tx, e *wire.Event, p wire.CampaignMemberChanged) error {
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
func onSubmitted(ctx context.Context, tx *sqldb.Tx, e *wire.Event, p wire.ApprovalSubmitted) error {
	if err := hold(ctx, tx, e.Tenant); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, putSubmitted, e.Tenant, p.ApprovalInstanceID, p.Target.ObjectName, p.Target.RecordID,
		p.SubmittedBy, p.SubmittedAt, "", 0)
	return err
}

// onDecided stores how an approval ended.
func onDecided(ctx context.Context, tx *sqldb.Tx, e *wire.Event, p wire.ApprovalDecided) error {
	if err := hold(ctx, tx, e.Tenant); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, putDecided, e.Tenant, p.ApprovalInstanceID, p.Target.ObjectName, p.Target.RecordID, "", 0,
		p.Decision, p.DecidedAt)
	return err
}
