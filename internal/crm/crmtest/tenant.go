package crmtest

import (
	"context"
	"fmt"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
)

// TenantA and TenantB are two tenants.
const (
	TenantA = "00000000-0000-4000-8000-00000000000a"
	TenantB = "00000000-0000-4000-8000-00000000000b"
)

// ID makes ids of a kind that are easy to read.
func ID(kind, n int) string { return fmt.Sprintf("00000000-0000-7000-80%02d-%012d", kind, n) }

// Define stores definitions of a tenant as metadata does, without checks and events.
func (r *Rig) Define(tenant string, all ...model.Definition) {
	r.Helper()
	r.Change(func(ctx context.Context, tx *sqldb.Tx) error {
		for _, d := range all {
			body, err := json.Marshal(d.Value)
			if err != nil {
				return err
			}
			if _, err := tx.Exec(ctx,
				`INSERT INTO metadata_definition (tenant_id, kind, id, body, revision) VALUES ($1, $2, $3, $4, 1)
				ON CONFLICT (tenant_id, kind, id) DO UPDATE SET body = excluded.body`, tenant, string(d.Kind), d.ID,
				string(body)); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, `INSERT INTO metadata_tenant AS t (tenant_id, revision, stamp) VALUES ($1, 1, $2)
			ON CONFLICT (tenant_id) DO UPDATE SET revision = t.revision + 1, stamp = excluded.stamp`, tenant,
			uuid.NewString())
		return err
	})
}

// User is the definition of an active user.
func User(id, name, role string, permissionSets ...string) model.Definition {
	return model.Definition{Kind: model.KindUser, ID: id, Value: &model.User{
		ID: id, Name: name, RoleID: role, PermissionSetIDs: permissionSets, IsActive: true,
	}}
}

// Publish publishes an event that is not of a record.
func (r *Rig) Publish(tenant, kind, id string, p events.Payload) {
	r.Helper()
	r.Change(func(ctx context.Context, tx *sqldb.Tx) error {
		body, err := events.NewPayload(p)
		if err != nil {
			return err
		}
		key := events.RecordKey(kind, tenant, id)
		version, err := r.Bus.NextVersion(ctx, tx, key)
		if err != nil {
			return err
		}
		return r.Bus.Publish(ctx, tx, events.Event{
			Type: p.EventType(), Tenant: tenant, CorrelationID: "test", Key: key, Version: version, Payload: body,
		})
	})
}

// Events are the events of a tenant in the outbox after a position, and the position of the last one.
func (r *Rig) Events(tenant string, after int64) (batch []events.Event, last int64) {
	r.Helper()
	const query = "SELECT id, body FROM outbox_events WHERE tenant_id = $1 AND id > $2 ORDER BY id"
	r.See(func(ctx context.Context, tx *sqldb.Tx) error {
		batch, last = nil, after
		for row, err := range tx.Query(ctx, query, tenant, after) {
			var body []byte
			if err == nil {
				err = row.Scan(&last, &body)
			}
			if err != nil {
				return err
			}
			e, err := events.ParseEvent(body)
			if err != nil {
				return err
			}
			batch = append(batch, e)
		}
		return nil
	})
	return batch, last
}

// Fields reads the fields of a change from a JSON object; "" has none.
func Fields(t testing.TB, text string) map[string]jsontext.Value {
	t.Helper()
	fields := map[string]jsontext.Value{}
	if text != "" {
		if err := json.Unmarshal([]byte(text), &fields); err != nil {
			t.Fatal(err)
		}
	}
	return fields
}
