package search

import (
	"context"
	"slices"

	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/sqldb"
)

// placeBits are for the number of a record among those of the same millisecond. PostgreSQL has the id
// for that.
const placeBits = 21

// placeAt is the first place of an instant.
func placeAt(at canonical.Stamp) int64 { return int64(at) << placeBits }

const (
	entriesWhere = "SELECT id, place, version, updated_at, digest, campaigns FROM search_doc " +
		"WHERE tenant_id = $1 AND object = $2 AND "
	// between is a condition over ids after one and up to another.
	between       = "id > $3 AND id <= $4"
	selectEntries = entriesWhere + between

	updateVersion = "UPDATE search_doc SET version = $4 WHERE tenant_id = $1 AND object = $2 AND id = $3"
	deleteEntry   = "DELETE FROM search_doc WHERE tenant_id = $1 AND object = $2 AND id = $3"
)

// behindAll is after every id.

const behindAll = "~"

// entries are the entries of an object that a statement selects, by id.
func entries(ctx context.Context, tx *sqldb.Tx, query string, args ...any) (map[string]*entry, error) {
	list, err := sqldb.Collect(ctx, tx, func(row *sqldb.Row) (*entry, error) {
		e := &entry{}
		return e, row.Scan(&e.id, &e.place, &e.version, &e.updatedAt, &e.digest, &e.campaigns)
	}, query, args...)
	all := make(map[string]*entry, len(list))
	for _, e := range list {
		all[e.id] = e
	}
	return all, err
}

// refresh indexes records of an object as they are now, or removes them. The ids are in order, each
// once.
func (s *Search) refresh(ctx context.Context, tx *sqldb.Tx, tenant, object string, ids ...string) error {
	if err := kit.SearchLocks.HoldEach(ctx, tx, lockOf(tenant, object), ids); err != nil {
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
	if err := s.define(ctx, tx, tenant, o); err != nil {
		return err
	}
	t, _, err := s.tokens(ctx, tx, tenant, true)
	if err != nil {
		return err
	}
	records, err := s.cfg.Records.Some(ctx, tx, tenant, object, ids)
	if err != nil {
		return err
	}
	var campaigns map[string][]string
	if slices.Contains(memberObjects, object) {
		if campaigns, err = s.cfg.Records.CampaignsAmong(ctx, tx, tenant, object, ids); err != nil {
			return err
		}
	}
	var b sqldb.Binds
	b.Add(tenant)
	b.Add(object)
	have, err := entries(ctx, tx, entriesWhere+b.OneOf(tx, "id", ids), b.Args()...)
	if err != nil {
		return err
	}
	all := make([]change, len(ids))
	for i, id := range ids {
		all[i].have = have[id]
		if r, ok := records[id]; ok && !hidden(&r) {
			if all[i].want, err = docOf(t, o, &r, campaigns[id]); err != nil {
				return err
			}
		}
	}
	return s.index.write(ctx, &writer{tx: tx, tenant: tenant, object: object}, all)
}

// lockOf is the lock of what is indexed of an object. Who indexes records holds them and, shared with
// others, the object; who indexes many holds the object alone.
func lockOf(tenant, object string) string { return service + ":" + tenant + ":" + object }

// writer writes records of an object into the index.
type writer struct {
	tx             *sqldb.Tx
	tenant, object string
	instant        canonical.Stamp // of the last place that was given out
	last           int64
}

// change is a record in the index before and after.
type change struct {
	have *entry // nil: it is not there
	want *doc   // nil: it is to be removed
}

// sort gives statements for changes that leave the tokens alone, and for entries that are removed, and
// the changes for which tokens have to be stored.
func (w *writer) sort(all []change) (stmts []sqldb.Stmt, put []change) {
	for _, c := range all {
		switch {
		case c.want == nil && c.have == nil:
		case c.want == nil:
			stmts = append(stmts, w.delete(c.have))
		case c.have == nil || !c.have.is(c.want):
			put = append(put, c)
		case c.have.version != c.want.version:
			args := []any{w.tenant, w.object, c.want.id, c.want.version}
			stmts = append(stmts, sqldb.Stmt{Query: updateVersion, Args: args})
		}
	}
	return stmts, put
}

func (w *writer) delete(e *entry) sqldb.Stmt {
	return sqldb.Stmt{Query: deleteEntry, Args: []any{w.tenant, w.object, e.id}}
}
