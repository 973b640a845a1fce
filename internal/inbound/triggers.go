package inbound

import (
	"context"
	"errors"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/platform/audit"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// StoredTrigger is a trigger as it is kept. Its secret is not shown, only whether it has one.
type StoredTrigger struct {
	ID string `json:"id"`
	Trigger
	HasSecret bool            `json:"hasSecret"`
	CreatedAt canonical.Stamp `json:"createdAt"`
	UpdatedAt canonical.Stamp `json:"updatedAt"`

	secret string // its digest
}

// Triggers lets the events of other systems start executions of any graph. What is remembered, written into the audit
// log and counted is that of workflow events.
type Triggers struct{ in *Deliveries }

// Triggers are those beside the templates of workflow events.
func (t *Deliveries) Triggers() *Triggers { return &Triggers{t} }

const (
	triggerColumns = "id, body, secret, created_at, updated_at"
	selectTrigger  = "SELECT " + triggerColumns + " FROM trigger_definition WHERE tenant_id = $1 AND id = $2"
	selectTriggers = "SELECT " + triggerColumns +
		" FROM trigger_definition WHERE tenant_id = $1 ORDER BY id LIMIT $2 OFFSET $3"
	countTriggers = "SELECT count(*) FROM trigger_definition WHERE tenant_id = $1"
)

func scanTrigger(row *sqldb.Row) (s StoredTrigger, err error) {
	var body string
	if err = row.Scan(&s.ID, &body, &s.secret, &s.CreatedAt, &s.UpdatedAt); err == nil {
		s.HasSecret = s.secret != ""
		err = json.Unmarshal([]byte(body), &s.Trigger)
	}
	return s, err
}

func noTrigger(id string) *fault.Error {
	return fault.New(fault.NotFound, "TRIGGER_NOT_FOUND", "there is no trigger %.128q", id).Because(fault.NoTemplate)
}

// Editor is who changes a trigger.
type Editor struct {
	Caller
	Subject string // "": not known
}

// Put stores a trigger that ParseTrigger has read. created says that there was none with this id. One that says
// the same as what is stored changes nothing.
func (t *Triggers) Put(ctx context.Context, by Editor, id string, def Trigger, secret Secret) (
	stored StoredTrigger, created bool, err error,
) {
	if !canonical.Name(id) {
		return stored, false, badMember("id", "the id of a trigger is 1 to %d of A-Z a-z 0-9 . _ -", canonical.MaxName)
	}
	there, err := t.in.cfg.HasGraph(ctx, by.Tenant, def.Graph)
	if err != nil {
		return stored, false, fault.Wrap("inbound.trigger", err)
	}
	if !there {
		return stored, false, badMember("graph", "graph %s does not exist; register it first with PUT /graphs/%s",
			def.Graph, def.Graph)
	}
	body, err := json.Marshal(def, json.Deterministic(true))
	if err != nil {
		return stored, false, fault.Wrap("inbound.trigger", err)
	}
	err = t.in.db.Write(ctx, sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
		_, changes, err := lock(ctx, tx, by.Tenant)
		if err != nil {
			return err
		}
		was, err := scanTrigger(tx.Row(ctx, selectTrigger, by.Tenant, id))
		created = errors.Is(err, sqldb.ErrNoRow)
		if err != nil && !created {
			return err
		}
		stored = StoredTrigger{ID: id, Trigger: def, CreatedAt: was.CreatedAt, secret: was.secret}
		if secret.Given {
			stored.secret = secret.digest()
		}
		stored.HasSecret = stored.secret != ""
		return t.put(ctx, tx, by, &was, &stored, string(body), changes+1)
	})
	return stored, created, fault.Wrap("inbound.trigger", err)
}

// put stores what a trigger is to be, unless it is that already. The tenant is locked.
func (t *Triggers) put(
	ctx context.Context, tx *sqldb.Tx, by Editor, was, s *StoredTrigger, body string, changes int64,
) error {
	if was.ID != "" {
		same, err := json.Marshal(was.Trigger, json.Deterministic(true))
		if err != nil || string(same) == body && was.secret == s.secret {
			*s = *was
			return err
		}
	} else {
		var n int
		if err := tx.Row(ctx, countTriggers, by.Tenant).Scan(&n); err != nil {
			return err
		}
		if n >= MaxTriggers {
			return fault.New(fault.TooLarge, "TOO_MANY_TRIGGERS",
				"there are %d triggers, the most that a tenant may have; delete some", n)
		}
	}
	now, err := t.in.now(ctx, tx)
	if err != nil {
		return err
	}
	if s.UpdatedAt = now; was.ID == "" {
		s.CreatedAt = now
	}
	return edited(ctx, tx, by, "trigger.put", s.ID, now, changed(by.Tenant, changes), sqldb.Stmt{
		Query: `INSERT INTO trigger_definition (tenant_id, id, body, secret, created_at, updated_at)
			VALUES ($1, $2, $3, $4, $5, $6)
			ON CONFLICT (tenant_id, id) DO UPDATE SET body = excluded.body, secret = excluded.secret,
			updated_at = excluded.updated_at`,
		Args: []any{by.Tenant, s.ID, body, s.secret, s.CreatedAt, s.UpdatedAt},
	})
}

// edited runs the statements of a change with its line in the audit log.
func edited(
	ctx context.Context, tx *sqldb.Tx, by Editor, action, id string, now canonical.Stamp, stmts ...sqldb.Stmt,
) error {
	line, err := audit.Stmt(audit.Entry{
		At: now, Tenant: by.Tenant, Actor: by.Subject, Action: action, Subject: id, CorrelationID: by.CorrelationID,
		Outcome: audit.Accepted,
	})
	if err != nil {
		return err
	}
	return tx.Batch(ctx, append(stmts, line)...)
}

// Get is a trigger.
func (t *Triggers) Get(ctx context.Context, tenant, id string) (s StoredTrigger, err error) {
	err = t.in.db.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		s, err = scanTrigger(tx.Row(ctx, selectTrigger, tenant, id))
		return err
	})
	if errors.Is(err, sqldb.ErrNoRow) {
		err = noTrigger(id)
	}
	return s, fault.Wrap("inbound.trigger", err)
}

// List is a page of a tenant's triggers, by id, and how many there are.
func (t *Triggers) List(ctx context.Context, tenant string, offset, limit int) (
	page []StoredTrigger, total int, err error,
) {
	err = t.in.db.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		if err := tx.Row(ctx, countTriggers, tenant).Scan(&total); err != nil {
			return err
		}
		page, err = sqldb.Collect(ctx, tx, scanTrigger, selectTriggers, tenant, limit, offset)
		return err
	})
	return page, total, fault.Wrap("inbound.triggers", err)
}

// Delete deletes a trigger. Its executions go on, and its receipts stay.
func (t *Triggers) Delete(ctx context.Context, by Editor, id string) error {
	err := t.in.db.Write(ctx, sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
		_, changes, err := lock(ctx, tx, by.Tenant)
		if err != nil {
			return err
		}
		now, err := t.in.now(ctx, tx)
		if err != nil {
			return err
		}
		n, err := tx.Exec(ctx, "DELETE FROM trigger_definition WHERE tenant_id = $1 AND id = $2", by.Tenant, id)
		if err == nil && n == 0 {
			return noTrigger(id)
		}
		if err != nil {
			return err
		}
		return edited(ctx, tx, by, "trigger.delete", id, now, changed(by.Tenant, changes+1))
	})
	return fault.Wrap("inbound.trigger", err)
}
