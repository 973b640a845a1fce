package sharing

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
)

// handlers are the events that sharing consumes: those that the document lists for it.
var handlers = map[string]func(*Sharing, context.Context, *sqldb.Tx, *wire.Event) error{
	"RecordCreated":              (*Sharing).onRecord,
	"RecordUpdated":              (*Sharing).onRecord,
	"RecordDeleted":              (*Sharing).onRecord,
	"OwnerChanged":               (*Sharing).onRecord,
	"TeamMemberChanged":          (*Sharing).onRecord,
	"MetadataChanged":            (*Sharing).onMetadata,
	"SharingConfigChanged":       (*Sharing).onConfig,
	"PermissionChanged":          (*Sharing).onDirectory,
	"RoleHierarchyChanged":       (*Sharing).onDirectory,
	"GroupMemberChanged":         (*Sharing).onDirectory,
	"TerritoryAssignmentChanged": (*Sharing).onTerritory,
}

// Types are the events that sharing consumes, in the order of the document.
var Types = []string{
	"RecordCreated", "RecordUpdated", "RecordDeleted", "OwnerChanged", "MetadataChanged", "PermissionChanged",
	"RoleHierarchyChanged", "GroupMemberChanged", "TeamMemberChanged", "TerritoryAssignmentChanged",
	"SharingConfigChanged",
}

// Consumer is the consumer of sharing.
func (s *Sharing) Consumer() bus.Consumer {
	return bus.Consumer{Name: "sharing", Stream: wire.Events, Types: Types, Handle: s.handle, HandleAll: s.handleAll}
}

// handle handles an event. Events say that something is different, not what: that is read.
func (s *Sharing) handle(ctx context.Context, tx *sqldb.Tx, e *wire.Event) error {
	on := handlers[e.Type]
	if on == nil {
		return bus.Permanent(fmt.Errorf("sharing consumes no events of type %s", e.Type))
	}
	return fault.Wrap("sharing.on", on(s, ctx, tx, e))
}

// handleAll handles events together: the rows of the records that they name are brought up to
// date at once, and those of each once, however many events name it.
func (s *Sharing) handleAll(ctx context.Context, tx *sqldb.Tx, events []*wire.Event) error {
	type place struct{ tenant, object string }
	of := map[place]map[string]*mention{} // by id
	var others []*wire.Event
	for _, e := range events {
		switch e.Type {
		case "RecordCreated", "RecordUpdated", "RecordDeleted", "OwnerChanged", "TeamMemberChanged":
		default:
			others = append(others, e)
			continue
		}
		object, m, err := mentionOf(e)
		if err != nil {
			return err
		}
		at := place{e.Tenant, object}
		if of[at] == nil {
			of[at] = map[string]*mention{}
		}
		if before := of[at][m.id]; before != nil {
			m.join(before)
		}
		of[at][m.id] = m
	}
	for _, at := range slices.SortedFunc(maps.Keys(of), func(a, b place) int {
		return cmp.Or(cmp.Compare(a.tenant, b.tenant), cmp.Compare(a.object, b.object))
	}) {
		if err := s.refreshAll(ctx, tx, at.tenant, at.object, of[at]); err != nil {
			return fault.Wrap("sharing.on", err)
		}
	}
	for _, e := range others {
		if err := s.handle(ctx, tx, e); err != nil {
			return err
		}
	}
	return nil
}

// mention is a record that events name.
type mention struct {
	touched
	surely bool     // whatever rules there are, its rows may have to be others
	ruled  bool     // so they may if there are rules on its fields
	fields []string // so they may if there are rules on one of these
}

// mentionOf is the record that an event names, and of which object.
func mentionOf(e *wire.Event) (object string, m *mention, err error) {
	p, err := wire.DecodePayload[struct {
		named
		ChangedFields []string `json:"changedFields"`
	}](e)
	if err != nil {
		return "", nil, err
	}
	m = &mention{touched: touched{id: p.RecordID, call: callOf(e), changed: e.Type == "OwnerChanged"}}
	switch e.Type {
	case "RecordUpdated":
		m.fields = p.ChangedFields
	case "RecordCreated":
		m.ruled = true
	default:
		m.surely = true
	}
	return p.ObjectName, m, nil
}

// join adds what an event before said of the record.
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
func (s *Sharing) refreshAll(
	ctx context.Context,
	tx *sqldb.Tx,
	tenant, object string,
	all map[string]*mention,
) error {
	models, err := s.ensureModels(ctx, tx, tenant, object)
	if err != nil {
		return err
	}
	w := watchedBy(models)
	var some []touched
	for _, id := range slices.Sorted(maps.Keys(all)) {
		if all[id].concerns(w) {
			some = append(some, all[id].touched)
		}
	}
	if len(some) == 0 {
		return nil
	}
	return s.refresh(ctx, tx, tenant, object, some...)
}

// named is what the events of a record have in common.
type named struct {
	ObjectName string `json:"objectName"`
	RecordID   string `json:"recordId"`
}

// onRecord brings the rows of a record up to date. Without rules on what changed of its
// fields, a record that is created or updated keeps those that it has: its owner is in its
// own row. Another owner is published, also when the rows are up to date already.
func (s *Sharing) onRecord(ctx context.Context, tx *sqldb.Tx, e *wire.Event) error {
	object, m, err := mentionOf(e)
	if err != nil {
		return bus.Permanent(err)
	}
	return s.refreshAll(ctx, tx, e.Tenant, object, map[string]*mention{m.id: m})
}

// onDirectory brings what follows from users, roles and groups up to date.
func (s *Sharing) onDirectory(ctx context.Context, tx *sqldb.Tx, e *wire.Event) error {
	return s.reclose(ctx, tx, e.Tenant)
}

// onConfig starts a rebuild when an object is to be shared in another way.
func (s *Sharing) onConfig(ctx context.Context, tx *sqldb.Tx, e *wire.Event) error {
	p, err := wire.DecodePayload[named](e)
	if err != nil {
		return bus.Permanent(err)
	}
	return s.resetup(ctx, tx, e.Tenant, p.ObjectName, false)
}

// onMetadata looks whether rules say something else since a field is another.
func (s *Sharing) onMetadata(ctx context.Context, tx *sqldb.Tx, e *wire.Event) error {
	p, err := wire.DecodePayload[named](e)
	if err != nil {
		return bus.Permanent(err)
	}
	models, err := currentModels(ctx, tx, e.Tenant, p.ObjectName)
	if err != nil || !slices.ContainsFunc(models, func(m Model) bool { return m.hasCriteria() }) {
		return err
	}
	return s.resetup(ctx, tx, e.Tenant, p.ObjectName, false)
}

// onTerritory brings up to date who is in territories, and the rows of accounts.
func (s *Sharing) onTerritory(ctx context.Context, tx *sqldb.Tx, e *wire.Event) error {
	p, err := wire.DecodePayload[wire.TerritoryAssignmentChanged](e)
	if err != nil {
		return bus.Permanent(err)
	}
	if p.AssignmentType == "Account" {
		return s.refresh(ctx, tx, e.Tenant, accountObject, touched{id: string(p.AssignedID), call: callOf(e)})
	}
	if err := s.reclose(ctx, tx, e.Tenant); err != nil || p.ChangeType != hierarchyChanged {
		return err
	}
	return s.regrant(ctx, tx, e.Tenant, p.TerritoryID)
}

// callOf is on whose behalf an event is handled.
func callOf(e *wire.Event) Caller { return Caller{e.Tenant, e.CorrelationID} }
