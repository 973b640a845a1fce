package search

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/platform/fault"
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

// Recount makes the index of a tenant out of its records, in memory, and says where that
// which is stored differs. It is for quiet moments: what changes meanwhile may be named.
func (s *Search) Recount(ctx context.Context, tenant string) (out Recounted, err error) {
	sums := map[int64]uint64{} // of the tokens that places are to have (SQLite)
	var names []string
	err = s.read(ctx, "search.recount", func(ctx context.Context, tx *sqldb.Tx) error {
		m, err := s.cfg.Models.Model(ctx, tx, tenant)
		if err == nil {
			names = objectsOf(m, "")
		}
		return err
	})
	for _, name := range names {
		for after, done := "", false; !done && err == nil; {
			err = s.read(ctx, "search.recount", func(ctx context.Context, tx *sqldb.Tx) error {
				after, done, err = s.recountSome(ctx, tx, tenant, name, after, &out, sums)
				return err
			})
		}
	}
	if err == nil && s.db.Dialect() == sqldb.SQLite {
		err = s.recountPlaces(ctx, tenant, &out, sums)
	}
	return out, err
}

// recountSome compares some records that follow each other and gives the last one.
func (s *Search) recountSome(
	ctx context.Context, tx *sqldb.Tx, tenant, object, after string, out *Recounted, sums map[int64]uint64,
) (last string, done bool, err error) {
	m, err := s.cfg.Models.Model(ctx, tx, tenant)
	if err != nil {
		return "", false, err
	}
	records, err := s.cfg.Records.Walk(ctx, tx, tenant, object, after, recountChunk)
	if err != nil {
		return "", false, err
	}
	if last, done = behindAll, len(records) < recountChunk; !done {
		last = records[len(records)-1].ID
	}
	have, err := entries(ctx, tx, selectEntries, tenant, object, after, last)
	if err != nil {
		return "", false, err
	}
	t, known, err := s.tokens(ctx, tx, tenant, false)
	if err != nil || !known && len(records) == 0 {
		return last, done, err
	}
	want, err := s.wantAll(ctx, tx, t, tenant, m.Object(object), records, after, last)
	if err != nil {
		return "", false, err
	}
	out.Looked += len(records)
	stored, err := storedTokens(ctx, tx, tenant, object, after, last)
	if err != nil {
		return "", false, err
	}
	for _, d := range want {
		e := have[d.id]
		delete(have, d.id)
		if e == nil {
			out.say("%s %s is not in the index", object, d.id)
			continue
		}
		if err := s.recountOne(ctx, tx, tenant, object, e, d, out); err != nil {
			return "", false, err
		}
		slices.Sort(d.tokens)
		if tx.Dialect() == sqldb.Postgres {
			if got := withoutCampaigns(strings.Fields(stored[d.id])); !slices.Equal(got, withoutCampaigns(d.tokens)) {
				out.say("%s %s has other tokens in the index than its texts", object, d.id)
			}
			continue
		}
		sums[e.place] = sum(withoutCampaigns(d.tokens))
	}
	for id := range have {
		out.say("%s %s is in the index, and is not to be found", object, id)
	}
	return last, done, nil
}

// recountOne compares what is noted of a record. That a member is in a campaign which was
// deleted may be noted: nobody can ask for it.
func (s *Search) recountOne(ctx context.Context, tx *sqldb.Tx, tenant, object string, e *entry, d *doc,
	out *Recounted,
) error {
	if e.updatedAt != d.updatedAt || e.digest != d.digest {
		out.say("%s %s is in the index as it was at %s", object, d.id, e.version)
	}
	if e.campaigns == d.campaigns {
		return nil
	}
	var had, has []string
	if err := json.Unmarshal([]byte(e.campaigns), &had); err != nil {
		return fault.Wrap("search.recount", err)
	}
	if err := json.Unmarshal([]byte(d.campaigns), &has); err != nil {
		return fault.Wrap("search.recount", err)
	}
	for _, id := range had {
		if slices.Contains(has, id) {
			continue
		}
		r, ok, err := s.cfg.Records.Get(ctx, tx, tenant, campaignObject, id)
		if err != nil {
			return err
		}
		if ok && !r.Deleted {
			out.say("%s %s is in the index as a member of campaign %s", object, d.id, id)
		}
	}
	for _, id := range has {
		if !slices.Contains(had, id) {
			out.say("%s %s is not in the index as a member of campaign %s", object, d.id, id)
		}
	}
	return nil
}

// storedTokens are the tokens of records that follow each other, on PostgreSQL.
func storedTokens(ctx context.Context, tx *sqldb.Tx, tenant, object, after, last string) (map[string]string, error) {
	if tx.Dialect() == sqldb.SQLite {
		return nil, nil
	}
	all := map[string]string{}
	for row, err := range tx.Query(ctx, `SELECT id, array_to_string(tsvector_to_array(tokens), ' ') FROM search_doc
		WHERE tenant_id = $1 AND object = $2 AND id > $3 AND id <= $4`, tenant, object, after, last) {
		var id, list string
		if err == nil {
			err = row.Scan(&id, &list)
		}
		if err != nil {
			return nil, err
		}
		all[id] = list
	}
	return all, nil
}

func withoutCampaigns(list []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(token string) bool { return token[0] == campaignToken })
}

// sum is of tokens in whatever order.
func sum(list []string) (n uint64) {
	for _, token := range list {
		h := fnv.New64a()
		_, _ = h.Write([]byte(token))
		n += h.Sum64()
	}
	return n
}

// recountPlaces compares the tokens that SQLite's index has at each place.
func (s *Search) recountPlaces(ctx context.Context, tenant string, out *Recounted, want map[int64]uint64) error {
	have := map[int64]uint64{}
	for _, kind := range []byte{nameToken, objectToken, textToken} {
		for from, more := "", true; more; {
			err := s.read(ctx, "search.recount", func(ctx context.Context, tx *sqldb.Tx) error {
				t, ok, err := s.tokens(ctx, tx, tenant, false)
				if err != nil || !ok {
					more = false
					return err
				}
				first := t.of(kind, "")
				from, more, err = addTokens(ctx, tx, max(from, first), first[:len(first)-1]+"y", have)
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	gone := map[int64]bool{}
	err := s.read(ctx, "search.recount", func(ctx context.Context, tx *sqldb.Tx) error {
		for row, err := range tx.Query(ctx, "SELECT place FROM search_gone") {
			var place int64
			if err == nil {
				err = row.Scan(&place)
			}
			if err != nil {
				return err
			}
			gone[place] = true
		}
		return nil
	})
	for place, n := range want {
		if have[place] != n {
			out.say("place %d of the index has other tokens than the record that is there", place)
		}
		delete(have, place)
	}
	for place := range have {
		if !gone[place] {
			out.say("place %d of the index has tokens of no record", place)
		}
	}
	return err
}

// addTokens adds up the tokens from one to another by place, and gives where to go on.
func addTokens(ctx context.Context, tx *sqldb.Tx, from, to string, sums map[int64]uint64) (
	next string, more bool, err error,
) {
	n, last, value := 0, "", uint64(0)
	for row, err := range tx.Query(ctx, "SELECT term, doc FROM search_vocabulary WHERE term >= $1 AND term < $2", from,
		to) {
		var term string
		var place int64
		if err == nil {
			err = row.Scan(&term, &place)
		}
		if err != nil {
			return "", false, err
		}
		if term != last {
			if n >= recountTokens {
				return term, true, nil
			}
			last, value = term, sum([]string{term})
		}
		sums[place] += value
		n++
	}
	return "", false, nil
}
