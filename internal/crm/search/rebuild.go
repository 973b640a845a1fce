package search

import (
	"context"
	"errors"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"renga.dev/renga/internal/crm/kit/rebuild"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
)

// Status is what a rebuild is.
type Status int

// The statuses. They are part of what is stored.
const (
	Running  Status = 1
	Done     Status = 2
	Canceled Status = 3
)

// String is the status's name in JSON.
func (s Status) String() string { return [...]string{"", "RUNNING", "DONE", "CANCELED"}[s] }

// Why the index is rebuilt. What was asked for writes everything anew, the other writes
// what is different.
const (
	CauseRequest    = "request"
	CauseDefinition = "definition"
)

// MaxRebuilds is how many rebuilds of a tenant that have ended are kept to be looked at.
const MaxRebuilds = 20

// Rebuild is the index of an object, or of all, made anew.
type Rebuild struct {
	ID        string
	Object    string // "": all
	Cause     string
	Status    Status
	Execution string // "": it is yet to start
	Processed int    // records
	Total     int    // about how many there are
	CreatedAt wire.Stamp
	EndedAt   wire.Stamp // 0: not yet

	num                  int64
	tenant               string
	placeObject, placeID string
}

const rebuildColumns = "num, tenant_id, id, object, cause, status, execution, place_object, place_id, processed, " +
	"total, created_at, ended_at"

// rebuilds are those that a statement selects.
func rebuilds(ctx context.Context, tx *sqldb.Tx, where string, args ...any) (all []Rebuild, err error) {
	for row, err := range tx.Query(ctx, "SELECT "+rebuildColumns+" FROM search_rebuild WHERE "+where, args...) {
		var b Rebuild
		var status int64
		if err == nil {
			err = row.Scan(&b.num, &b.tenant, &b.ID, &b.Object, &b.Cause, &status, &b.Execution, &b.placeObject,
				&b.placeID, &b.Processed, &b.Total,
				&b.CreatedAt, &b.EndedAt)
		}
		if err != nil {
			return nil, err
		}
		b.Status = Status(status)
		all = append(all, b)
	}
	return all, nil
}

// Rebuild starts a rebuild of an object, or ("") of all, and gives its id. One that
// somebody asked for and that is under way is the answer. A request with a key is done
// once; replay says that it was before.
func (s *Search) Rebuild(ctx context.Context, tenant, object string, key *wire.Once) (
	id string, replay bool, err error,
) {
	return s.runs.Request(ctx, tenant, key, func(ctx context.Context, tx *sqldb.Tx) (string, error) {
		return s.request(ctx, tx, tenant, object)
	})
}

// request starts a rebuild that somebody asked for.
func (s *Search) request(ctx context.Context, tx *sqldb.Tx, tenant, object string) (string, error) {
	m, err := s.cfg.Models.Model(ctx, tx, tenant)
	if err != nil {
		return "", err
	}
	if object != "" && m.Object(object) == nil {
		return "", noObject(m, object)
	}
	if err := holdRebuilds(ctx, tx, tenant); err != nil {
		return "", err
	}
	under, err := rebuilds(ctx, tx, "tenant_id = $1 AND object = $2 AND cause = $3 AND status = 1 ORDER BY num LIMIT 1",
		tenant, object, CauseRequest)
	if err != nil {
		return "", err
	}
	if len(under) > 0 {
		return under[0].ID, nil
	}
	return s.begin(ctx, tx, m, object, CauseRequest)
}

func noObject(m *model.Model, object string) error {
	return fault.New(fault.NotFound, "OBJECT_UNKNOWN", "there is no object %.80q; the objects are %s", object,
		m.ObjectNames())
}

// define notes by which fields records of an object are written into the index. When these
// are others than those of before, what is there is rebuilt: also when nobody is told, since
// they were others for a moment only.
func (s *Search) define(ctx context.Context, tx *sqldb.Tx, tenant string, o *model.Object) error {
	fields, err := fieldsOf(o)
	if err != nil {
		return err
	}
	var has string
	switch err = tx.Row(ctx, selectFields, tenant, o.Name).Scan(&has); {
	case errors.Is(err, sqldb.ErrNoRow):
		n, err := tx.Exec(ctx, "INSERT INTO search_index (tenant_id, object, fields) VALUES ($1, $2, $3) ON CONFLICT "+
			"(tenant_id, object) DO NOTHING", tenant, o.Name, fields)
		if err != nil || n > 0 {
			return err
		}
	case err != nil || has == fields:
		return err
	}
	return s.redefine(ctx, tx, tenant, o.Name)
}

