package sharing

import (
	"context"
	"fmt"

	"renga.dev/renga/internal/bus"
	"renga.dev/renga/internal/fault"
	"renga.dev/renga/internal/sqldb"
	"renga.dev/renga/internal/wire"
)

// consumerName is under which the bus keeps what sharing has taken.
const consumerName = "sharing"

// handlers are the events that sharing takes: those that the document lists for it.
var handlers = map[string]func(*Sharing, context.Context, *sqldb.Tx, *wire.Event) error{
	"RecordCreated":              (*Sharing).onRecord,
	"RecordUpdated":              (*Sharing).onRecord,
	"RecordDeleted":              (*Sharing).onRecord,
	"OwnerChanged":               (*Sharing).onOwner,
	"TeamMemberChanged":          (*Sharing).onTeam,
	"MetadataChanged":            (*Sharing).onMetadata,
	"SharingConfigChanged":       (*Sharing).onConfig,
	"PermissionChanged":          (*Sharing).onDirectory,
	"RoleHierarchyChanged":       (*Sharing).onDirectory,
	"GroupMemberChanged":         (*Sharing).onDirectory,
	"TerritoryAssignmentChanged": (*Sharing).onTerritory,
}

// Types are the events that sharing takes, in the order of the document.
var Types = []string{
	"RecordCreated", "RecordUpdated", "RecordDeleted", "OwnerChanged", "MetadataChanged", "PermissionChanged",
	"RoleHierarchyChanged", "GroupMemberChanged", "TeamMemberChanged", "TerritoryAssignmentChanged", "SharingConfigChanged",
}

// Consumer is sharing as the bus knows it.
func (s *Sharing) Consumer() bus.Consumer {
	return bus.Consumer{Name: consumerName, Stream: wire.Events, Types: Types, Handle: s.handle}
}

// handle takes an event. Events say that something is different, not what: that is read.
func (s *Sharing) handle(ctx context.Context, tx *sqldb.Tx, e *wire.Event) error {
	on := handlers[e.Type]
	if on == nil {
		return bus.Permanent(fmt.Errorf("sharing takes no events of type %s", e.Type))
	}
	return fault.Wrap("sharing.on", on(s, ctx, tx, e))
}

// named is what the events of a record have in common.
type named struct {
	ObjectName string `json:"objectName"`
	RecordID   string `json:"recordId"`
}

// onRecord brings the rows of a record up to date. Without rules on its fields, a record
// that is created or updated gets none: its owner is in its own row.
func (s *Sharing) onRecord(ctx context.Context, tx *sqldb.Tx, e *wire.Event) error {
	p, err := wire.DecodePayload[named](e)
	if err != nil {
		return bus.Permanent(err)
	}
	models, err := s.ensureModels(ctx, tx, e.Tenant, p.ObjectName)
	if err != nil {
		return err
	}
	if e.Type != "RecordDeleted" && !anyCriteria(models) {
		return nil
	}
	_, err = s.refresh(ctx, tx, callOf(e), p.ObjectName, p.RecordID, false)
	return err
}

// onOwner announces that others see a record now. The rows were brought up to date with
// the update that came with it.
func (s *Sharing) onOwner(ctx context.Context, tx *sqldb.Tx, e *wire.Event) error {
	p, err := wire.DecodePayload[named](e)
	if err != nil {
		return bus.Permanent(err)
	}
	_, err = s.refresh(ctx, tx, callOf(e), p.ObjectName, p.RecordID, true)
	return err
}

// onTeam brings the rows of a record up to date with its team.
func (s *Sharing) onTeam(ctx context.Context, tx *sqldb.Tx, e *wire.Event) error {
	p, err := wire.DecodePayload[named](e)
	if err != nil {
		return bus.Permanent(err)
	}
	_, err = s.refresh(ctx, tx, callOf(e), p.ObjectName, p.RecordID, false)
	return err
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
	if err != nil || !anyCriteria(models) {
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
		_, err := s.refresh(ctx, tx, callOf(e), accountObject, string(p.AssignedID), false)
		return err
	}
	if err := s.reclose(ctx, tx, e.Tenant); err != nil || p.ChangeType != hierarchyChanged {
		return err
	}
	return s.regrant(ctx, tx, e.Tenant, p.TerritoryID)
}

func anyCriteria(models []Model) bool {
	for i := range models {
		if models[i].Setup.hasCriteria() {
			return true
		}
	}
	return false
}

// callOf is on whose behalf an event is handled.
func callOf(e *wire.Event) Caller { return Caller{e.Tenant, e.CorrelationID} }
