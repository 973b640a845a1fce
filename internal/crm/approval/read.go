package approval

import (
	"context"
	"slices"
	"strings"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/rest"
	"renga.dev/renga/internal/platform/sqldb"
)

// MaxAssigned is how many approvals that wait for somebody are looked at, the oldest
// first, to find those that it has not decided or handed on yet.
const MaxAssigned = 5000

// Filter says which approvals are wanted; zero values are all.
type Filter struct {
	Object      string
	RecordID    string
	SubmittedBy string
	Status      *Status
	Assigned    bool // that wait for a decision of the caller
}

// Get is an approval that the caller may know of, as JSON (View).
func (s *Approvals) Get(ctx context.Context, c Caller, id string) (out []byte, err error) {
	err = s.read(ctx, "get", c, func(ctx context.Context, w *session) error {
		a, err := w.visible(ctx, id)
		if err == nil {
			out, err = w.showNow(ctx, a)
		}
		return err
	})
	return out, err
}

// List gives a page of the approvals that the caller may know of, the newest first, and
// how many there are. Those that wait for the caller come the oldest first.
func (s *Approvals) List(ctx context.Context, c Caller, f Filter, offset, limit int) (
	page []Summary, total int, err error,
) {
	err = s.read(ctx, "list", c, func(ctx context.Context, w *session) error {
		if f.Object != "" && w.Model.Object(f.Object) == nil {
			return rest.Invalid("object", "%.80q is not an object; the objects are %s", f.Object, w.Model.ObjectNames())
		}
		if f.Assigned {
			page, total, err = w.assigned(ctx, &f, offset, limit)
		} else {
			page, total, err = w.list(ctx, &f, offset, limit)
		}
		return err
	})
	return page, total, err
}

// visible is an approval that the caller may know of.
func (w *session) visible(ctx context.Context, id string) (*instance, error) {
	if id = strings.ToLower(id); !model.ValidID(id) {
		return nil, noApproval(id)
	}
	b := sqldb.Bind(w.Caller.Tenant)
	where, err := w.known(ctx, b)
	if err != nil {
		return nil, err
	}
	found, err := instances(ctx, w.Tx, selectInstances+where+
		" AND a.id = "+b.Add(id), b.Args()...)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, noApproval(id)
	}
	return &found[0], load(ctx, w.Tx, w.Caller.Tenant, &found[0])
}

// known is the condition of approvals that the caller may know of: it sees their records,
// or their open stages wait for it. $1 is the tenant.
func (w *session) known(ctx context.Context, b *sqldb.Binds) (string, error) {
	seen, err := w.cfg.Core.Seen(ctx, w.Tx, w.viewer(), "a.object", "a.record_id", b)
	if err != nil {
		return "", err
	}
	waits, err := w.waiting(ctx, b)
	return "(" + seen + " OR " + waits + ")", err
}

// waiting is the condition of approvals whose open stages wait for the caller, or have
// until it decided. Who submitted one is no approver of it, whomever its steps name. $1 is the tenant.
func (w *session) waiting(ctx context.Context, b *sqldb.Binds) (string, error) {
	readable := []string{}
	for _, o := range w.Model.Objects() {
		if w.Model.Can(w.User, o.Name, model.ReadOp) {
			readable = append(readable, o.Name)
		}
	}
	objects := b.OneOf(w.Tx, "a.object", readable)
	principals := b.OneOf(w.Tx, "p.principal", principalsOf(w.Model, w.User))
	places := "a.id IN (SELECT p.approval_id FROM approval_principal p WHERE p.tenant_id = $1 AND " + principals + ")"
	delegated, err := w.delegated(ctx)
	if err != nil {
		return "", err
	}
	if len(delegated) > 0 {
		places = "(" + places + " OR " + b.OneOf(w.Tx, "a.id", delegated) + ")"
	}
	return "a.status = 0 AND " + objects + " AND a.submitted_by <> " + b.Add(w.User) + " AND " + places, nil
}

// delegated are the pending approvals in whose open stage the caller has the place of an
// approver. A place goes with its approver: who was given one by somebody who is none any
// more has nothing.
func (w *session) delegated(ctx context.Context) (ids []string, err error) {
	found, err := loaded(ctx, w.Tx, w.Caller.Tenant, selectInstances+
		`a.status = 0 AND a.id IN
		(SELECT p.approval_id FROM approval_principal p WHERE p.tenant_id = $1 AND p.principal = $2)
		ORDER BY a.submitted_at, a.id LIMIT $3`, w.Caller.Tenant, deputyOf+w.User, MaxAssigned)
	if err != nil {
		return nil, err
	}
	for _, a := range found {
		if slices.ContainsFunc(slots(w.Model, a, a.at), func(s slot) bool {
			return s.deputy != nil && s.deputy.user == w.User
		}) {
			ids = append(ids, a.id)
		}
	}
	return ids, nil
}

