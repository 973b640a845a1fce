package search

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"renga.dev/renga/internal/platform/sqldb"
)

// place is where a record stands among those of a relevance.
type place struct {
	num int64
	id  string // among records of one place, on PostgreSQL
}

func (p place) compare(o place) int {
	return cmp.Or(cmp.Compare(p.num, o.num), cmp.Compare(p.id, o.id))
}

// first is before the first place; places go down.
var first = place{math.MaxInt64, behindAll}

// candidate is a record that has the tokens of a query.
type candidate struct {
	at     place
	object string
}

// source gives the candidates of a relevance, from the record that was changed last on.
type source struct {
	*finder
	of    Relevance
	after place
	size  int         // of the last batch
	match string      // what candidates have (SQLite)
	all   []candidate // what is left, when it is few
	few   bool
	many  bool // there are more than few (PostgreSQL)
	done  bool // there are no more
}

// The index is read from its end in the order of the places, and the candidates that are
// not in search_doc any more fall away.
const selectText = `SELECT d.place, d.id, d.object FROM search_text CROSS JOIN search_doc d
		WHERE search_text MATCH $1 AND search_text.rowid < $2 AND search_text.rowid >= $3 AND d.place = search_text.rowid AND d.tenant_id = $4
		ORDER BY search_text.rowid DESC LIMIT $5`

// next gives some candidates; done says that these were the last.
func (s *source) next(ctx context.Context) ([]candidate, error) {
	if s.size == 0 && !s.deep {
		s.size = s.firstSize()
	} else {
		s.size = max(s.left(), 1)
	}
	some, err := s.batch(ctx)
	if err != nil {
		return nil, err
	}
	s.done = len(some) < s.size
	if len(some) > 0 {
		s.after = some[len(some)-1].at
	}
	return some, nil
}

// firstSize is how many candidates are looked at first.
func (f *finder) firstSize() int { return max(f.cfg.limits.first, f.ask.Limit+1) }

func (s *source) batch(ctx context.Context) ([]candidate, error) {
	switch {
	case s.few:
		return s.take(), nil
	case s.tx.Dialect() == sqldb.Postgres:
		return s.walk(ctx)
	}
	if s.match == "" {
		lists, err := s.spell(ctx)
		if err != nil || lists == nil {
			return nil, err
		}
		s.match = match(lists)
	}
	return s.matching(ctx, s.size)
}

// matching reads candidates on SQLite.
func (s *source) matching(ctx context.Context, most int) ([]candidate, error) {
	return candidates(ctx, s.tx, selectText, s.match, s.after.num, placeAt(s.ask.Since), s.caller.Tenant, most)
}

// take gives the next candidates of few.
func (s *source) take() []candidate {
	n := min(s.size, len(s.all))
	some := s.all[:n]
	s.all = s.all[n:]
	return some
}

// wants are the tokens that candidates have.
func (s *source) wants() []wanted {
	wants := s.tokens.wants(s.query, s.of)
	if s.ask.Campaign != "" {
		wants = append(wants, wanted{s.tokens.campaign(s.ask.Campaign), false})
	}
	return wants
}

// gather reads all candidates of all relevances at once, when they are few: those of the
// least one, which has all others in it. To look for several words that are seldom together
// is dear, and would be done for each relevance. One word is not, on SQLite.
func (f *finder) gather(ctx context.Context) (all []candidate, few bool, err error) {
	s := &source{finder: f, of: f.least(), after: first}
	if s.tx.Dialect() == sqldb.Postgres {
		s.size = f.firstSize()
		_, err := s.fromNewest(ctx)
		return s.all, s.few, err
	}
	if len(s.wants()) < 2 {
		return nil, false, nil
	}
	lists, err := s.spell(ctx)
	if err != nil || lists == nil {
		return nil, err == nil, err
	}
	if lists, err = s.rarest(ctx, lists); err != nil {
		return nil, false, err
	}
	s.match = match(lists)
	if len(lists) > 1 {
		if n, err := s.count(ctx, lists); err != nil || n > s.cfg.limits.look {
			return nil, false, err
		}
	}
	all, err = s.matching(ctx, s.cfg.limits.look+1)
	return all, len(all) <= s.cfg.limits.look, err
}

