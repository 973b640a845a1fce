package records

import (
	"context"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
)

const (
	insertRecord = `INSERT INTO records_record (tenant_id, object, id, owner_id, name, account_id, opportunity_id,
		fields, version, created_at, created_by, updated_at, updated_by, deleted_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, 0)`
	// Most changes touch no column that an index has.
	setFields    = " SET fields = $4, version = $5, updated_at = $6, updated_by = $7"
	updateFields = "UPDATE records_record" + setFields + oneRecord
	updateRecord = "UPDATE records_record" + setFields + ", owner_id = $8, name = $9, account_id = $10, " +
		"opportunity_id = $11" + oneRecord
	deleteRecord = "UPDATE records_record SET version = $4, updated_at = $5, updated_by = $6, deleted_at = " +
		"$4" + oneRecord
	oneRecord  = " WHERE tenant_id = $1 AND object = $2 AND id = $3"
	moveQuotes = `UPDATE records_record SET account_id = $3
		WHERE tenant_id = $1 AND opportunity_id = $2 AND opportunity_id <> '' AND deleted_at = 0`
	insertReference = "INSERT INTO records_reference (tenant_id, to_id, object, field, id) VALUES ($1, $2, $3, $4, $5)"
	deleteReference = `DELETE FROM records_reference
		WHERE tenant_id = $1 AND to_id = $2 AND object = $3 AND field = $4 AND id = $5`
)

var insertHistory = sqldb.NewInsert(
	"records_history (tenant_id, object, record_id, version, at, user_id, action, changes)", "",
	"text", "text", "text", "bigint", "bigint", "text", "text", "text")

// save writes what was decided: rows, history, references and events, and removes what goes
// with deleted records.
func (w *session) save(ctx context.Context, all []decision) error {
	if len(all) == 0 {
		return nil
	}
	stmts := make([]sqldb.Stmt, 0, len(all)+2)
	batch := make([]events.Event, 0, 2*len(all))
	history := make([]any, 0, 8*len(all))
	var each *rewritten
	if w.sql.shared && different(all) {
		each = &rewritten{}
	}
	for i := range all {
		d := &all[i]
		r := &d.after
		var err error
		if stmts, err = w.statements(stmts, d, each); err != nil {
			return err
		}
		history = append(history, w.Caller.Tenant, r.Object, r.ID, r.Version, r.Version, w.User, d.action,
			string(appendChanges(nil, d.changes)))
		if batch, err = envelopes(batch, w.Caller, r, d.events); err != nil {
			return err
		}
	}
	stmts = append(each.statements(stmts, w.Caller.Tenant), insertHistory.Stmts(w.Tx, history)...)
	if err := w.Tx.Batch(ctx, stmts...); err != nil {
		return err
	}
	if err := w.cfg.Publisher.Publish(ctx, w.Tx, batch...); err != nil {
		return err
	}
	return w.clearDeleted(ctx, all)
}

// different reports whether decisions are about different records.
func different(all []decision) bool {
	seen := make(map[string]bool, len(all))
	for i := range all {
		seen[all[i].after.ID] = true
	}
	return len(seen) == len(all)
}

// statements are those that store a decision, but for its history. What each can take is
// left to it.
func (w *session) statements(to []sqldb.Stmt, d *decision, each *rewritten) ([]sqldb.Stmt, error) {
	r, tenant := &d.after, w.Caller.Tenant
	fields, err := json.Marshal(r.Fields, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	switch {
	case r.Deleted:
		args := []any{tenant, r.Object, r.ID, r.Version, r.UpdatedAt, r.UpdatedBy}
		to = append(to, sqldb.Stmt{Query: deleteRecord, Args: args})
	case d.before == nil:
		to = append(to, sqldb.Stmt{Query: insertRecord, Args: []any{
			tenant, r.Object, r.ID, r.OwnerID, r.Name, r.AccountID, r.OpportunityID, string(fields), r.Version,
			r.CreatedAt, r.CreatedBy, r.UpdatedAt, r.UpdatedBy,
		}})
	case each != nil && sameLinks(d.before, r):
		each.add(r, string(fields))
	default:
		args := []any{tenant, r.Object, r.ID, string(fields), r.Version, r.UpdatedAt, r.UpdatedBy}
		if sameLinks(d.before, r) {
			to = append(to, sqldb.Stmt{Query: updateFields, Args: args})
		} else {
			to = append(to, sqldb.Stmt{Query: updateRecord, Args: append(args, r.OwnerID, r.Name, r.AccountID,
				r.OpportunityID)})
		}
		if r.Object == objOpportunity && r.AccountID != d.before.AccountID {
			to = append(to, sqldb.Stmt{Query: moveQuotes, Args: []any{tenant, r.ID, r.AccountID}})
		}
	}
	for _, ref := range references(w.Model.Object(r.Object), d) {
		if ref.old != "" {
			to = append(
				to,
				sqldb.Stmt{Query: deleteReference, Args: []any{tenant, ref.old, r.Object, ref.field, r.ID}},
			)
		}
		if ref.now != "" {
			to = append(
				to,
				sqldb.Stmt{Query: insertReference, Args: []any{tenant, ref.now, r.Object, ref.field, r.ID}},
			)
		}
	}
	return to, nil
}

// rewritten are different records that change in what no index has, a column each.
type rewritten struct {
	objects, ids, fields, by []string
	versions, at             []int64
}

func (e *rewritten) add(r *model.Record, fields string) {
	e.objects, e.ids, e.fields, e.by = append(e.objects, r.Object), append(e.ids, r.ID), append(e.fields, fields),
		append(e.by, r.UpdatedBy)
	e.versions, e.at = append(e.versions, int64(r.Version)), append(e.at, int64(r.UpdatedAt))
}

// statements are the one that stores them, if there are any.
func (e *rewritten) statements(to []sqldb.Stmt, tenant string) []sqldb.Stmt {
	if e == nil || len(e.ids) == 0 {
		return to
	}
	args := []any{tenant, e.objects, e.ids, e.fields, e.versions, e.at, e.by}
	return append(to, sqldb.Stmt{Query: updateEach, Args: args})
}

// sameLinks reports whether two states of a record are the same in all columns but those
// that every change writes.
func sameLinks(a, b *model.Record) bool {
	return a.OwnerID == b.OwnerID && a.Name == b.Name && a.AccountID == b.AccountID &&
		a.OpportunityID == b.OpportunityID
}

// reference is a field that names another record than before.
type reference struct{ field, old, now string }

// references are the changes of the fields that name other records and that callers write.
func references(o *model.Object, d *decision) (all []reference) {
	for i := range o.Fields {
		f := &o.Fields[i]
		if f.Type != model.Reference || f.ReadOnly && !f.Custom {
			continue
		}
		r := reference{field: f.Name}
		if d.before != nil {
			r.old = values(d.before.Fields).text(f.Name)
		}
		if !d.after.Deleted {
			r.now = values(d.after.Fields).text(f.Name)
		}
		if r.old != r.now {
			all = append(all, r)
		}
	}
	return all
}
