package metadata

import (
	"context"
	"embed"
	"errors"
	"sync"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

//go:embed migrations
var files embed.FS

func Migration() sqldb.Migration { return sqldb.Tables("metadata", files) }

// MaxHeld is how many definitions a process holds in memory, of all tenants together;
// tenants that were not asked for longest make room.
const MaxHeld = 1_000_000

// The codes of callers that are nobody.
const (
	CodeUserUnknown  = "USER_UNKNOWN"
	CodeUserInactive = "USER_INACTIVE"
)

// Models hands out the models of tenants. It needs a transaction of a database that has
// the tables of Migration, and nothing else.
type Models struct {
	mu    sync.Mutex
	held  map[string]*held // by tenant
	clock uint64           // counts uses, to find the model that was not used longest
	most  int
}

// held is a model in memory and the stamp that it is of.
type held struct {
	stamp string
	model *model.Model
	size  int
	used  uint64
}

// NewModels is models of which none is in memory yet.
func NewModels() *Models { return &Models{held: map[string]*held{}, most: MaxHeld} }

// Model is the model of a tenant as the transaction sees it. Nobody may change it.
func (s *Models) Model(ctx context.Context, tx *sqldb.Tx, tenant string) (*model.Model, error) {
	return sqldb.Remember(tx, modelOf(tenant), func() (*model.Model, error) { return s.model(ctx, tx, tenant) })
}

// modelOf is what a transaction remembers the model of a tenant by.
type modelOf string

func (s *Models) model(ctx context.Context, tx *sqldb.Tx, tenant string) (*model.Model, error) {
	var stamp string
	err := tx.Row(ctx, "SELECT stamp FROM metadata_tenant WHERE tenant_id = $1", tenant).Scan(&stamp)
	if err != nil && !errors.Is(err, sqldb.ErrNoRow) {
		return nil, fault.Wrap("metadata.model", err)
	}
	if m := s.find(tenant, stamp); m != nil {
		return m, nil
	}
	m, stamp, err := load(ctx, tx, tenant)
	if err != nil {
		return nil, fault.Wrap("metadata.model", err)
	}
	s.keep(tenant, stamp, m)
	return m, nil
}

// Who is the user that a caller's subject names, as the transaction sees it: its id, or
// what tokens call it. No subject is the system user. Nobody, or somebody who is not
// active, is fault.Forbidden.
func (s *Models) Who(ctx context.Context, tx *sqldb.Tx, tenant, subject string) (*model.User, error) {
	m, err := s.Model(ctx, tx, tenant)
	if err != nil {
		return nil, err
	}
	return who(m, subject)
}

func who(m *model.Model, subject string) (*model.User, error) {
	u := m.Who(subject)
	switch {
	case u == nil:
		return nil, fault.New(fault.Forbidden, CodeUserUnknown,
			"no user has the id or the subject %q; register it with PUT /metadata/users/{id} and this subject", subject)
	case !u.IsActive:
		return nil, fault.New(fault.Forbidden, CodeUserInactive,
			"the user %s is not active; set its isActive to true with PUT /metadata/users/%s", u.ID, u.ID)
	}
	return u, nil
}

// Sensitive says, as the transaction sees it, which fields of a tenant are kept out of
// events.
func (s *Models) Sensitive(ctx context.Context, tx *sqldb.Tx, tenant string) (func(object, field string) bool, error) {
	m, err := s.Model(ctx, tx, tenant)
	if err != nil {
		return nil, err
	}
	return m.Sensitive, nil
}

// Hidden says, as the transaction sees it, which fields of a tenant are not for everybody
// who reads their object: the sensitive ones, and those that permission sets give to some.
func (s *Models) Hidden(ctx context.Context, tx *sqldb.Tx, tenant string) (func(object, field string) bool, error) {
	m, err := s.Model(ctx, tx, tenant)
	if err != nil {
		return nil, err
	}
	return func(object, field string) bool { return m.Sensitive(object, field) || m.Restricted(object, field) }, nil
}

// load reads all definitions of a tenant with their stamp in one statement, so that both
// are of one state on every level of isolation.
func load(ctx context.Context, tx *sqldb.Tx, tenant string) (m *model.Model, stamp string, err error) {
	var revision int64
	var all []model.Definition
	standard := int64(model.StandardPersonal)
	for row, err := range tx.Query(ctx, `SELECT t.stamp, t.revision, t.standard,
			coalesce(d.kind, ''), coalesce(d.id, ''), coalesce(d.body, ''), coalesce(d.revision, 0)
		FROM metadata_tenant t LEFT JOIN metadata_definition d ON d.tenant_id = t.tenant_id WHERE t.tenant_id = $1`,
		tenant) {
		if err != nil {
			return nil, "", err
		}
		var d model.Definition
		var kind, body string
		if err := row.Scan(&stamp, &revision, &standard, &kind, &d.ID, &body, &d.Version); err != nil {
			return nil, "", err
		}
		if kind == "" {
			continue // the tenant's row alone
		}
		d.Kind = model.Kind(kind)
		if d.Value, err = decode(d.Kind, []byte(body)); err != nil {
			return nil, "", err
		}
		all = append(all, d)
	}
	if standard < 0 || standard > int64(model.StandardPersonal) {
		return nil, "", errors.New("metadata: a tenant of a standard that a newer program has")
	}
	return model.NewModelOf(tenant, model.Standard(standard)).With(revision, all...), stamp, nil
}

// decode reads a definition as it is stored.
func decode(kind model.Kind, body []byte) (any, error) {
	value := kind.New()
	if value == nil {
		return nil, errors.New("metadata: a definition of an unknown kind: " + string(kind))
	}
	if err := json.Unmarshal(body, value); err != nil {
		return nil, err
	}
	if f, ok := value.(*model.Field); ok {
		return value, decodeSearchable(f, body)
	}
	return value, nil
}

// decodeSearchable completes a field that was stored before fields had the flag: then
// records were found by all but the sensitive ones.
func decodeSearchable(f *model.Field, body []byte) error {
	var stored struct {
		Searchable *bool `json:"searchable"`
	}
	err := json.Unmarshal(body, &stored)
	if stored.Searchable == nil {
		f.Searchable = f.Type.Searchable() && !f.Sensitive
	}
	return err
}

// find is the model in memory, nil when there is none or it is of another stamp.
func (s *Models) find(tenant, stamp string) *model.Model {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.held[tenant]
	if h == nil || h.stamp != stamp {
		return nil
	}
	s.clock++
	h.used = s.clock
	return h.model
}

// keep puts a model into memory. A stamp is of one state only, so a model that was read
// in a transaction that fails does no harm: nobody will see its stamp.
func (s *Models) keep(tenant, stamp string, m *model.Model) {
	size := 0
	for _, kind := range model.Kinds {
		size += m.Count(kind)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clock++
	s.held[tenant] = &held{stamp: stamp, model: m, size: size, used: s.clock}
	for {
		total, oldest := 0, ""
		for of, h := range s.held {
			total += h.size
			if of != tenant && (oldest == "" || h.used < s.held[oldest].used) {
				oldest = of
			}
		}
		if total <= s.most || oldest == "" {
			return
		}
		delete(s.held, oldest)
	}
}