const selectFields = "SELECT fields FROM search_index WHERE tenant_id = $1 AND object = $2"

// redefine rebuilds the index of an object when its records are to be found by other
// fields than before.
func (s *Search) redefine(ctx context.Context, tx *sqldb.Tx, tenant, object string) error {
	if err := holdRebuilds(ctx, tx, tenant); err != nil {
		return err
	}
	m, err := s.cfg.Models.Model(ctx, tx, tenant)
	if err != nil {
		return err
	}
	o := m.Object(object)
	if o == nil {
		return nil
	}
	fields, err := fieldsOf(o)
	if err != nil {
		return err
	}
	n, err := tx.Exec(ctx, "UPDATE search_index SET fields = $3 WHERE tenant_id = $1 AND object = $2 AND fields <> $3",
		tenant, object, fields)
	if err != nil || n == 0 { // nothing is in the index yet, or it is as it is to be
		return err
	}
	// One that has done nothing yet will do everything with these fields.
	waiting, err := rebuilds(ctx, tx,
		"tenant_id = $1 AND object = $2 AND status = 1 AND execution = '' AND place_object = '' ORDER BY num LIMIT 1",
		tenant, object)
	if err != nil || len(waiting) > 0 {
		return err
	}
	_, err = s.begin(ctx, tx, m, object, CauseDefinition)
	return err
}

// begin makes a rebuild, which Run starts.
func (s *Search) begin(ctx context.Context, tx *sqldb.Tx, m *model.Model, object, cause string) (string, error) {
	at, err := s.now(ctx, tx)
	if err != nil {
		return "", err
	}
	total := 0
	for _, name := range objectsOf(m, object) {
		n, err := s.cfg.Records.Count(ctx, tx, m.Tenant, name)
		if err != nil {
			return "", err
		}
		total += n
	}
	id := uuid.NewString()
	_, err = tx.Exec(ctx, `INSERT INTO search_rebuild (tenant_id, id, object, cause, status, execution, place_object, place_id, processed, total, created_at, ended_at)
		VALUES ($1, $2, $3, $4, 1, '', '', '', 0, $5, $6, 0)`, m.Tenant, id, object, cause, total, at)
	if err != nil {
		return "", err
	}
	_, err = tx.Exec(ctx, `DELETE FROM search_rebuild WHERE tenant_id = $1 AND status > 1 AND num <=
		(SELECT num FROM search_rebuild WHERE tenant_id = $1 ORDER BY num DESC LIMIT 1 OFFSET $2)`, m.Tenant,
		MaxRebuilds)
	tx.OnCommit(s.runs.Wake)
	return id, err
}

// objectsOf are the objects that a rebuild walks through.
func objectsOf(m *model.Model, object string) (names []string) {
	if object != "" {
		return []string{object}
	}
	for _, o := range m.Objects() {
		names = append(names, o.Name)
	}
	return names
}

// ListRebuilds are the rebuilds of a tenant, from the newest on.
func (s *Search) ListRebuilds(ctx context.Context, tenant string) (all []Rebuild, err error) {
	err = s.read(ctx, "search.rebuilds", func(ctx context.Context, tx *sqldb.Tx) (err error) {
		all, err = rebuilds(ctx, tx, "tenant_id = $1 ORDER BY num DESC", tenant)
		return err
	})
	return all, err
}

// GetRebuild is a rebuild by its id.
func (s *Search) GetRebuild(ctx context.Context, tenant, id string) (b Rebuild, err error) {
	err = s.read(ctx, "search.rebuilds", func(ctx context.Context, tx *sqldb.Tx) error {
		found, err := rebuilds(ctx, tx, "tenant_id = $1 AND id = $2", tenant, id)
		if err == nil && len(found) == 0 {
			err = fault.New(fault.NotFound, "REBUILD_NOT_FOUND", "there is no rebuild %q", id)
		}
		if err == nil {
			b = found[0]
		}
		return err
	})
	return b, err
}

