package search

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

// consumerName is under which the bus keeps what search has taken.
const consumerName = "search"

// handlers are the events that search takes: those that the document lists for it.
var handlers = map[string]func(*Search, context.Context, *sqldb.Tx, *wire.Event) error{
	"RecordCreated":           (*Search).onRecord,
	"RecordUpdated":           (*Search).onRecord,
	"RecordDeleted":           (*Search).onRecord,
	"StageChanged":            (*Search).onStage,
	"LeadConverted":           (*Search).onConverted,
	"ApprovalSubmitted":       (*Search).onRead,
	"MetadataChanged":         (*Search).onMetadata,
	"SharingUpdated":          (*Search).onRead,
	"SharingRebuildCompleted": (*Search).onRead,
	"CampaignMemberChanged":   (*Search).onMember,
}

// Types are the events that search takes, in the order of the document.
var Types = []string{
	"RecordCreated", "RecordUpdated", "RecordDeleted", "StageChanged", "LeadConverted", "ApprovalSubmitted",
	"MetadataChanged",
	"SharingUpdated", "SharingRebuildCompleted", "CampaignMemberChanged",
}

// Consumer is search as the bus knows it.
func (s *Search) Consumer() bus.Consumer {
	return bus.Consumer{Name: consumerName, Stream: wire.Events, Types: Types, Handle: s.handle, HandleAll: s.handleAll}
}

// handle takes an event. Events say that something is different, not what: that is read.
func (s *Search) handle(ctx context.Context, tx *sqldb.Tx, e *wire.Event) error {
	on := handlers[e.Type]
	if on == nil {
		return bus.Permanent(fmt.Errorf("search takes no events of type %s", e.Type))
	}
	return fault.Wrap("search.on", on(s, ctx, tx, e))
}

// handleAll takes events together: the records that they name are brought up to date at
// once, and each once, however many events name it.
func (s *Search) handleAll(ctx context.Context, tx *sqldb.Tx, events []*wire.Event) error {
	named := map[[2]string][]string{} // by tenant and object
	for _, e := range events {
		object, id, err := recordIn(e)
		if err != nil {
			return err
		}
		if id != "" {
			of := [2]string{e.Tenant, object}
			named[of] = append(named[of], id)
		} else if err := s.handle(ctx, tx, e); err != nil {
			return err
		}
	}
	for _, of := range slices.SortedFunc(maps.Keys(named), func(a, b [2]string) int {
		return slices.Compare(a[:],
			b[:])
	}) {
		ids := named[of]
		slices.Sort(ids)
		if err := s.refresh(ctx, tx, of[0], of[1], slices.Compact(ids)...); err != nil {
			return fault.Wrap("search.on", err)
		}
	}
	return nil
}

// recordIn is the one record that an event lets be brought up to date, none when there is
// more to it.
func recordIn(e *wire.Event) (object, id string, err error) {
	switch e.Type {
	case "RecordCreated", "RecordUpdated", "RecordDeleted":
		p, err := wire.DecodePayload[named](e)
		return p.ObjectName, p.RecordID, err
	case "StageChanged":
		p, err := wire.DecodePayload[wire.StageChanged](e)
		return "Opportunity", p.OpportunityID, err
	case "CampaignMemberChanged":
		p, err := wire.DecodePayload[wire.CampaignMemberChanged](e)
		return p.MemberType, p.MemberID, err
	}
	return "", "", nil
}

// named is what the events of a record have in common.
type named struct {
	ObjectName string `json:"objectName"`
	RecordID   string `json:"recordId"`
}

// onRecord brings the index up to date with a record.
func (s *Search) onRecord(ctx context.Context, tx *sqldb.Tx, e *wire.Event) error {
	p, err := wire.DecodePayload[named](e)
	if err != nil {
		return bus.Permanent(err)
	}
	return s.refresh(ctx, tx, e.Tenant, p.ObjectName, p.RecordID)
}

// onStage does so with an opportunity whose stage is another: it is found by it.
func (s *Search) onStage(ctx context.Context, tx *sqldb.Tx, e *wire.Event) error {
	p, err := wire.DecodePayload[wire.StageChanged](e)
	if err != nil {
		return bus.Permanent(err)
	}
	return s.refresh(ctx, tx, e.Tenant, "Opportunity", p.OpportunityID)
}

// onConverted hides a lead and brings up to date what became of it.
func (s *Search) onConverted(ctx context.Context, tx *sqldb.Tx, e *wire.Event) error {
	p, err := wire.DecodePayload[wire.LeadConverted](e)
	if err != nil {
		return bus.Permanent(err)
	}
	for _, of := range [][2]string{
		{leadObject, p.LeadID},
		{"Account", p.AccountID},
		{"Contact", p.ContactID},
		{"Opportunity", string(p.OpportunityID)},
	} {
		if of[1] == "" {
			continue
		}
		if err := s.refresh(ctx, tx, e.Tenant, of[0], of[1]); err != nil {
			return err
		}
	}
	return nil
}

// onMember brings up to date which campaigns a lead or a contact is found in.
func (s *Search) onMember(ctx context.Context, tx *sqldb.Tx, e *wire.Event) error {
	p, err := wire.DecodePayload[wire.CampaignMemberChanged](e)
	if err != nil {
		return bus.Permanent(err)
	}
	return s.refresh(ctx, tx, e.Tenant, p.MemberType, p.MemberID)
}

// onMetadata rebuilds the index of an object when its records are to be found by other
// fields.
func (s *Search) onMetadata(ctx context.Context, tx *sqldb.Tx, e *wire.Event) error {
	p, err := wire.DecodePayload[named](e)
	if err != nil {
		return bus.Permanent(err)
	}
	return s.redefine(ctx, tx, e.Tenant, p.ObjectName)
}

// onRead takes events about what search does not keep: whether somebody sees a record, and
// whether an approval of it is open, is read by every search in its own transaction.
func (s *Search) onRead(context.Context, *sqldb.Tx, *wire.Event) error { return nil }
