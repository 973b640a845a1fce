package records

import (
	"context"
	"strings"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/sqldb"
)

// Find is a living record that a user sees, and whether the user may edit it, in the
// transaction of the one who asks. With hold nobody changes it until that ends.
func (s *Records) Find(ctx context.Context, tx *sqldb.Tx, who model.Viewer, object, id string, hold bool) (
	r model.Record, edit bool, err error,
) {
	w, err := s.sessionOf(ctx, tx, who)
	if err != nil {
		return r, false, err
	}
	if _, err := w.viewOf(object, model.ReadOp); err != nil {
		return r, false, err
	}
	how := loose
	if hold {
		how = changing
	}
	found, err := w.get(ctx, object, id, how)
	if err != nil {
		return r, false, err
	}
	return found.Record, found.edit && w.Model.Can(who.User, object, model.UpdateOp), nil
}

// sessionOf is the work of a user whom another service knows.
func (s *Records) sessionOf(ctx context.Context, tx *sqldb.Tx, who model.Viewer) (*session, error) {
	m, err := s.cfg.Models.Model(ctx, tx, who.Tenant)
	as := kit.Session{Tx: tx, Caller: Caller{Tenant: who.Tenant}, Model: m, User: who.User}
	return &session{Records: s, Session: as}, err
}

// Seen is a condition in SQL that is true when two columns, object and id, name a living
// record that a user sees. Its arguments are added to binds.
func (s *Records) Seen(ctx context.Context, tx *sqldb.Tx, who model.Viewer, object, id string, binds *sqldb.Binds) (
	string, error,
) {
	w, err := s.sessionOf(ctx, tx, who)
	if err != nil {
		return "", err
	}
	var parts []string
	for _, o := range w.Model.Objects() {
		if !w.Model.Can(who.User, o.Name, model.ReadOp) {
			continue
		}
		where, err := w.visible(ctx, o.Name, binds)
		if err != nil {
			return "", err
		}
		parts = append(parts, object+" = "+binds.Add(o.Name)+" AND EXISTS (SELECT 1 FROM records_record r WHERE "+where+
			" AND r.id = "+id+")")
	}
	if len(parts) == 0 {
		return "1 = 0", nil
	}
	return "(" + strings.Join(parts, " OR ") + ")", nil
}

// Locks is how approvals keep fields as they are, in the transaction of the one who
// submits or decides. It has no state.
type Locks struct{}

// Lock keeps fields of a record as they are until Unlock.
func (Locks) Lock(ctx context.Context, tx *sqldb.Tx, tenant string, l model.FieldLock) error {
	if l.Fields == nil {
		l.Fields = []string{}
	}
	list, err := json.Marshal(l.Fields)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `
		INSERT INTO records_lock (tenant_id, object, record_id, approval_id, fields, at) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (tenant_id, approval_id) DO UPDATE SET object = excluded.object, record_id = excluded.record_id,
			fields = excluded.fields, at = excluded.at`,
		tenant, l.Object, l.RecordID, l.ApprovalID, string(list), l.At)
	return err
}

// Unlock lets go of what an approval keeps.
func (Locks) Unlock(ctx context.Context, tx *sqldb.Tx, tenant, approval string) error {
	_, err := tx.Exec(ctx, "DELETE FROM records_lock WHERE tenant_id = $1 AND approval_id = $2", tenant, approval)
	return err
}

// Walk gives the locks of a tenant by approval, behind one; "" is the beginning.
func (Locks) Walk(ctx context.Context, tx *sqldb.Tx, tenant, after string, limit int) (
	[]model.FieldLock, error,
) {
	return sqldb.Collect(ctx, tx, func(row *sqldb.Row) (l model.FieldLock, err error) {
		var fields string
		if err := row.Scan(&l.ApprovalID, &l.Object, &l.RecordID, &fields, &l.At); err != nil {
			return l, err
		}
		return l, json.Unmarshal([]byte(fields), &l.Fields)
	}, `SELECT approval_id, object, record_id, fields, at FROM records_lock
		WHERE tenant_id = $1 AND approval_id > $2 ORDER BY approval_id LIMIT $3`, tenant, after, limit)
}
