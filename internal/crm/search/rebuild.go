package search

import (
	"context"
	"errors"
	"slices"

	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/crm/kit/rebuild"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/sqldb"
)

// GraphPrefix begins the ids of graphs of search.
const GraphPrefix = service + ":"

// The causes of a rebuild. One on request indexes everything anew, the other what has changed.
const (
	causeRequest    = "request"
	causeDefinition = "definition"
)

// Rebuild starts a rebuild of an object, or ("") of all, and gives its id. A running one that was
// requested is the answer. A request with a key is executed once; replay says that it was before.
func (s *Search) Rebuild(ctx context.Context, tenant, object string, key *canonical.IdempotencyKey) (
	id string, replay bool, err error,
) {
	return s.runs.Request(ctx, tenant, key, func(ctx context.Context, tx *sqldb.Tx) (string, error) {
		m, err := s.cfg.Models.Model(ctx, tx, tenant)
		if err != nil {
			return "", err
		}
		if object != "" && m.Object(object) == nil {
			return "", kit.UnknownObject(m, object)
		}
		if err := holdRebuilds(ctx, tx, tenant); err != nil {
			return "", err
		}
		running, err := s.runs.Select(ctx, tx,
			"tenant_id = $1 AND object = $2 AND cause = $3 AND status = 1 ORDER BY num LIMIT 1",
			tenant, object, causeRequest)
		if err != nil {
			return "", err
		}
		if len(running) > 0 {
			return running[0].ID, nil
		}
		return s.begin(ctx, tx, m, object, causeRequest)
	})
}

// holdRebuilds lets no other transaction begin a rebuild of a tenant.
func holdRebuilds(ctx context.Context, tx *sqldb.Tx, tenant string) error {
	return kit.SearchLocks.Hold(ctx, tx, service+":"+tenant)
}

// define stores the fields by which records of an object are indexed. When they have changed the object
// is rebuilt, also when no event says so since they were different for a moment only.
func (s *Search) define(ctx context.Context, tx *sqldb.Tx, tenant string, o *model.Object) error {
	fields, err := fieldsOf(o)
	if err != nil {
		return err
	}
	var has string
	err = tx.Row(ctx, "SELECT fields FROM search_index WHERE tenant_id = $1 AND object = $2", tenant, o.Name).Scan(&has)
	switch {
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

// redefine rebuilds the index of an object whose searchable fields have changed.
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
	if err != nil || n == 0 { // nothing is in the index yet, or nothing has changed
		return err
	}
	// One that has done nothing yet will index everything by these fields.
	waiting, err := s.runs.Select(ctx, tx,
		"tenant_id = $1 AND object = $2 AND status = 1 AND execution = '' AND place_object = '' ORDER BY num LIMIT 1",
		tenant, object)
	if err != nil || len(waiting) > 0 {
		return err
	}
	_, err = s.begin(ctx, tx, m, object, causeDefinition)
	return err
}

// begin stores a rebuild, which Run starts.
func (s *Search) begin(ctx context.Context, tx *sqldb.Tx, m *model.Model, object, cause string) (string, error) {
	total := 0
	for _, name := range objectsOf(m, object) {
		n, err := s.cfg.Records.Count(ctx, tx, m.Tenant, name)
		if err != nil {
			return "", err
		}
		total += n
	}
	return s.runs.Begin(ctx, tx, rebuild.Rebuild{Tenant: m.Tenant, Object: object, Cause: cause, Total: total})
}

// objectsOf are the objects of a rebuild.
func objectsOf(m *model.Model, object string) (names []string) {
	if object != "" {
		return []string{object}
	}
	for _, o := range m.Objects() {
		names = append(names, o.Name)
	}
	return names
}

// chunk indexes the next records of a rebuild and stores its progress.
func (s *Search) chunk(ctx context.Context, b *rebuild.Rebuild) (done bool, err error) {
	next := *b
	err = s.Write(ctx, "chunk", func(ctx context.Context, tx *sqldb.Tx) error {
		next, done = *b, false
		m, err := s.cfg.Models.Model(ctx, tx, b.Tenant)
		if err != nil {
			return err
		}
		names := objectsOf(m, b.Object)
		i := max(slices.Index(names, b.At.Part), 0)
		name := names[i]
		if err := kit.SearchLocks.Hold(ctx, tx, lockOf(b.Tenant, name)); err != nil {
			return err
		}
		records, err := s.cfg.Records.Walk(ctx, tx, b.Tenant, name, b.At.Item, s.cfg.limits.chunk)
		if err != nil {
			return err
		}
		last := behindAll
		next.At = rebuild.Place{Part: name, Item: behindAll}
		if len(records) == s.cfg.limits.chunk {
			last = records[len(records)-1].ID
			next.At.Item = last
		} else if done = i == len(names)-1; !done {
			next.At = rebuild.Place{Part: names[i+1]}
		}
		next.Processed += len(records)
		if err := s.runs.SetProgress(ctx, tx, b, next.At, next.Processed); err != nil {
			return err
		}
		return s.rewrite(ctx, tx, b, m.Object(name), records, last)
	})
	if err != nil {
		return false, err
	}
	*b = next
	if done { // searches pass over all versions of rows until they are vacuumed
		if err := s.DB.Vacuum(ctx, "search_doc"); err != nil {
			s.cfg.Log.WarnContext(ctx, "PostgreSQL is left to vacuum the index by itself", "service", service,
				"error", err)
		}
	}
	return done, nil
}

// rewrite indexes records that follow each other up to the last one given.
func (s *Search) rewrite(
	ctx context.Context, tx *sqldb.Tx, b *rebuild.Rebuild, o *model.Object, records []model.Record, last string,
) error {
	if err := s.define(ctx, tx, b.Tenant, o); err != nil {
		return err
	}
	t, _, err := s.tokens(ctx, tx, b.Tenant, true)
	if err != nil {
		return err
	}
	after := b.At.Item
	if o.Name != b.At.Part {
		after = ""
	}
	have, err := entries(ctx, tx, selectEntries, b.Tenant, o.Name, after, last)
	if err != nil {
		return err
	}
	want, err := s.docs(ctx, tx, t, b.Tenant, o, records, after, last)
	if err != nil {
		return err
	}
	var all []change
	for _, d := range want {
		e := have[d.id]
		delete(have, d.id)
		if e == nil || b.Cause == causeRequest || !e.is(d) {
			all = append(all, change{e, d})
		}
	}
	for _, e := range have { // of records that are gone
		all = append(all, change{have: e})
	}
	return s.index.replace(ctx, &writer{tx: tx, tenant: b.Tenant, object: o.Name}, all)
}

// docs are the entries of records that follow each other.
func (s *Search) docs(
	ctx context.Context, tx *sqldb.Tx, t tokens, tenant string, o *model.Object, records []model.Record,
	after, last string,
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
