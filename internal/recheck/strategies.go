package recheck

import (
	"context"
	"embed"
	"errors"
	"reflect"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

//go:embed migrations
var files embed.FS

func Migration() sqldb.Migration { return sqldb.Tables("pdca", files) }

// Strategies keeps the strategies of all tenants.
type Strategies struct {
	db *sqldb.DB

	mu      sync.Mutex
	indexes map[string]*index // by tenant
	clock   uint64            // counts uses, to find the index that was not used longest
	most    int               // strategies in all indexes together
}

// NewStrategies is the strategies in a database that has the tables of Migration. It
// does no I/O.
func NewStrategies(db *sqldb.DB) *Strategies {
	return &Strategies{db: db, indexes: map[string]*index{}, most: MaxHeld}
}

const (
	strategyColumns = "id, name, tags, health, last_checked_at, metrics"
	selectStrategy  = "SELECT " + strategyColumns + " FROM pdca_strategy WHERE tenant_id = $1 AND id = $2"
)

// Put stores what a draft says of a strategy. A draft that changes nothing is not a change.
func (s *Strategies) Put(ctx context.Context, tenant, id string, d Draft) (stored Strategy, created bool, err error) {
	switch {
	case !ValidID(id):
		return Strategy{}, false, unfit("the id of a strategy must be 1 to %d of a-z 0-9 . _ -", canonical.MaxName)
	case d.ID != nil && *d.ID != id:
		return Strategy{}, false, unfit("id is not the one in the path")
	}
	err = s.db.Write(ctx, sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
		stored, created, err = put(ctx, tx, tenant, id, &d)
		return err
	})
	if err != nil {
		return Strategy{}, false, fault.Wrap("recheck.put", err)
	}
	return stored, created, nil
}

func put(ctx context.Context, tx *sqldb.Tx, tenant, id string, d *Draft) (Strategy, bool, error) {
	revision, count, err := lock(ctx, tx, tenant)
	if err != nil {
		return Strategy{}, false, err
	}
	var before *Strategy
	switch was, err := scanStrategy(tx.Row(ctx, selectStrategy, tenant, id)); {
	case err == nil:
		before = &was
	case !errors.Is(err, sqldb.ErrNoRow):
		return Strategy{}, false, err
	case count >= MaxStrategies:
		return Strategy{}, false, unfit("a tenant has at most %d strategies", MaxStrategies)
	default:
		count++
	}
	after := d.over(id, before)
	if before != nil && reflect.DeepEqual(*before, after) {
		return after, false, nil
	}
	save, err := saveStmt(tenant, &after, revision+1)
	if err != nil {
		return Strategy{}, false, err
	}
	return after, before == nil, tx.Batch(ctx, save, sqldb.Stmt{
		Query: "UPDATE pdca_tenant SET revision = $2, strategies = $3 WHERE tenant_id = $1",
		Args:  []any{tenant, revision + 1, count},
	})
}

// lock holds the row of a tenant until the transaction ends: what is read of its
// strategies afterwards is current, and revisions are given out one by one.
func lock(ctx context.Context, tx *sqldb.Tx, tenant string) (revision, strategies int64, err error) {
	return revision, strategies, tx.Batch(ctx, sqldb.Stmt{
		Query: `INSERT INTO pdca_tenant AS t (tenant_id, revision, strategies) VALUES ($1, 0, 0)
			ON CONFLICT (tenant_id) DO UPDATE SET revision = t.revision RETURNING revision, strategies`,
		Args: []any{tenant},
		Row:  func(r *sqldb.Row) error { return r.Scan(&revision, &strategies) },
	})
}

func saveStmt(tenant string, s *Strategy, revision int64) (sqldb.Stmt, error) {
	tags, err := json.Marshal(s.Tags)
	var checked any
	if s.LastCheckedAt != nil {
		checked = int64(*s.LastCheckedAt)
	}
	return sqldb.Stmt{
		Query: `INSERT INTO pdca_strategy (tenant_id, id, name, tags, health, last_checked_at, metrics, revision)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
			ON CONFLICT (tenant_id, id) DO UPDATE SET
			name = excluded.name, tags = excluded.tags, health = excluded.health,
			last_checked_at = excluded.last_checked_at, metrics = excluded.metrics, revision = excluded.revision`,
		Args: []any{tenant, s.ID, s.Name, string(tags), string(s.Health), checked, string(s.Metrics), revision},
	}, err
}

func scanStrategy(row *sqldb.Row) (s Strategy, err error) {
	var tags, metrics string
	var checked canonical.Stamp
	if err = row.Scan(&s.ID, &s.Name, &tags, &s.Health, &checked, &metrics); err != nil {
		return s, err
	}
	s.Metrics = jsontext.Value(metrics)
	return s, s.restore(tags, checked)
}

// scanChanged reads a strategy without its metrics, and the revision of its last change.
func scanChanged(row *sqldb.Row) (s Strategy, revision int64, err error) {
	var tags string
	var checked canonical.Stamp
	if err = row.Scan(&revision, &s.ID, &s.Name, &tags, &s.Health, &checked); err != nil {
		return s, 0, err
	}
	return s, revision, s.restore(tags, checked)
}

// restore reads what the tables keep in another form.
func (s *Strategy) restore(tags string, checked canonical.Stamp) error {
	if checked != 0 {
		s.LastCheckedAt = &checked
	}
	return json.Unmarshal([]byte(tags), &s.Tags)
}