// countText counts the records that have tokens, up to some.
const countText = "SELECT count(*) FROM (SELECT 1 FROM search_text WHERE search_text MATCH $1 AND rowid >= $2 LIMIT $3)"

// count is how many records have a token of each list, one more than are looked at at most.
// To count them is cheaper than to read them.
func (s *source) count(ctx context.Context, lists [][]string) (n int, err error) {
	err = s.tx.Row(ctx, countText, match(lists), placeAt(s.ask.Since), s.cfg.limits.look+1).Scan(&n)
	return n, err
}

// rarest gives the one of some lists of tokens of which few records have any; when there is
// none, all of them. FTS5 would go through all records that have the common ones. What else
// a record must have, the record tells.
func (s *source) rarest(ctx context.Context, lists [][]string) ([][]string, error) {
	for i := range lists {
		n, err := s.count(ctx, lists[i:i+1])
		if err != nil {
			return nil, err
		}
		if n <= s.cfg.limits.look {
			return lists[i : i+1], nil
		}
	}
	return lists, nil
}

// least is the least relevance that there can be.
func (f *finder) least() Relevance {
	of := Starts
	for of < NameWords && !f.possible(of) {
		of++
	}
	return of
}

// behind are those of some candidates that are behind a place, in order.
func behind(all []candidate, at place) []candidate {
	i := slices.IndexFunc(all, func(c candidate) bool { return c.at.compare(at) < 0 })
	if i < 0 {
		return nil
	}
	return all[i:]
}

// spell gives the tokens that candidates have on SQLite, one of each list; nil: there are
// none. FTS5 would merge the lists of all tokens that begin alike before it gives the first
// record, so they are looked up and named. When they are too many the start is left out: the
// record decides, and many tokens have many records.
func (s *source) spell(ctx context.Context) (all [][]string, err error) {
	for _, w := range s.wants() {
		if !w.start {
			all = append(all, []string{w.token})
			continue
		}
		forms, err := s.forms(ctx, w.token)
		switch {
		case err != nil || len(forms) == 0:
			return nil, err
		case len(forms) <= s.maxForms():
			all = append(all, forms)
		}
	}
	switch {
	case len(s.any) > 0:
		all = append(all, s.any)
	case len(all) == 0: // any record of the tenant
		var objects []string
		for name := range s.fields {
			objects = append(objects, s.tokens.object(name))
		}
		slices.Sort(objects)
		all = append(all, objects)
	}
	return all, nil
}

// maxForms is how many tokens that begin alike are named. When there is much to look at,
// it pays to name more.
func (s *source) maxForms() int {
	if s.deep {
		return s.cfg.limits.named
	}
	return s.cfg.limits.forms
}

// nextToken finds the first token from one on.
const nextToken = "SELECT term FROM search_vocabulary WHERE term >= $1 LIMIT 1"

// forms are the tokens that begin alike, one more than are named at most.
func (s *source) forms(ctx context.Context, start string) (forms []string, err error) {
	for from := start; len(forms) <= s.maxForms(); {
		next := ""
		for row, err := range s.tx.Query(ctx, nextToken, from) {
			if err == nil {
				err = row.Scan(&next)
			}
			if err != nil {
				return nil, err
			}
		}
		if !strings.HasPrefix(next, start) {
			return forms, nil
		}
		forms = append(forms, next)
		from = next + "\x01" // the least that is behind it
	}
	return forms, nil
}

func candidates(ctx context.Context, tx *sqldb.Tx, query string, args ...any) (all []candidate, err error) {
	for row, err := range tx.Query(ctx, query, args...) {
		var c candidate
		if err == nil {
			err = row.Scan(&c.at.num, &c.at.id, &c.object)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}
