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

// inOrder is an ORDER BY of rows that are named by their ids. PostgreSQL does not sort what
// an index gives in order (settings of sqldb): it would rather read all rows of the tenant.
func inOrder(tx *sqldb.Tx, column string) string {
	if tx.Dialect() == sqldb.Postgres {
		return " ORDER BY " + column + " || ''"
	}
	return " ORDER BY " + column
}

// hold is how rows are held until the end of the transaction, on PostgreSQL.
type hold string

// The ways to hold rows: so that others do not name a record that is being deleted, and
// so that nobody deletes a record that is being named.
const (
	loose    hold = ""
	named    hold = " FOR KEY SHARE OF r"
	changing hold = " FOR NO KEY UPDATE OF r"
	deleting hold = " FOR UPDATE OF r"
)

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
	query += inOrder(w.tx, "r.id")
	if w.tx.Dialect() == sqldb.Postgres {
		query += string(how)
	}
	for found, err := range w.tx.Query(ctx, query, b.Args()...) {
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
	where, err := w.living(ctx, object, w.cfg.Visible.WhereOne, b)
	if err != nil {
		return "", err
	}
	edit, err := w.cfg.Visible.WhereOne(ctx, w.tx, w.caller.Tenant, object, w.user, model.Edit, b)
	if err != nil {
		return "", err
	}
	return "SELECT " + columns + ", CASE WHEN (" + edit + ") THEN 1 ELSE 0 END FROM records_record r WHERE " + where +
		" AND " + b.OneOf(w.tx, "r.id", ids), nil
}

// where is one of the methods of Visible.
type where func(ctx context.Context, tx *sqldb.Tx, tenant, object, user string, level model.Access,
	binds *sqldb.Binds) (string, error)

// living is the condition of records of an object that live and that the caller sees.
func (w *session) living(ctx context.Context, object string, ask where, b *sqldb.Binds) (string, error) {
	tenant, name := b.Add(w.caller.Tenant), b.Add(object)
	visible, err := ask(ctx, w.tx, w.caller.Tenant, object, w.user, model.Read, b)
	return "r.tenant_id = " + tenant + " AND r.object = " + name + " AND r.deleted_at = 0 AND (" + visible + ")", err
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

// loadParents reads the records that fields name, by object. What the caller may not read
// is not among them.
func (w *session) loadParents(ctx context.Context, wanted map[string][]string) (parents, error) {
	found := parents{}
	for _, object := range w.model.Objects() { // in one order, so that nobody waits in a circle
		ids := wanted[object.Name]
		if len(ids) == 0 || !w.model.Can(w.user, object.Name, model.ReadOp) {
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
	var b sqldb.Binds
	tenant := b.Add(w.caller.Tenant)
	query := "SELECT to_id, object, field, count(*) FROM records_reference WHERE tenant_id = " + tenant + " AND " +
		b.OneOf(w.tx, "to_id", ids) +
		" GROUP BY to_id, object, field" + inOrder(w.tx, "to_id") + ", object, field"
	if err := w.countChildren(ctx, found, query, b.Args()); err != nil || object != objLead && object != objContact {
		return found, err
	}
	var mb sqldb.Binds
	tenant, member := mb.Add(w.caller.Tenant), mb.Add(object)
	query = "SELECT member_id, 'Campaign', 'members', count(*) FROM records_member WHERE tenant_id = " + tenant +
		" AND member_type = " + member +
		" AND " + mb.OneOf(w.tx, "member_id", ids) + notLeaving + " GROUP BY member_id" +
		inOrder(w.tx, "member_id")
	return found, w.countChildren(ctx, found, query, mb.Args())
}

func (w *session) countChildren(ctx context.Context, into map[string][]child, query string, args []any) error {
	for found, err := range w.tx.Query(ctx, query, args...) {
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
	var b sqldb.Binds
	tenant, name := b.Add(w.caller.Tenant), b.Add(object)
	query := "SELECT record_id, approval_id, fields FROM records_lock WHERE tenant_id = " + tenant + " AND object = " +
		name + " AND " + b.OneOf(w.tx, "record_id", ids) +
		inOrder(w.tx, "record_id") + ", approval_id"
	for found, err := range w.tx.Query(ctx, query, b.Args()...) {
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
