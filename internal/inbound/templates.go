package inbound

import (
	"context"
	"errors"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// Stored is a template as it is kept.
type Stored struct {
	ID string `json:"id"`
	Template
	GraphVersion int             `json:"graph_version"` // of the graph that its runs are of
	CreatedAt    canonical.Stamp `json:"created_at"`
	UpdatedAt    canonical.Stamp `json:"updated_at"`
}

const (
	templateColumns = "id, body, graph_version, created_at, updated_at"
	selectTemplate  = "SELECT " + templateColumns + " FROM trigger_template WHERE tenant_id = $1 AND id = $2"
	selectTemplates = "SELECT " + templateColumns +
		" FROM trigger_template WHERE tenant_id = $1 ORDER BY id LIMIT $2 OFFSET $3"
)

// PutTemplate stores a template that ParseTemplate has read. created says that there
// was none with this id. One that says the same as what is stored changes nothing.
func (t *Deliveries) PutTemplate(ctx context.Context, tenant, id string, tpl Template) (
	stored Stored, created bool, err error,
) {
	if !canonical.Name(id) {
		return Stored{}, false, unfit("a template id is 1 to %d of A-Z a-z 0-9 . _ -", canonical.MaxName)
	}
	body, err := json.Marshal(tpl, json.Deterministic(true))
	if err != nil {
		return Stored{}, false, fault.Wrap("inbound.template", err)
	}
	row, _, err := t.cfg.Engine.PutGraph(ctx, tenant, graphID(id), tpl.graph())
	if err != nil {
		return Stored{}, false, fault.Wrap("inbound.template", err)
	}
	err = t.db.Write(ctx, sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
		s := Stored{ID: id, Template: tpl, GraphVersion: row.Version}
		stored, created, err = t.putTemplate(ctx, tx, tenant, s, string(body))
		return err
	})
	if err != nil {
		return Stored{}, false, fault.Wrap("inbound.template", err)
	}
	return stored, created, nil
}

func (t *Deliveries) putTemplate(ctx context.Context, tx *sqldb.Tx, tenant string, s Stored, body string) (
	Stored, bool, error,
) {
	_, revision, err := lock(ctx, tx, tenant)
	if err != nil {
		return s, false, err
	}
	was, err := scanTemplate(tx.Row(ctx, selectTemplate, tenant, s.ID))
	created := errors.Is(err, sqldb.ErrNoRow)
	if err != nil && !created {
		return s, false, err
	}
	if !created && was.GraphVersion == s.GraphVersion {
		same, err := json.Marshal(was.Template, json.Deterministic(true))
		if err != nil || string(same) == body {
			return was, false, err
		}
	}
	if s.UpdatedAt, err = t.now(ctx, tx); err != nil {
		return s, false, err
	}
	if s.CreatedAt = was.CreatedAt; created {
		s.CreatedAt = s.UpdatedAt
	}
	return s, created, tx.Batch(ctx, changed(tenant, revision+1), sqldb.Stmt{
		Query: `INSERT INTO trigger_template (tenant_id, id, body, first_kind, first_action, graph_version,
			created_at, updated_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
			ON CONFLICT (tenant_id, id) DO UPDATE SET body = excluded.body, first_kind = excluded.first_kind,
			first_action = excluded.first_action, graph_version = excluded.graph_version,
			updated_at = excluded.updated_at`,
		Args: []any{
			tenant, s.ID, body, string(s.Steps[0].Kind), s.Steps[0].Action, s.GraphVersion, s.CreatedAt,
			s.UpdatedAt,
		},
	})
}

// lock locks the row of a tenant until the transaction ends: what is read of its tables afterwards is
// current. It gives the number of the last receipt and that of changes of templates.
func lock(ctx context.Context, tx *sqldb.Tx, tenant string) (receipts, templates int64, err error) {
	st := lockStmt(tenant, &receipts, &templates)
	return receipts, templates, tx.Batch(ctx, st)
}

func lockStmt(tenant string, receipts, templates *int64) sqldb.Stmt {
	return sqldb.Stmt{
		Query: `INSERT INTO trigger_tenant AS t (tenant_id, receipts, templates) VALUES ($1, 0, 0)
			ON CONFLICT (tenant_id) DO UPDATE SET receipts = t.receipts RETURNING receipts, templates`,
		Args: []any{tenant},
		Row:  func(r *sqldb.Row) error { return r.Scan(receipts, templates) },
	}
}

// changed counts a change of a tenant's templates.
func changed(tenant string, revision int64) sqldb.Stmt {
	return sqldb.Stmt{
		Query: "UPDATE trigger_tenant SET templates = $2 WHERE tenant_id = $1",
		Args:  []any{tenant, revision},
	}
}

func scanTemplate(row *sqldb.Row) (s Stored, err error) {
	var body string
	if err = row.Scan(&s.ID, &body, &s.GraphVersion, &s.CreatedAt, &s.UpdatedAt); err == nil {
		err = json.Unmarshal([]byte(body), &s.Template)
	}
	return s, err
}

// Template is the template with an id.
func (t *Deliveries) Template(ctx context.Context, tenant, id string) (s Stored, err error) {
	if !canonical.Name(id) {
		return s, noTemplate(msgNoTemplate)
	}
	err = t.db.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		s, err = scanTemplate(tx.Row(ctx, selectTemplate, tenant, id))
		return err
	})
	if errors.Is(err, sqldb.ErrNoRow) {
		err = noTemplate(msgNoTemplate)
	}
	return s, fault.Wrap("inbound.template", err)
}

// Templates is a page of a tenant's templates, by id, and how many there are.
func (t *Deliveries) Templates(ctx context.Context, tenant string, offset, limit int) (
	page []Stored, total int, err error,
) {
	err = t.db.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		const count = "SELECT count(*) FROM trigger_template WHERE tenant_id = $1"
		if err := tx.Row(ctx, count, tenant).Scan(&total); err != nil {
			return err
		}
		page, err = sqldb.Collect(ctx, tx, scanTemplate, selectTemplates, tenant, limit, offset)
		return err
	})
	return page, total, fault.Wrap("inbound.templates", err)
}

// DeleteTemplate deletes a template. Its runs go on, and its receipts stay.
func (t *Deliveries) DeleteTemplate(ctx context.Context, tenant, id string) error {
	if !canonical.Name(id) {
		return noTemplate(msgNoTemplate)
	}
	err := t.db.Write(ctx, sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
		_, revision, err := lock(ctx, tx, tenant)
		if err != nil {
			return err
		}
		n, err := tx.Exec(ctx, "DELETE FROM trigger_template WHERE tenant_id = $1 AND id = $2", tenant, id)
		if err == nil && n == 0 {
			return noTemplate(msgNoTemplate)
		}
		if err != nil {
			return err
		}
		return tx.Batch(ctx, changed(tenant, revision+1))
	})
	return fault.Wrap("inbound.template", err)
}
