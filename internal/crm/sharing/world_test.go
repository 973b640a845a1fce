package sharing

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
)

// tenant is a tenant of a rig with what is true of it, and the events that were not
// handed out yet.
type tenant struct {
	*rig
	*world
	id      string
	version canonical.Stamp
	seen    int64 // events up to this one are in waits
	waits   map[string][]events.Event
	taken   []events.Event
}

func newTenant(r *rig) *tenant {
	t := &tenant{
		rig: r, world: newWorld(), id: uuid.NewString(), version: 1_800_000_000_000,
		waits: map[string][]events.Event{},
	}
	t.See(func(ctx context.Context, tx *sqldb.Tx) error {
		return tx.Row(ctx, "SELECT coalesce(max(id), 0) FROM outbox_events").Scan(&t.seen)
	})
	return t
}

// num makes ids of a kind that are easy to read.
func num(kind, n int) string { return fmt.Sprintf("00000000-0000-7000-80%02d-%012d", kind, n) }

func (t *tenant) call() kit.Caller { return kit.Caller{Tenant: t.id, CorrelationID: "test"} }

// define changes definitions as metadata does, and announces it.
func (t *tenant) define(kind model.Kind, id string, value any, payloads ...events.Payload) {
	t.Helper()
	t.Change(func(ctx context.Context, tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO metadata_tenant AS t (tenant_id, revision, stamp) VALUES ($1, 1, $2)
			ON CONFLICT (tenant_id) DO UPDATE SET revision = t.revision + 1, stamp = excluded.stamp`, t.id,
			uuid.NewString())
		if err != nil {
			return err
		}
		if value == nil {
			_, err = tx.Exec(ctx, "DELETE FROM metadata_definition WHERE tenant_id = $1 AND kind = $2 AND id = $3",
				t.id, string(kind), id)
		} else {
			body, problem := json.Marshal(value)
			if problem != nil {
				return problem
			}
			_, err = tx.Exec(ctx, `INSERT INTO metadata_definition AS d (tenant_id, kind, id, body, revision)
				VALUES ($1, $2, $3, $4, 1)
				ON CONFLICT (tenant_id, kind, id) DO UPDATE SET body = excluded.body`, t.id, string(kind), id,
				string(body))
		}
		if err != nil {
			return err
		}
		return t.announce(ctx, tx, string(kind), id, payloads...)
	})
}

func (t *tenant) announce(ctx context.Context, tx *sqldb.Tx, kind, id string, payloads ...events.Payload) error {
	t.version++
	batch := make([]events.Event, len(payloads))
	for i, p := range payloads {
		body, err := events.NewPayload(p)
		if err != nil {
			return err
		}
		batch[i] = events.Event{
			Type: p.EventType(), Tenant: t.id, CorrelationID: "test", Key: events.RecordKey(kind, t.id, id),
			Version: t.version, Index: i, Payload: body,
		}
	}
	return t.Bus.Publish(ctx, tx, batch...)
}

func (t *tenant) putUser(u model.User) {
	t.users[u.ID] = &u
	t.define(model.KindUser, u.ID, &u, events.PermissionChanged{
		ChangeType: "UserUpdated", Subject: events.PermissionSubject{Type: "User", ID: u.ID}, EffectiveAt: 1,
	})
}

func (t *tenant) putRole(r model.Role) {
	t.roles[r.ID] = &r
	t.define(model.KindRole, r.ID, &r, events.RoleHierarchyChanged{
		ChangeType: "ParentChanged", RoleID: r.ID, RoleName: "r", ParentRoleID: events.OrNull(r.ParentRoleID),
		EffectiveAt: 1,
	})
}

func (t *tenant) putGroup(g model.Group) {
	t.groups[g.ID] = &g
	t.define(model.KindGroup, g.ID, &g, events.GroupMemberChanged{
		ChangeType: "MemberAdded", GroupID: g.ID, GroupName: "g", GroupType: string(g.Type), MemberType: "User",
		MemberID: g.ID, EffectiveAt: 1,
	})
}

func (t *tenant) putSet(s model.PermissionSet) {
	t.sets[s.ID] = &s
	t.define(model.KindPermissionSet, s.ID, &s)
}

func (t *tenant) putDefault(object string, owd model.OWD) {
	before := t.defaults[object]
	if before == "" {
		before = model.Private
	}
	t.defaults[object] = owd
	t.define(model.KindOWD, object, &model.Default{Object: object, Access: owd}, events.SharingConfigChanged{
		ChangeType: "OWDChanged", ObjectName: object, OldOWD: string(before), NewOWD: string(owd), EffectiveAt: 1,
	})
}

func (t *tenant) putRule(r model.SharingRule) {
	t.rules[r.ID] = &r
	t.define(model.KindSharingRule, r.ID, &r, events.SharingConfigChanged{
		ChangeType: "ShareRuleUpdated", ObjectName: r.Object, ResourceID: r.ID, EffectiveAt: 1,
	})
}

func (t *tenant) dropRule(id string) {
	object := t.rules[id].Object
	delete(t.rules, id)
	t.define(model.KindSharingRule, id, nil, events.SharingConfigChanged{
		ChangeType: "ShareRuleDeleted", ObjectName: object, ResourceID: id, EffectiveAt: 1,
	})
}

// putRecord creates or updates a record as package records does.
func (t *tenant) putRecord(r model.Record) {
	t.Helper()
	before := t.records[r.ID]
	t.records[r.ID] = &r
	t.version++
	r.Version = t.version
	var payloads []events.Payload
	switch {
	case before == nil:
		payloads = []events.Payload{events.RecordCreated{
			ObjectName: r.Object, RecordID: r.ID, OwnerID: r.OwnerID, Fields: map[string]jsontext.Value{},
			ChangedFields: []string{}, RecordVersion: t.version + 1,
		}}
	default:
		payloads = []events.Payload{events.RecordUpdated{
			ObjectName: r.Object, RecordID: r.ID, OwnerID: r.OwnerID, ChangedFields: changedFields(before, &r),
			RecordVersion: t.version + 1,
		}}
		if before.OwnerID != r.OwnerID {
			payloads = append(payloads, events.OwnerChanged{
				ObjectName: r.Object, RecordID: r.ID, OldOwnerID: before.OwnerID, NewOwnerID: r.OwnerID,
				RecordVersion: t.version + 1,
			})
		}
	}
	t.Change(func(ctx context.Context, tx *sqldb.Tx) error {
		if err := t.saveRecord(ctx, tx, &r); err != nil {
			return err
		}
		return t.announce(ctx, tx, r.Object, r.ID, payloads...)
	})
}

// changedFields are the names that core gives what is different.
func changedFields(before, after *model.Record) []string {
	changed := []string{}
	for name, same := range map[string]bool{
		"Name": before.Name == after.Name, "Description": before.Fields["Description"] == after.Fields["Description"],
		"AccountId": before.AccountID == after.AccountID, ownerField: before.OwnerID == after.OwnerID,
	} {
		if !same {
			changed = append(changed, name)
		}
	}
	slices.Sort(changed)
	return changed
}

func (t *tenant) saveRecord(ctx context.Context, tx *sqldb.Tx, r *model.Record) error {
	fields, err := json.Marshal(r.Fields)
	if err != nil {
		return err
	}
	_, err = tx.Exec(
		ctx,
		`INSERT INTO records_record (tenant_id, object, id, owner_id, name, account_id, opportunity_id, fields, version,
			created_at, created_by, updated_at, updated_by, deleted_at)
		VALUES ($1, $2, $3, $4, $5, $6, '', $7, $8, 1, '', 1, '', 0)
		ON CONFLICT (tenant_id, object, id) DO UPDATE SET owner_id = excluded.owner_id, name = excluded.name,
		account_id = excluded.account_id,
			fields = excluded.fields, version = excluded.version`,
		t.id,
		r.Object,
		r.ID,
		r.OwnerID,
		r.Name,
		r.AccountID,
		string(fields),
		r.Version,
	)
	return err
}

// dropRecord deletes a record that no other names, with its team.
func (t *tenant) dropRecord(id string) {
	t.Helper()
	r := t.records[id]
	delete(t.records, id)
	delete(t.teams, id)
	for _, accounts := range t.accounts {
		delete(accounts, id)
	}
	t.Change(func(ctx context.Context, tx *sqldb.Tx) error {
		err := tx.Batch(
			ctx,
			sqldb.Stmt{
				Query: "UPDATE records_record SET deleted_at = 1 WHERE tenant_id = $1 AND object = $2 AND id " +
					"= $3",
				Args: []any{t.id, r.Object, id},
			},
			sqldb.Stmt{
				Query: "DELETE FROM records_team WHERE tenant_id = $1 AND object = $2 AND record_id = $3",
				Args:  []any{t.id, r.Object, id},
			},
		)
		if err != nil {
			return err
		}
		return t.announce(ctx, tx, r.Object, id, events.RecordDeleted{
			ObjectName: r.Object, RecordID: id, Deleted: true,
			RecordVersion: t.version + 1,
		})
	})
}

// putMate puts a user into the team of a record, or takes it out with no access.
func (t *tenant) putMate(record, user string, access model.Access) {
	t.Helper()
	r := t.records[record]
	if t.teams[record] == nil {
		t.teams[record] = map[string]model.Access{}
	}
	e := events.TeamMemberChanged{
		ChangeType: "MemberUpdated", ObjectName: r.Object, RecordID: record, UserID: user, TeamRole: "Sales Rep",
		AccessLevel: "Read", EffectiveAt: 1,
	}
	t.Change(func(ctx context.Context, tx *sqldb.Tx) (err error) {
		if access == "" {
			_, err = tx.Exec(ctx, "DELETE FROM records_team WHERE tenant_id = $1 AND object = $2 AND record_id = $3 "+
				"AND user_id = $4", t.id, r.Object, record, user)
		} else {
			_, err = tx.Exec(ctx, `INSERT INTO records_team (tenant_id, object, record_id, user_id, team_role,
				access, added_at) VALUES ($1, $2, $3, $4, 'Sales Rep', $5, 1)
				ON CONFLICT (tenant_id, object, record_id, user_id) DO UPDATE SET access = excluded.access`, t.id,
				r.Object, record, user, string(access))
		}
		if err != nil {
			return err
		}
		return t.announce(ctx, tx, r.Object, record, e)
	})
	if access == "" {
		delete(t.teams[record], user)
	} else {
		t.teams[record][user] = access
	}
}

func (t *tenant) putTerritoryOf(id, parent string, access model.Access) {
	t.Helper()
	if _, _, err := t.Territories.Put(t.Context(), t.call(), id, Draft{
		Name: "t", ParentID: parent,
		Access: access,
	}); err != nil {
		t.Fatal(err)
	}
	t.territories[id] = &Territory{ID: id, ParentID: parent, Access: access}
}

// assign assigns something to a territory, or takes it back.
func (t *tenant) assign(territory string, of Assignment, id string, on bool) {
	t.Helper()
	set := t.workers
	if of == Accounts {
		set = t.accounts
	}
	if set[territory] == nil {
		set[territory] = map[string]bool{}
	}
	if on {
		if created, err := t.Territories.Assign(t.Context(), t.call(), territory, of, id); err != nil ||
			created == set[territory][id] {
			t.Fatalf("assigned: %v %v, want it to be new: %v", created, err, !set[territory][id])
		}
		set[territory][id] = true
	} else if set[territory][id] {
		if err := t.Territories.Unassign(t.Context(), t.call(), territory, of, id); err != nil {
			t.Fatal(err)
		}
		delete(set[territory], id)
	}
}

// fetch puts the events that were published since into waits.
func (t *tenant) fetch() {
	t.Helper()
	var batch []events.Event
	batch, t.seen = t.Events(t.id, t.seen)
	for i := range batch {
		if e := batch[i]; slices.Contains(t.consumer.Types, e.Type) {
			t.waits[e.Key] = append(t.waits[e.Key], e)
		}
	}
}

// keys are those that events wait of.
func (t *tenant) keys() []string {
	t.fetch()
	return slices.Sorted(maps.Keys(t.waits))
}

// take hands out the next event of a key.
func (t *tenant) take(key string) {
	t.Helper()
	e := t.waits[key][0]
	t.give(e)
	if t.waits[key] = t.waits[key][1:]; len(t.waits[key]) == 0 {
		delete(t.waits, key)
	}
	t.taken = append(t.taken, e)
}

// takeAll hands out everything that waits, together.
func (t *tenant) takeAll() {
	t.Helper()
	var all []*events.Event
	for _, key := range t.keys() {
		for _, e := range t.waits[key] {
			all, t.taken = append(all, &e), append(t.taken, e)
		}
		delete(t.waits, key)
	}
	t.Change(func(ctx context.Context, tx *sqldb.Tx) error { return t.consumer.HandleAll(ctx, tx, all) })
}

func (t *tenant) give(e events.Event) {
	t.Helper()
	t.Change(func(ctx context.Context, tx *sqldb.Tx) error { return t.consumer.Handle(ctx, tx, &e) })
}
