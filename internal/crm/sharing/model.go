package sharing

import (
	"context"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/crm/kit/rebuild"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/sqldb"
)

// Status is the status of a model.
type Status int

// The statuses. They are part of what is stored.
const (
	Building Status = 1
	Active   Status = 2
	Retired  Status = 3 // it was active
	Canceled Status = 4 // it never was
)

// MarshalText gives the status's name.
func (s Status) MarshalText() ([]byte, error) {
	return []byte([...]string{"", "BUILDING", "ACTIVE", "RETIRED", "CANCELED"}[s]), nil
}

// Model is how an object is or was shared.
type Model struct {
	Object  string `json:"object"`
	Version int64  `json:"version"`
	Status  Status `json:"status"`
	Setup
	Execution string          `json:"executionId,omitzero"` // of the rebuild; "": there is none, or it is yet to start
	Processed int             `json:"recordsProcessed"`     // records that a rebuild has done
	Total     int             `json:"recordsTotal"`         // about how many it has to do
	CreatedAt canonical.Stamp `json:"createdAt"`
	ActiveAt  canonical.Stamp `json:"activeAt,omitzero"` // 0: never
	EndedAt   canonical.Stamp `json:"endedAt,omitzero"`  // 0: not yet

	num    int64
	tenant string
	place  string
	stored string // the setup as it is stored
}

// models are the models that the rest of a statement selects.
func models(ctx context.Context, tx *sqldb.Tx, where string, args ...any) ([]Model, error) {
	return sqldb.Collect(ctx, tx, func(row *sqldb.Row) (m Model, err error) {
		err = row.Scan(&m.num, &m.tenant, &m.Object, &m.Version, &m.Status, &m.stored, &m.Execution, &m.place,
			&m.Processed, &m.Total, &m.CreatedAt, &m.ActiveAt, &m.EndedAt)
		if err == nil {
			err = json.Unmarshal([]byte(m.stored), &m.Setup)
		}
		return m, err
	}, `SELECT num, tenant_id, object, version, status, setup, execution, place, processed, total, created_at,
		active_at, ended_at FROM sharing_model WHERE `+where, args...)
}

// currentModels are the active model of an object, then the one that is being built; of
// all objects with "".
func currentModels(ctx context.Context, tx *sqldb.Tx, tenant, object string) ([]Model, error) {
	if object == "" {
		return models(ctx, tx, "tenant_id = $1 AND status < 3 ORDER BY object, status DESC, num", tenant)
	}
	return models(ctx, tx, "tenant_id = $1 AND object = $2 AND status < 3 ORDER BY status DESC, num", tenant, object)
}

// activeModel is the model of an object that is in force, nil as long as nothing was
// handled of the object.
func activeModel(ctx context.Context, tx *sqldb.Tx, tenant, object string) (*Model, error) {
	return sqldb.Remember(tx, activeOf{tenant, object}, func() (*Model, error) {
		now, err := currentModels(ctx, tx, tenant, object)
		if err != nil || len(now) == 0 || now[0].Status != Active {
			return nil, err
		}
		return &now[0], nil
	})
}

// activeOf is the key by which a transaction remembers the active model of an object.
type activeOf struct{ tenant, object string }

// activeOr is the active model of an object, or one that would be made of its setup now.
func activeOr(ctx context.Context, tx *sqldb.Tx, m *model.Model, object string) (*Model, error) {
	active, err := activeModel(ctx, tx, m.Tenant, object)
	if err == nil && active == nil {
		active = &Model{Setup: setupOf(m, object)}
	}
	return active, err
}

// ensureModels are the current models of an object. The first one of an object is active
// at once: whatever records there are, their events are handled after it exists.
func (s *Sharing) ensureModels(ctx context.Context, tx *sqldb.Tx, tenant, object string) ([]Model, error) {
	now, err := currentModels(ctx, tx, tenant, object)
	if err != nil || len(now) > 0 {
		return now, err
	}
	// The order of locks is that of resetup: the tenant first.
	if _, _, err := holdTenant(ctx, tx, tenant); err != nil {
		return nil, err
	}
	if now, err = currentModels(ctx, tx, tenant, object); err != nil || len(now) > 0 {
		return now, err
	}
	m, err := s.cfg.Models.Model(ctx, tx, tenant)
	if err != nil || m.Object(object) == nil {
		return nil, err
	}
	if err := s.insertModel(ctx, tx, m, object, Active); err != nil {
		return nil, err
	}
	return currentModels(ctx, tx, tenant, object)
}

