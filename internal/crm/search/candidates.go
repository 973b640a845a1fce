package search

import (
	"cmp"
	"context"
	"math"
	"slices"

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

// next gives some candidates; done says that these were the last.
func (s *source) next(ctx context.Context) ([]candidate, error) {
	if s.size == 0 && !s.deep {
		s.size = s.firstSize()
	} else {
		s.size = max(s.left(), 1)
	}
	some := s.buffered()
	if !s.few {
		var err error
		if some, err = s.index.next(ctx, s); err != nil {
			return nil, err
		}
	}
	s.done = len(some) < s.size
	if len(some) > 0 {
		s.after = some[len(some)-1].at
	}
	return some, nil
}

// firstSize is how many candidates are looked at first.
func (f *finder) firstSize() int { return max(f.cfg.limits.first, f.ask.Limit+1) }

// buffered gives the next of the candidates that were read at once.
func (s *source) buffered() []candidate {
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

// gather reads all candidates of all relevances at once, when they are few: those of the least one,
// which contains all others. Words that are rarely together are expensive to look up, and would be
// looked up for each relevance.
func (f *finder) gather(ctx context.Context) (all []candidate, few bool, err error) {
	return f.index.gather(ctx, &source{finder: f, of: f.least(), after: first})
}

// least is the least relevance that there can be.
func (f *finder) least() Relevance {
	of := Starts
	for of < NameWords && !f.possible(of) {
		of++
	}
	return of
}

// candidatesAfter are those of some candidates that come after a place, in order.
func candidatesAfter(all []candidate, at place) []candidate {
	i := slices.IndexFunc(all, func(c candidate) bool { return c.at.compare(at) < 0 })
	if i < 0 {
		return nil
	}
	return all[i:]
}

func candidates(ctx context.Context, tx *sqldb.Tx, query string, args ...any) ([]candidate, error) {
	return sqldb.Collect(ctx, tx, func(row *sqldb.Row) (c candidate, err error) {
		err = row.Scan(&c.at.num, &c.at.id, &c.object)
		return c, err
	}, query, args...)
}
