package reporting

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
)

// consumerName is under which the bus keeps what reporting has taken.
const consumerName = "reporting"

// handlers are the events that reporting takes: those that the document lists for it.
var handlers = map[string]func(*Reporting, context.Context, *sqldb.Tx, *wire.Event) error{
	"RecordCreated":           (*Reporting).onRecord,
	"RecordUpdated":           (*Reporting).onRecord,
	"RecordDeleted":           (*Reporting).onRecord,
	"OwnerChanged":            (*Reporting).onRecord,
	"StageChanged":            (*Reporting).onStage,
	"LeadConverted":           (*Reporting).onConverted,
	"ApprovalSubmitted":       (*Reporting).onSubmitted,
	"ApprovalDecided":         (*Reporting).onDecided,
	"MetadataChanged":         (*Reporting).onNothing,
	"SharingUpdated":          (*Reporting).onShare,
	"SharingRebuildCompleted": (*Reporting).onNothing,
	"CampaignMemberChanged":   (*Reporting).onMember,
}

// Types are the events that reporting takes, in the order of the document.
var Types = []string{
	"RecordCreated", "RecordUpdated", "RecordDeleted", "OwnerChanged", "StageChanged", "LeadConverted",
	"ApprovalSubmitted", "ApprovalDecided",
	"MetadataChanged", "SharingUpdated", "SharingRebuildCompleted", "CampaignMemberChanged",
}

// Consumer is reporting as the bus knows it.
func (s *Reporting) Consumer() bus.Consumer {
	return bus.Consumer{Name: consumerName, Stream: wire.Events, Types: Types, Handle: s.handle, HandleAll: s.handleAll}
}

// handle takes an event. Events say that something is different, not what: that is read.
func (s *Reporting) handle(ctx context.Context, tx *sqldb.Tx, e *wire.Event) error {
	on := handlers[e.Type]
	if on == nil {
		return bus.Permanent(fmt.Errorf("reporting takes no events of type %s", e.Type))
	}
	return fault.Wrap("reporting.on", on(s, ctx, tx, e))
}

// handleAll takes events together: the opportunities that they name are counted at once,
// and each once, however many events name it.
func (s *Reporting) handleAll(ctx context.Context, tx *sqldb.Tx, events []*wire.Event) error {
	named := map[string]map[string]wire.Stamp{} // by tenant
	for _, e := range events {
		id, version, err := opportunityIn(e)
		if err != nil {
			return err
		}
		if id == "" {
			if err := s.handle(ctx, tx, e); err != nil {
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
			return fault.Wrap("reporting.on", err)
		}
	}
	return nil
}

// opportunityIn is the opportunity that an event lets be counted again, "" when it is about
// something else, and the version that its fact must have seen; 0: look in any case.
func opportunityIn(e *wire.Event) (id string, version wire.Stamp, err error) {
	switch e.Type {
	case "StageChanged":
		p, err := wire.DecodePayload[wire.StageChanged](e)
		return p.OpportunityID, e.Version, err
	case "RecordCreated", "RecordUpdated", "RecordDeleted", "OwnerChanged", "SharingUpdated":
		p, err := wire.DecodePayload[named](e)
		if err != nil || p.ObjectName != objOpportunity {
			return "", 0, err
		}
		if e.Type == "SharingUpdated" { // its version is not that of the record
			return p.RecordID, 0, nil
		}
		return p.RecordID, e.Version, nil
	}
	return "", 0, nil
}

// named is what the events of a record have in common.
type named struct {
	ObjectName string `json:"objectName"`
	RecordID   string `json:"recordId"`
}

// onRecord counts a record as it is now.
func (s *Reporting) onRecord(ctx context.Context, tx *sqldb.Tx, e *wire.Event) error {
	p, err := wire.DecodePayload[named](e)
	if err != nil {
		return bus.Permanent(err)
	}
	return s.refresh(ctx, tx, e.Tenant, p.ObjectName, p.RecordID, e.Version)
}

// onShare counts a record as it is now: its owner may be another. Who sees it is asked
// with every report.
func (s *Reporting) onShare(ctx context.Context, tx *sqldb.Tx, e *wire.Event) error {
	p, err := wire.DecodePayload[named](e)
	if err != nil {
		return bus.Permanent(err)
	}
	return s.refresh(ctx, tx, e.Tenant, p.ObjectName, p.RecordID, 0)
}

// onStage counts an opportunity as it is now.
func (s *Reporting) onStage(ctx context.Context, tx *sqldb.Tx, e *wire.Event) error {
	p, err := wire.DecodePayload[wire.StageChanged](e)
	if err != nil {
		return bus.Permanent(err)
	}
	return s.refresh(ctx, tx, e.Tenant, objOpportunity, p.OpportunityID, e.Version)
}

// onConverted counts a lead as it is now.
func (s *Reporting) onConverted(ctx context.Context, tx *sqldb.Tx, e *wire.Event) error {
	p, err := wire.DecodePayload[wire.LeadConverted](e)
	if err != nil {
		return bus.Permanent(err)
	}
	return s.refresh(ctx, tx, e.Tenant, objLead, p.LeadID, e.Version)
}

// onMember counts a member of a campaign as it is now.
func (s *Reporting) onMember(ctx context.Context, tx *sqldb.Tx, e *wire.Event) error {
	p, err := wire.DecodePayload[wire.CampaignMemberChanged](e)
	if err != nil {
		return bus.Permanent(err)
	}
	return s.refreshMember(ctx, tx, e.Tenant, p.CampaignID, p.MemberType, p.MemberID)
}

// onNothing takes what changes no count: every report asks for the definitions, and for
// who sees what, in its own transaction, so nothing is kept that could be old.
func (*Reporting) onNothing(context.Context, *sqldb.Tx, *wire.Event) error { return nil }

// onSubmitted notes an approval. Its decision may have come before. Approvals are held, too,
// so that a rebuild does not write what was true before.
func (*Reporting) onSubmitted(ctx context.Context, tx *sqldb.Tx, e *wire.Event) error {
	p, err := wire.DecodePayload[wire.ApprovalSubmitted](e)
	if err != nil {
		return bus.Permanent(err)
	}
	if err := hold(ctx, tx, e.Tenant); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO reporting_approval (tenant_id, id, object, record_id, submitted_by, submitted_at, decision, decided_at)
		VALUES ($1, $2, $3, $4, $5, $6, '', 0)
		ON CONFLICT (tenant_id, id) DO UPDATE SET submitted_by = excluded.submitted_by, submitted_at = excluded.submitted_at`,
		e.Tenant, p.ApprovalInstanceID, p.Target.ObjectName, p.Target.RecordID, p.SubmittedBy, p.SubmittedAt)
	return err
}

// onDecided notes how an approval ended.
func (*Reporting) onDecided(ctx context.Context, tx *sqldb.Tx, e *wire.Event) error {
	p, err := wire.DecodePayload[wire.ApprovalDecided](e)
	if err != nil {
		return bus.Permanent(err)
	}
	if err := hold(ctx, tx, e.Tenant); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO reporting_approval (tenant_id, id, object, record_id, submitted_by, submitted_at, decision, decided_at)
		VALUES ($1, $2, $3, $4, '', 0, $5, $6)
		ON CONFLICT (tenant_id, id) DO UPDATE SET decision = excluded.decision, decided_at = excluded.decided_at`,
		e.Tenant, p.ApprovalInstanceID, p.Target.ObjectName, p.Target.RecordID, p.Decision, p.DecidedAt)
	return err
}
