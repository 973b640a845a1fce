package search

import (
	"context"
	"slices"

	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
)

// Consumer handles the events that the document lists for search, in its order. Events say that
// something has changed; the current state is read. Who sees a record, and whether an approval of it is
// open, is not in the index but read by every search.
func (s *Search) Consumer() bus.Consumer {
	c := kit.Consumer(service,
		kit.Handler{Type: "RecordCreated", Handle: s.onRecord},
		kit.Handler{Type: "RecordUpdated", Handle: s.onRecord},
		kit.Handler{Type: "RecordDeleted", Handle: s.onRecord},
		kit.Handler{Type: "StageChanged", Handle: s.onRecord}, // an opportunity is found by its stage
		kit.On("LeadConverted", s.onConverted),
		kit.Ignore("ApprovalSubmitted"),
		kit.On("MetadataChanged", s.onMetadata),
		kit.Ignore("SharingUpdated"),
		kit.Ignore("SharingRebuildCompleted"),
		kit.Handler{Type: "CampaignMemberChanged", Handle: s.onRecord}, // whose campaigns are indexed
	)
	// Records that several events name are indexed together, and once.
	c.HandleAll = kit.HandleGroups(c.Handle, recordIn,
		func(ctx context.Context, tx *sqldb.Tx, g *kit.Group[string]) error {
			slices.Sort(g.Named)
			return s.Wrap("on", s.refresh(ctx, tx, g.Tenant, g.Object, slices.Compact(g.Named)...))
		})
	return c
}

// recordIn is the one record that an event affects; ok is false when the event affects more.
func recordIn(e *events.Event) (object, id string, ok bool, err error) {
	switch e.Type {
	case "RecordCreated", "RecordUpdated", "RecordDeleted":
		p, err := events.DecodePayload[kit.Record](e)
		return p.ObjectName, p.RecordID, true, err
	case "StageChanged":
		p, err := events.DecodePayload[events.StageChanged](e)
		return "Opportunity", p.OpportunityID, true, err
	case "CampaignMemberChanged":
		p, err := events.DecodePayload[events.CampaignMemberChanged](e)
		return p.MemberType, p.MemberID, true, err
	}
	return "", "", false, nil
}

// onRecord indexes the one record that an event affects.
func (s *Search) onRecord(ctx context.Context, tx *sqldb.Tx, e *events.Event) error {
	object, id, _, err := recordIn(e)
	if err != nil {
		return bus.Permanent(err)
	}
	return s.refresh(ctx, tx, e.Tenant, object, id)
}

// onConverted hides a lead and indexes the records that it was converted to.
func (s *Search) onConverted(ctx context.Context, tx *sqldb.Tx, e *events.Event, p events.LeadConverted) error {
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

// onMetadata rebuilds the index of an object whose searchable fields have changed.
func (s *Search) onMetadata(ctx context.Context, tx *sqldb.Tx, e *events.Event, p kit.Record) error {
	return s.redefine(ctx, tx, e.Tenant, p.ObjectName)
}