// narrow adds the conditions of a filter.
func (f *Filter) narrow(where string, b *sqldb.Binds) string {
	for _, c := range []struct{ column, value string }{
		{"a.object", f.Object}, {"a.record_id", f.RecordID}, {"a.submitted_by", f.SubmittedBy},
	} {
		if c.value != "" {
			where += " AND " + c.column + " = " + b.Add(c.value)
		}
	}
	if f.Status != nil {
		where += " AND a.status = " + b.Add(int64(*f.Status))
	}
	return where
}

func (w *session) list(ctx context.Context, f *Filter, offset, limit int) (page []Summary, total int, err error) {
	b := sqldb.Bind(w.Caller.Tenant)
	where, err := w.known(ctx, b)
	if err != nil {
		return nil, 0, err
	}
	where = f.narrow(where, b)
	query := "SELECT count(*) FROM approval_instance a WHERE a.tenant_id = $1 AND " + where
	if err := w.Tx.Row(ctx, query, b.Args()...).Scan(&total); err != nil {
		return nil, 0, err
	}
	found, err := instances(ctx, w.Tx, selectInstances+where+
		" ORDER BY a.submitted_at DESC, a.id DESC LIMIT "+b.Add(limit)+" OFFSET "+b.Add(offset), b.Args()...)
	for i := range found {
		page = append(page, found[i].summary())
	}
	return page, total, err
}

// assigned are the approvals in whose open stage the caller holds a place that nobody has
// decided in.
func (w *session) assigned(ctx context.Context, f *Filter, offset, limit int) (page []Summary, total int, err error) {
	b := sqldb.Bind(w.Caller.Tenant)
	where, err := w.waiting(ctx, b)
	if err != nil {
		return nil, 0, err
	}
	where = f.narrow(where, b)
	found, err := loaded(ctx, w.Tx, w.Caller.Tenant, selectInstances+where+
		" ORDER BY a.submitted_at, a.id LIMIT "+b.Add(MaxAssigned), b.Args()...)
	if err != nil {
		return nil, 0, err
	}
	for _, a := range found {
		if !slices.ContainsFunc(slots(w.Model, a, a.at), func(s slot) bool {
			return s.vote == nil && s.holder() == w.User
		}) {
			continue
		}
		if total++; total > offset && len(page) < limit {
			page = append(page, a.summary())
		}
	}
	return page, total, nil
}

// Open reports whether an approval is pending, and holds it so until the transaction
// ends. It is for core, whose lock it is about.
func (s *Approvals) Open(ctx context.Context, tx *sqldb.Tx, tenant, id string) (bool, error) {
	query := "SELECT id FROM approval_instance WHERE tenant_id = $1 AND id = $2 AND status = 0"
	found, err := sqldb.Collect(ctx, tx, sqldb.Column[string], query+s.sql.forShare, tenant, id)
	return len(found) > 0, err
}

// Deciders are the users whom an approval waits for now; nobody when it has ended or is
// gone. It is for those who tell them.
func (s *Approvals) Deciders(ctx context.Context, tx *sqldb.Tx, tenant, id string) (users []string, err error) {
	a, err := find(ctx, tx, tenant, id, "")
	if fault.KindOf(err) == fault.NotFound {
		return nil, nil
	}
	if err != nil || a.status != Pending {
		return nil, err
	}
	m, err := s.cfg.Models.Model(ctx, tx, tenant)
	if err != nil {
		return nil, err
	}
	for _, place := range slots(m, a, a.at) {
		if place.vote == nil && !slices.Contains(users, place.holder()) {
			users = append(users, place.holder())
		}
	}
	return users, nil
}

// Reads is where others read approvals, in their transactions. It has no state.
type Reads struct{}

// Walk gives the approvals of a tenant by id, behind one; "" is the beginning.
func (Reads) Walk(ctx context.Context, tx *sqldb.Tx, tenant, after string, limit int) (
	all []model.Approval, err error,
) {
	return sqldb.Collect(ctx, tx, func(row *sqldb.Row) (a model.Approval, err error) {
		var status Status
		err = row.Scan(&a.ID, &a.Object, &a.RecordID, &a.SubmittedBy, &a.SubmittedAt, &status, &a.DecidedAt)
		if err == nil && status != Pending {
			a.Decision = status.String()
		}
		return a, err
	}, `SELECT id, object, record_id, submitted_by, submitted_at, status, decided_at FROM approval_instance
		WHERE tenant_id = $1 AND id > $2 ORDER BY id LIMIT $3`, tenant, after, limit)
}