// chunk does the next records of a rebuild, with what is true of them now, and notes how
// far it is. done says that there are no more. It gives rebuild.ErrGone when the rebuild has
// ended, or somebody else has done these records.
func (s *Search) chunk(ctx context.Context, b *Rebuild) (done bool, err error) {
	next := *b
	err = s.write(ctx, "search.chunk", func(ctx context.Context, tx *sqldb.Tx) error {
		next = *b
		m, err := s.cfg.Models.Model(ctx, tx, b.tenant)
		if err != nil {
			return err
		}
		names := objectsOf(m, b.Object)
		at := max(slices.Index(names, b.placeObject), 0)
		if err := holdObject(ctx, tx, b.tenant, names[at]); err != nil {
			return err
		}
		records, err := s.cfg.Records.Walk(ctx, tx, b.tenant, names[at], b.placeID, s.cfg.limits.chunk)
		if err != nil {
			return err
		}
		last := behindAll
		next.placeObject = names[at]
		if len(records) == s.cfg.limits.chunk {
			last = records[len(records)-1].ID
			next.placeID = last
		} else if done = at == len(names)-1; !done {
			next.placeObject, next.placeID = names[at+1], ""
		} else {
			next.placeID = behindAll
		}
		next.Processed += len(records)
		n, err := tx.Exec(ctx, `UPDATE search_rebuild SET place_object = $5, place_id = $6, processed = $7
			WHERE num = $1 AND tenant_id = $2 AND status = 1 AND place_object = $3 AND place_id = $4`,
			b.num, b.tenant, b.placeObject, b.placeID, next.placeObject, next.placeID, next.Processed)
		if err == nil && n == 0 {
			err = rebuild.ErrGone
		}
		if err != nil {
			return err
		}
		return s.rewrite(ctx, tx, b, m.Object(names[at]), records, last)
	})
	if err != nil {
		return false, err
	}
	*b = next
	if done { // searches pass over what was written anew till then
		if err := s.db.Vacuum(ctx, "search_doc"); err != nil && s.cfg.Log != nil {
			s.cfg.Log.WarnContext(ctx, "PostgreSQL is left to vacuum the index by itself", "service", consumerName,
				"error", err)
		}
	}
	return done, nil
}

// rewrite brings the index up to date with records that follow each other, the last one
// given.
func (s *Search) rewrite(ctx context.Context, tx *sqldb.Tx, b *Rebuild, o *model.Object, records []model.Record,
	last string,
) error {
	if err := s.define(ctx, tx, b.tenant, o); err != nil {
		return err
	}
	t, _, err := s.tokens(ctx, tx, b.tenant, true)
	if err != nil {
		return err
	}
	after := b.placeID
	if o.Name != b.placeObject {
		after = ""
	}
	have, err := entries(ctx, tx, selectEntries, b.tenant, o.Name, after, last)
	if err != nil {
		return err
	}
	want, err := s.wantAll(ctx, tx, t, b.tenant, o, records, after, last)
	if err != nil {
		return err
	}
	var all []change
	for _, d := range want {
		e := have[d.id]
		delete(have, d.id)
		if e == nil || b.Cause == CauseRequest || !e.is(d) {
			all = append(all, change{e, d})
		}
	}
	for _, e := range have { // of records that are gone
		all = append(all, change{have: e})
	}
	w := &writer{tx: tx, tenant: b.tenant, object: o.Name}
	return w.many(ctx, all)
}

// wantAll are records that follow each other as the index is to have them.
func (s *Search) wantAll(ctx context.Context, tx *sqldb.Tx, t tokens, tenant string, o *model.Object,
	records []model.Record, after, last string,
) ([]*doc, error) {
	var campaigns map[string][]string
	if slices.Contains(memberObjects, o.Name) {
		var err error
		if campaigns, err = s.cfg.Records.CampaignsOf(ctx, tx, tenant, o.Name, after, last); err != nil {
			return nil, err
		}
	}
	all := make([]*doc, 0, len(records))
	for i := range records {
		r := &records[i]
		if hidden(r) {
			continue
		}
		d, err := docOf(t, o, r, campaigns[r.ID])
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	return all, nil
}

// outcome is what the execution of a rebuild knows of it, and what it ends with.
func (b *Rebuild) outcome() ([]byte, error) {
	return json.Marshal(struct {
		ID        string `json:"rebuildId"`
		Object    string `json:"object,omitzero"`
		Processed int    `json:"recordsProcessed"`
	}{b.ID, b.Object, b.Processed})
}
