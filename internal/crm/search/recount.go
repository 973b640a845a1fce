package search

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/platform/sqldb"
)

const (
	maxDifferences = 100    // that a recount names
	recountChunk   = 1000   // records that it reads at a time
	recountTokens  = 50_000 // tokens that it reads at a time
)

// Recounted is what a recount found.
type Recounted struct {
	Looked      int      // records
	Differences []string // the first ones, for people to read
	More        int      // that are not named
}

func (r *Recounted) say(format string, args ...any) {
	if len(r.Differences) == maxDifferences {
		r.More++
		return
	}
	r.Differences = append(r.Differences, fmt.Sprintf(format, args...))
}

// recount is a recount in progress.
type recount struct {
	*Search
	Recounted
	tenant string
	sums   map[int64]uint64 // of the tokens that places must have (SQLite)
}

// chunk is records of an object that follow each other and are in the index: after one id and up to
// another.
type chunk struct {
	object, after, last string
	both                []change
}

// Recount computes the index of a tenant from its records, in memory, and names differences to the
// stored one. It is for quiet moments: what changes meanwhile may be named.
func (s *Search) Recount(ctx context.Context, tenant string) (Recounted, error) {
	r := &recount{Search: s, tenant: tenant, sums: map[int64]uint64{}}
	var names []string
	err := s.Read(ctx, "recount", func(ctx context.Context, tx *sqldb.Tx) error {
		m, err := s.cfg.Models.Model(ctx, tx, tenant)
		if err == nil {
			names = objectsOf(m, "")
		}
		return err
	})
	for _, name := range names {
		for after, done := "", false; !done && err == nil; {
			err = s.Read(ctx, "recount", func(ctx context.Context, tx *sqldb.Tx) error {
				after, done, err = r.some(ctx, tx, name, after)
				return err
			})
		}
	}
	if err == nil {
		err = s.index.recountRest(ctx, r)
	}
	return r.Recounted, err
}

// some compares some records that follow each other and gives the last one.
func (r *recount) some(ctx context.Context, tx *sqldb.Tx, object, after string) (last string, done bool, err error) {
	m, err := r.cfg.Models.Model(ctx, tx, r.tenant)
	if err != nil {
		return "", false, err
	}
	records, err := r.cfg.Records.Walk(ctx, tx, r.tenant, object, after, recountChunk)
	if err != nil {
		return "", false, err
	}
	if last, done = behindAll, len(records) < recountChunk; !done {
		last = records[len(records)-1].ID
	}
	have, err := entries(ctx, tx, selectEntries, r.tenant, object, after, last)
	if err != nil {
		return "", false, err
	}
	t, known, err := r.tokens(ctx, tx, r.tenant, false)
	if err != nil || !known && len(records) == 0 {
		return last, done, err
	}
	want, err := r.docs(ctx, tx, t, r.tenant, m.Object(object), records, after, last)
	if err != nil {
		return "", false, err
	}
	r.Looked += len(records)
	p := chunk{object: object, after: after, last: last}
	for _, d := range want {
		e := have[d.id]
		delete(have, d.id)
		if e == nil {
			r.say("%s %s is not in the index", object, d.id)
			continue
		}
		if err := r.one(ctx, tx, object, e, d); err != nil {
			return "", false, err
		}
		p.both = append(p.both, change{e, d})
	}
	for id := range have {
		r.say("%s %s is in the index, and is not to be found", object, id)
	}
	return last, done, r.index.recount(ctx, tx, r, p)
}

// one compares the entry of a record. It may list a campaign that was deleted: nobody can ask for that.
func (r *recount) one(ctx context.Context, tx *sqldb.Tx, object string, e *entry, d *doc) error {
	if e.updatedAt != d.updatedAt || e.digest != d.digest {
		r.say("%s %s is in the index as it was at %s", object, d.id, e.version)
	}
	if e.campaigns == d.campaigns {
		return nil
	}
	var had, has []string
	err := errors.Join(json.Unmarshal([]byte(e.campaigns), &had), json.Unmarshal([]byte(d.campaigns), &has))
	if err != nil {
		return r.Wrap("recount", err)
	}
	for _, id := range had {
		if slices.Contains(has, id) {
			continue
		}
		campaign, ok, err := r.cfg.Records.Get(ctx, tx, r.tenant, campaignObject, id)
		if err != nil {
			return err
		}
		if ok && !campaign.Deleted {
			r.say("%s %s is in the index as a member of campaign %s", object, d.id, id)
		}
	}
	for _, id := range has {
		if !slices.Contains(had, id) {
			r.say("%s %s is not in the index as a member of campaign %s", object, d.id, id)
		}
	}
	return nil
}

func withoutCampaigns(list []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(token string) bool { return token[0] == campaignToken })
}

// sum is a checksum of tokens in any order.
func sum(list []string) (n uint64) {
	for _, token := range list {
		h := fnv.New64a()
		_, _ = h.Write([]byte(token))
		n += h.Sum64()
	}
	return n
}
