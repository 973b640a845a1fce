package records

import (
	"context"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/sqldb"
)

// row is a record that the caller sees, and whether it may edit it.
type row struct {
	model.Record
	edit bool
}

// load reads living records that the caller sees, and holds them.
func (w *session) load(ctx context.Context, object string, ids []string, how hold) (map[string]*row, error) {
	rows := make(map[string]*row, len(ids))
	if len(ids) == 0 {
		return rows, nil
	}
	var b sqldb.Binds
	query, err := w.selectVisible(ctx, object, ids, &b)
	if err != nil {
		return nil, err
	}
	query += w.sql.inOrder("r.id") + w.sql.hold(how)
	for found, err := range w.Tx.Query(ctx, query, b.Args()...) {
		var edit int64
		var r model.Record
		if err == nil {
			r, err = scanRecord(found, &edit)
		}
		if err != nil {
			return nil, err
		}
		rows[r.ID] = &row{r, edit == 1}
	}
	return rows, nil
}

// selectVisible is a statement that reads some records that the caller sees, each with
// whether it may edit it.
func (w *session) selectVisible(ctx context.Context, object string, ids []string, b *sqldb.Binds) (string, error) {
	where, err := w.visible(ctx, object, b)
	if err != nil {
		return "", err
	}
	edit, err := w.cfg.Visible.WhereOne(ctx, w.Tx, w.Caller.Tenant, object, w.User, model.Edit, b)
	return "SELECT " + columns + ", CASE WHEN (" + edit + ") THEN 1 ELSE 0 END FROM records_record r WHERE " + where +
		" AND " + b.OneOf(w.Tx, "r.id", ids), err
}

// visible is the condition of living records r of an object that the caller sees.
func (w *session) visible(ctx context.Context, object string, b *sqldb.Binds) (string, error) {
	tenant, name := b.Add(w.Caller.Tenant), b.Add(object)
	seen, err := w.cfg.Visible.WhereOne(ctx, w.Tx, w.Caller.Tenant, object, w.User, model.Read, b)
	return "r.tenant_id = " + tenant + " AND r.object = " + name + " AND r.deleted_at = 0 AND (" + seen + ")", err
}

// get reads one record that the caller sees.
func (w *session) get(ctx context.Context, object, id string, how hold) (*row, error) {
	if id = strings.ToLower(id); !model.ValidID(id) {
		return nil, notFound(object, id)
	}
	rows, err := w.load(ctx, object, []string{id}, how)
	if err != nil {
		return nil, err
	}
	if rows[id] == nil {
		return nil, notFound(object, id)
	}
	return rows[id], nil
}

// getFor is get of a record, of which something is read or, if the caller may edit it,
// changed.
func (w *session) getFor(ctx context.Context, op model.Op, object, id string, how hold) (*row, error) {
	r, err := w.get(ctx, object, id, how)
	if err == nil && op == model.UpdateOp && !r.edit {
		err = notEdited(object, id)
	}
	return r, err
}

// loadParents reads the records that fields name, by object, and holds them so that nobody
// deletes them. What the caller may not read is not among them.
func (w *session) loadParents(ctx context.Context, wanted map[string][]string) (parents, error) {
	found := parents{}
	for _, object := range w.Model.Objects() { // in one order, so that nobody waits in a circle
		ids := wanted[object.Name]
		if len(ids) == 0 || !w.Model.Can(w.User, object.Name, model.ReadOp) {
			continue
		}
		slices.Sort(ids)
		rows, err := w.load(ctx, object.Name, slices.Compact(ids), named)
		if err != nil {
			return nil, err
		}
		for id, r := range rows {
			found[id] = parent{object.Name, r.AccountID}
		}
	}
	return found, nil
}

// loadChildren counts the living records that name some records.
func (w *session) loadChildren(ctx context.Context, object string, ids []string) (map[string][]child, error) {
	found := map[string][]child{}
	if len(ids) == 0 {
		return found, nil
	}
	b := sqldb.Bind(w.Caller.Tenant)
	query := "SELECT to_id, object, field, count(*) FROM records_reference WHERE tenant_id = $1 AND " +
		b.OneOf(w.Tx, "to_id", ids) + " GROUP BY to_id, object, field" + w.sql.inOrder("to_id") + ", object, field"
	if err := w.countChildren(ctx, found, query, b.Args()); err != nil || object != objLead && object != objContact {
		return found, err
	}
	b = sqldb.Bind(w.Caller.Tenant, object)
	query = "SELECT member_id, 'Campaign', 'members', count(*) FROM records_member WHERE tenant_id = $1 AND " +
		"member_type = $2 AND " + b.OneOf(w.Tx, "member_id", ids) + notLeaving + " GROUP BY member_id" +
		w.sql.inOrder("member_id")
	return found, w.countChildren(ctx, found, query, b.Args())
}

func (w *session) countChildren(ctx context.Context, into map[string][]child, query string, args []any) error {
	for found, err := range w.Tx.Query(ctx, query, args...) {
		var id string
		var c child
		if err == nil {
			err = found.Scan(&id, &c.Object, &c.Field, &c.Count)
		}
		if err != nil {
			return err
		}
		into[id] = append(into[id], c)
	}
	return nil
}

// loadLocks reads what approvals keep of some records as it is.
func (w *session) loadLocks(ctx context.Context, object string, ids []string) (map[string][]lock, error) {
	locks := map[string][]lock{}
	if len(ids) == 0 {
		return locks, nil
	}
	b := sqldb.Bind(w.Caller.Tenant, object)
	query := "SELECT record_id, approval_id, fields FROM records_lock WHERE tenant_id = $1 AND object = $2 AND " +
		b.OneOf(w.Tx, "record_id", ids) + w.sql.inOrder("record_id") + ", approval_id"
	for found, err := range w.Tx.Query(ctx, query, b.Args()...) {
		var id, fields string
		var l lock
		if err == nil {
			err = found.Scan(&id, &l.Approval, &fields)
		}
		if err == nil {
			err = json.Unmarshal([]byte(fields), &l.Fields)
		}
		if err != nil {
			return nil, err
		}
		locks[id] = append(locks[id], l)
	}
	return locks, nil
}
