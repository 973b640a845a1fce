package sharing

import (
	"context"
	"maps"
	"slices"

	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// Consumer is the consumer of sharing, of the events that the document lists for it, in its
// order. Events say that something is different, not what: that is read.
func (s *Sharing) Consumer() bus.Consumer {
	c := kit.Consumer(
		"sharing",
		kit.On("RecordCreated", s.onRecord),
		kit.On("RecordUpdated", s.onRecord),
		kit.On("RecordDeleted", s.onRecord),
		kit.On("OwnerChanged", s.onRecord),
		kit.On("MetadataChanged", s.onMetadata),
		kit.On("PermissionChanged", s.onDirectory),
		kit.On("RoleHierarchyChanged", s.onDirectory),
		kit.On("GroupMemberChanged", s.onDirectory),
		kit.On("TeamMemberChanged", s.onRecord),
		kit.On("TerritoryAssignmentChanged", s.onTerritory),
		kit.On("SharingConfigChanged", s.onConfig),
	)
	// The rows of the records that events name are brought up to date together, and those of
	// each once, however many events name it.
	c.HandleAll = func(ctx context.Context, tx *sqldb.Tx, batch []*events.Event) error {
		groups, others, err := kit.GroupRecords(batch, mentionOf)
		if err != nil {
			return err
		}
		for _, g := range groups {
			if err := s.refreshAll(ctx, tx, g.Tenant, g.Object, g.Named...); err != nil {
				return fault.Wrap("sharing.on", err)
			}
		}
		for _, e := range others {
			if err := c.Handle(ctx, tx, e); err != nil {
				return err
			}
		}
		return nil
	}
	return c
}

// recordEvent is what the payloads of events about records have for sharing.
type recordEvent struct {
	kit.Record
	ChangedFields []string `json:"changedFields"`
}

// mention is a record that events name.
type mention struct {
	touched
	surely bool     // whatever rules there are, its rows may have to be others
	ruled  bool     // so they may if there are rules on its fields
	fields []string // so they may if there are rules on one of these
}

// newMention is what an event says of its record.
func newMention(e *events.Event, p recordEvent) *mention {
	m := &mention{touched: touched{id: p.RecordID, call: callOf(e), changed: e.Type == "OwnerChanged"}}
	switch e.Type {
	case "RecordUpdated":
		m.fields = p.ChangedFields
	case "RecordCreated":
		m.ruled = true
	default:
		m.surely = true
	}
	return m
}

// mentionOf is newMention of an event that is about a record, and the object.
func mentionOf(e *events.Event) (object string, m *mention, ok bool, err error) {
	switch e.Type {
	case "RecordCreated", "RecordUpdated", "RecordDeleted", "OwnerChanged", "TeamMemberChanged":
		p, err := events.DecodePayload[recordEvent](e)
		return p.ObjectName, newMention(e, p), true, err
	}
	return "", nil, false, nil
}

// join adds what an earlier event said of the record.
func (m *mention) join(before *mention) {
	m.changed, m.surely, m.ruled = m.changed || before.changed, m.surely || before.surely, m.ruled || before.ruled
	m.fields = append(before.fields, m.fields...)
}

// concerns reports whether the rows of the record may have to be others, given what rules
// look at.
func (m *mention) concerns(w *watched) bool {
	return m.surely || w.some &&
		(m.ruled || w.all || slices.ContainsFunc(m.fields, func(name string) bool { return w.names[name] }))
}

// watched is what rules look at records for.
type watched struct {
	some  bool // there are such rules
	all   bool // one may look at any field
	names map[string]bool
}

func watchedBy(models []Model) *watched {
	w := &watched{names: map[string]bool{ownerField: true}} // rows have the owner
	for i := range models {
		for _, r := range models[i].Rules {
			if r.Kind != model.CriteriaRule {
				continue
			}
			names, ok := model.Names(r.Criteria)
			w.some, w.all = true, w.all || !ok
			for _, name := range names {
				w.names[name] = true
			}
		}
	}
	return w
}

// ownerField is what the owner is called among the changed fields of an event.
const ownerField = "OwnerId"

// refreshAll brings the rows of records that events name up to date, where they may have
// to be others.
func (s *Sharing) refreshAll(ctx context.Context, tx *sqldb.Tx, tenant, object string, all ...*mention) error {
	models, err := s.ensureModels(ctx, tx, tenant, object)
	if err != nil {
		return err
	}
	byID := map[string]*mention{}
	for _, m := range all {
		if before := byID[m.id]; before != nil {
			m.join(before)
		}
		byID[m.id] = m
	}
	w := watchedBy(models)
	var some []touched
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		if byID[id].concerns(w) {
			some = append(some, byID[id].touched)
		}
	}
	if len(some) == 0 {
		return nil
	}
	return s.refresh(ctx, tx, tenant, object, some...)
}

// onRecord brings the rows of a record up to date. Without rules on what changed of its
// fields, a record that is created or updated keeps those that it has: its owner is in its
// own row. Another owner is published, also when the rows are up to date already.
func (s *Sharing) onRecord(ctx context.Context, tx *sqldb.Tx, e *events.Event, p recordEvent) error {
	return s.refreshAll(ctx, tx, e.Tenant, p.ObjectName, newMention(e, p))
}

// onDirectory brings what follows from users, roles and groups up to date.
func (s *Sharing) onDirectory(ctx context.Context, tx *sqldb.Tx, e *events.Event, _ struct{}) error {
	return s.reclose(ctx, tx, e.Tenant)
}

// onConfig starts a rebuild when an object is to be shared in another way.
func (s *Sharing) onConfig(ctx context.Context, tx *sqldb.Tx, e *events.Event, p kit.Record) error {
	return s.resetup(ctx, tx, e.Tenant, p.ObjectName, false)
}

// onMetadata looks whether rules say something else since a field is another.
func (s *Sharing) onMetadata(ctx context.Context, tx *sqldb.Tx, e *events.Event, p kit.Record) error {
	models, err := currentModels(ctx, tx, e.Tenant, p.ObjectName)
	if err != nil || !slices.ContainsFunc(models, func(m Model) bool { return m.hasCriteria() }) {
		return err
	}
	return s.resetup(ctx, tx, e.Tenant, p.ObjectName, false)
}

// onTerritory brings up to date who is in territories, and the rows of accounts.
func (s *Sharing) onTerritory(
	ctx context.Context, tx *sqldb.Tx, e *events.Event, p events.TerritoryAssignmentChanged,
) error {
	if p.AssignmentType == "Account" {
		return s.refresh(ctx, tx, e.Tenant, accountObject, touched{id: string(p.AssignedID), call: callOf(e)})
	}
	if err := s.reclose(ctx, tx, e.Tenant); err != nil || p.ChangeType != hierarchyChanged {
		return err
	}
	return s.regrant(ctx, tx, e.Tenant, p.TerritoryID)
}

// callOf is on whose behalf an event is handled.
func callOf(e *events.Event) kit.Caller {
	return kit.Caller{Tenant: e.Tenant, CorrelationID: e.CorrelationID}
}
