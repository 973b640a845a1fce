package sharing

import (
	"context"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/crm/kit/rebuild"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
	"renga.dev/renga/internal/workflow/flow"
)

// Status is what a model is.
type Status int

// The statuses. They are part of what is stored.
const (
	Building Status = 1
	Active   Status = 2
	Retired  Status = 3 // it was active
	Canceled Status = 4 // it never was
)

// String is the status's name in JSON.
func (s Status) String() string {
	return [...]string{"", "BUILDING", "ACTIVE", "RETIRED", "CANCELED"}[s]
}

// Model is how an object is or was shared.
type Model struct {
	Object    string
	Version   int64
	Status    Status
	Setup     Setup
	Execution string // of the rebuild; "": there is none, or it is yet to start
	Processed int    // records that a rebuild has done
	Total     int    // about how many it has to do
	CreatedAt wire.Stamp
	ActiveAt  wire.Stamp // 0: never
	EndedAt   wire.Stamp // 0: not yet

	num    int64
	tenant string
	place  string
	text   string // of the setup, as it is stored
}

const (
	modelColumns = `num, tenant_id, object, version, status, setup, execution, place, processed, total, created_at, active_at, ended_at`

	selectCurrent = "SELECT " + modelColumns +
		" FROM sharing_model WHERE tenant_id = $1 AND object = $2 AND status < 3 ORDER BY status DESC, num"
	selectTenants = "SELECT " + modelColumns +
		" FROM sharing_model WHERE tenant_id = $1 AND status < 3 ORDER BY object, status DESC, num"
)

// currentModels are the active model of an object, then the one that is being built; of
// all objects with "".
func currentModels(ctx context.Context, tx *sqldb.Tx, tenant, object string) ([]Model, error) {
	if object == "" {
		return models(ctx, tx, selectTenants, tenant)
	}
	return models(ctx, tx, selectCurrent, tenant, object)
}

// models are the models that a statement selects.
func models(ctx context.Context, tx *sqldb.Tx, query string, args ...any) (all []Model, err error) {
	for row, err := range tx.Query(ctx, query, args...) {
		if err != nil {
			return nil, err
		}
		m, err := scanModel(row)
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

func scanModel(row *sqldb.Row) (m Model, err error) {
	var status int64
	err = row.Scan(&m.num, &m.tenant, &m.Object, &m.Version, &status, &m.text, &m.Execution, &m.place, &m.Processed,
		&m.Total,
		&m.CreatedAt, &m.ActiveAt, &m.EndedAt)
	if err != nil {
		return m, err
	}
	m.Status = Status(status)
	m.Setup, err = parseSetup(m.text)
	return m, err
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

// activeOf is what a transaction remembers the active model of an object by.
type activeOf struct{ tenant, object string }

// ensureModels are the current models of an object. The first one of an object is active
// at once: whatever records there are, their events are handled after it exists.
func (s *Sharing) ensureModels(ctx context.Context, tx *sqldb.Tx, tenant, object string) ([]Model, error) {
	now, err := currentModels(ctx, tx, tenant, object)
	if err != nil || len(now) > 0 {
		return now, err
	}
	// The order of holding is that of resetup: the tenant first.
	if _, _, err := holdTenant(ctx, tx, tenant); err != nil {
		return nil, err
	}
	if now, err = currentModels(ctx, tx, tenant, object); err != nil || len(now) > 0 {
		return now, err
	}
	m, err := s.cfg.Models.Model(ctx, tx, tenant)
	if err != nil {
		return nil, err
	}
	if m.Object(object) == nil {
		return nil, nil
	}
	if err := s.insertModel(ctx, tx, m, object, Active); err != nil {
		return nil, err
	}
	return currentModels(ctx, tx, tenant, object)
}

// resetup starts a rebuild of an object when it is to be shared in another way than by
// its newest model. One that is under way with another setup is given up.
func (s *Sharing) resetup(ctx context.Context, tx *sqldb.Tx, tenant, object string, force bool) error {
	if _, _, err := holdTenant(ctx, tx, tenant); err != nil {
		return err
	}
	if err := holdObject(ctx, tx, tenant, object); err != nil {
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
	if want == newest.text && (!force || newest.Status == Building) {
		return nil
	}
	if newest.Status == Building {
		if err := s.endModel(ctx, tx, newest, Canceled); err != nil {
			return err
		}
	}
	if force || want != now[0].text {
		if err := s.insertModel(ctx, tx, m, object, Building); err != nil {
			return err
		}
	}
	return s.reclose(ctx, tx, tenant)
}

// insertModel makes the next model of an object. The tenant is held.
func (s *Sharing) insertModel(ctx context.Context, tx *sqldb.Tx, m *model.Model, object string, status Status) error {
	setup := setupOf(m, object)
	text, err := setup.text()
	if err != nil {
		return err
	}
	at, err := s.now(ctx, tx)
	if err != nil {
		return err
	}
	total, active := 0, wire.Stamp(0)
	if status == Active {
		active = at
	} else if total, err = s.cfg.Records.Count(ctx, tx, m.Tenant, object); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO sharing_model (tenant_id, object, version, status, setup, execution, place, processed, total, created_at, active_at, ended_at, swept)
		VALUES ($1, $2, (SELECT coalesce(max(version), 0) + 1 FROM sharing_model WHERE tenant_id = $1 AND object = $2), $3, $4, '', '', 0, $5, $6, $7, 0, 0)`,
		m.Tenant, object, int64(status), text, total, at, active)
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
	at, err := s.now(ctx, tx)
	if err != nil {
		return err
	}
	n, err := tx.Exec(ctx, "UPDATE sharing_model SET status = $3, ended_at = $4 WHERE num = $1 AND tenant_id = $2 "+
		"AND status < 3",
		m.num, m.tenant, int64(status), at)
	if err == nil && n == 0 {
		err = rebuild.ErrGone
	}
	if err != nil {
		return err
	}
	tx.OnCommit(s.runs.Wake)
	return bump(ctx, tx, m.tenant)
}

// MaxModels is how many models of an object that have ended are kept to be looked at.
const MaxModels = 20

// ListModels are the models of a tenant, by object and from the newest on; of one object
// unless that is "".
func (s *Sharing) ListModels(ctx context.Context, tenant, object string) (all []Model, err error) {
	err = s.read(ctx, "sharing.models", func(ctx context.Context, tx *sqldb.Tx) error {
		m, err := s.cfg.Models.Model(ctx, tx, tenant)
		if err != nil {
			return err
		}
		if object != "" && m.Object(object) == nil {
			return noObject(m, object)
		}
		all, err = models(ctx, tx, "SELECT "+modelColumns+
			` FROM sharing_model WHERE tenant_id = $1 AND ($2 = '' OR object = $2)
			ORDER BY object, version DESC`, tenant, object)
		return err
	})
	return all, err
}

// input is what the execution of a rebuild knows of it, and what it ends with.
func (m *Model) input() (flow.Data, error) {
	return json.Marshal(struct {
		Object    string `json:"object"`
		Version   int64  `json:"version"`
		Processed int    `json:"recordsProcessed"`
	}{m.Object, m.Version, m.Processed})
}