// resetup starts a rebuild of an object whose setup is not that of its newest model, or in any
// case with force. A running one with another setup is canceled.
func (s *Sharing) resetup(ctx context.Context, tx *sqldb.Tx, tenant, object string, force bool) error {
	if _, _, err := holdTenant(ctx, tx, tenant); err != nil {
		return err
	}
	if err := kit.SharingLocks.Hold(ctx, tx, lockOf(tenant, object)); err != nil {
		return err
	}
	now, err := s.ensureModels(ctx, tx, tenant, object)
	if err != nil || len(now) == 0 {
		return err
	}
	m, err := s.cfg.Models.Model(ctx, tx, tenant)
	if err != nil {
		return err
	}
	setup := setupOf(m, object)
	want, err := setup.text()
	if err != nil {
		return err
	}
	newest := &now[len(now)-1]
	if want == newest.stored && (!force || newest.Status == Building) {
		return nil
	}
	if newest.Status == Building {
		if err := s.endModel(ctx, tx, newest, Canceled); err != nil {
			return err
		}
	}
	if force || want != now[0].stored {
		if err := s.insertModel(ctx, tx, m, object, Building); err != nil {
			return err
		}
	}
	return s.reclose(ctx, tx, tenant)
}

// insertModel makes the next model of an object. The tenant is locked.
func (s *Sharing) insertModel(ctx context.Context, tx *sqldb.Tx, m *model.Model, object string, status Status) error {
	setup := setupOf(m, object)
	text, err := setup.text()
	if err != nil {
		return err
	}
	at, err := s.Now(ctx, tx)
	if err != nil {
		return err
	}
	total, active := 0, canonical.Stamp(0)
	if status == Active {
		active = at
	} else if total, err = s.cfg.Records.Count(ctx, tx, m.Tenant, object); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO sharing_model (tenant_id, object, version, status, setup, execution, place,
			processed, total, created_at, active_at, ended_at, swept)
		VALUES ($1, $2, (SELECT coalesce(max(version), 0) + 1 FROM sharing_model WHERE tenant_id = $1 AND object = $2),
			$3, $4, '', '', 0, $5, $6, $7, 0, 0)`, m.Tenant, object, status, text, total, at, active)
	if err != nil {
		return err
	}
	tx.OnCommit(s.runs.Wake)
	if err := bump(ctx, tx, m.Tenant); err != nil || len(setup.Rules) == 0 {
		return err
	}
	return s.reclose(ctx, tx, m.Tenant)
}

// endModel ends a model; its rows are deleted later.
func (s *Sharing) endModel(ctx context.Context, tx *sqldb.Tx, m *Model, status Status) error {
	at, err := s.Now(ctx, tx)
	if err != nil {
		return err
	}
	if err := changeModel(ctx, tx, m, "status = $3, ended_at = $4", "status < 3", status, at); err != nil {
		return err
	}
	tx.OnCommit(s.runs.Wake)
	return bump(ctx, tx, m.tenant)
}

// changeModel changes a model under a condition. rebuild.ErrGone: it does not hold.
func changeModel(ctx context.Context, tx *sqldb.Tx, m *Model, set, when string, args ...any) error {
	n, err := tx.Exec(ctx, "UPDATE sharing_model SET "+set+" WHERE num = $1 AND tenant_id = $2 AND "+when,
		append([]any{m.num, m.tenant}, args...)...)
	if err == nil && n == 0 {
		err = rebuild.ErrGone
	}
	return err
}

// MaxModels is how many models of an object that have ended are retained.
const MaxModels = 20

// ListModels are the models of a tenant, by object and from the newest on; of one object
// unless that is "".
func (s *Sharing) ListModels(ctx context.Context, tenant, object string) (all []Model, err error) {
	err = s.Read(ctx, "models", func(ctx context.Context, tx *sqldb.Tx) error {
		m, err := s.cfg.Models.Model(ctx, tx, tenant)
		if err != nil {
			return err
		}
		if object != "" && m.Object(object) == nil {
			return noObject(m, object)
		}
		all, err = models(ctx, tx, "tenant_id = $1 AND ($2 = '' OR object = $2) ORDER BY object, version DESC",
			tenant, object)
		return err
	})
	return all, err
}
