package records

import (
	"context"
	"maps"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// Set writes fields of some different records of an object for the server itself, in the
// transaction of the one who asks, and publishes it. Rules and locks hold as for everybody.
func (s *Records) Set(ctx context.Context, tx *sqldb.Tx, tenant, correlation, object string, changes []model.Change) (
	[]model.Changed, error,
) {
	w, err := s.begin(ctx, tx, Caller{Tenant: tenant, CorrelationID: correlation})
	if err != nil {
		return nil, fault.Wrap("records.set", err)
	}
	b := &Batch{Object: object, system: true, Ops: make([]Op, len(changes))}
	for i, c := range changes {
		b.Ops[i] = Op{Kind: Update, ID: c.ID, Fields: c.Fields}
	}
	results, err := w.apply(ctx, b)
	if err != nil {
		return nil, fault.Wrap("records.set", err)
	}
	out := make([]model.Changed, len(results))
	for i := range results {
		out[i] = model.Changed{Version: results[i].Version, Changed: results[i].changed, Err: results[i].Err}
	}
	return out, nil
}

// At is a record as the change to a version left it and as it was before, and who made
// that change; ok says that the record exists, living or not. Values that were sensitive
// when the history did not keep such yet are in both as they are now.
func (Reads) At(ctx context.Context, tx *sqldb.Tx, tenant string, o *model.Object, id string, version canonical.Stamp) (
	d model.Draft, by string, ok bool, err error,
) {
	r, ok, err := Reads{}.Get(ctx, tx, tenant, o.Name, id)
	if err != nil || !ok {
		return d, "", ok, err
	}
	d = model.Draft{Object: o, ID: id, OwnerID: r.OwnerID, Fields: maps.Clone(r.Fields)}
	old := r
	d.Old = &old
	for row, err := range tx.Query(ctx, `SELECT version, user_id, action, changes FROM records_history
		WHERE tenant_id = $1 AND object = $2 AND record_id = $3 AND version >= $4 ORDER BY version DESC`, tenant,
		o.Name, id, version) {
		var at canonical.Stamp
		var user, action, text string
		var changes []FieldChange
		if err == nil {
			err = row.Scan(&at, &user, &action, &text)
		}
		if err == nil {
			err = json.Unmarshal([]byte(text), &changes)
		}
		if err != nil {
			return d, "", true, fault.Wrap("records.at", err)
		}
		if at > version {
			d.OwnerID, err = undo(changes, d.OwnerID, d.Fields)
			old.OwnerID, old.Fields = d.OwnerID, d.Fields
		} else {
			by, old.Fields = user, maps.Clone(d.Fields)
			old.OwnerID, err = undo(changes, d.OwnerID, old.Fields)
			if action == actionCreated {
				d.Old = nil
			}
		}
		if err != nil {
			return d, "", true, fault.Wrap("records.at", err)
		}
	}
	return d, by, true, nil
}

// undo takes changes back, as far as their values are known, and gives the owner from
// before them.
func undo(changes []FieldChange, owner string, fields map[string]any) (string, error) {
	for _, c := range changes {
		if c.Old == nil {
			continue
		}
		var value any
		if err := json.Unmarshal(c.Old, &value); err != nil {
			return "", err
		}
		if c.Field == ownerField {
			owner, _ = value.(string)
		} else {
			values(fields).put(c.Field, value)
		}
	}
	return owner, nil
}
