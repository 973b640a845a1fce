package search

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strconv"
	"strings"

	"renga.dev/renga/internal/sqldb"
)

// place is where a record stands among those of a relevance.
type place struct {
	num int64
	id  string // among records of one place, on PostgreSQL
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
	all   []candidate // what is left, when it was few (PostgreSQL)
	few   bool
	many  bool
	done  bool // there are no more
}

const (
	// The index is read from its end in the order of the places, and the candidates that are
	// not in search_doc any more fall away.
	selectText = `SELECT d.place, d.id, d.object FROM search_text CROSS JOIN search_doc d
		WHERE search_text MATCH $1 AND search_text.rowid < $2 AND search_text.rowid >= $3 AND d.place = search_text.rowid AND d.tenant_id = $4
		ORDER BY search_text.rowid DESC LIMIT $5`

	selectTokens = "SELECT place, id, object FROM search_doc WHERE tenant_id = $1 AND tokens @@ CAST($2 AS tsquery) AND "

	// PostgreSQL does not know how many have the tokens, and would take any index but that
	// of the tokens; the sums keep it from the other.
	byTokens = selectTokens + "place + 0 >= $3 AND (place + 0, id) < ($4, $5) LIMIT $6"
	byPlace  = selectTokens + "place >= $3 AND (place, id) < ($4, $5) ORDER BY place DESC, id DESC LIMIT $6"
)

// next gives some candidates; done says that these were the last.
func (s *source) next(ctx context.Context) ([]candidate, error) {
	if s.size == 0 {
		s.size = max(s.cfg.limits.first, s.ask.Limit+1)
	} else {
		s.size = max(s.cfg.limits.look-s.looked, 1)
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

func (s *source) batch(ctx context.Context) ([]candidate, error) {
	wants := s.tokens.wants(s.query, s.of)
	if s.ask.Campaign != "" {
		wants = append(wants, wanted{s.tokens.campaign(s.ask.Campaign), false})
	}
	since := placeAt(s.ask.Since)
	if s.tx.Dialect() == sqldb.SQLite {
		if s.match == "" {
			if some, err := s.spell(ctx, wants); err != nil || !some {
				return nil, err
			}
		}
		return candidates(ctx, s.tx, selectText, s.match, s.after.num, since, s.caller.Tenant, s.size)
	}
	args := []any{s.caller.Tenant, tsquery(wants, s.any), since, s.after.num, s.after.id}
	if !s.few && !s.many {
		if err := s.sort(ctx, args); err != nil {
			return nil, err
		}
	}
	if s.few {
		n := min(s.size, len(s.all))
		some := s.all[:n]
		s.all = s.all[n:]
		return some, nil
	}
	return candidates(ctx, s.tx, byPlace, append(args, s.size)...)
}

// spell writes down what candidates have on SQLite; some says that there can be any. FTS5
// would merge the lists of all tokens that begin alike before it gives the first record, so
// they are looked up and named. When they are too many the start is left out: the record
// decides, and many tokens have many records.
func (s *source) spell(ctx context.Context, wants []wanted) (some bool, err error) {
	var all [][]string
	for _, w := range wants {
		if !w.start {
			all = append(all, []string{w.token})
			continue
		}
		forms, err := s.forms(ctx, w.token)
		switch {
		case err != nil || len(forms) == 0:
			return false, err
		case len(forms) <= s.cfg.limits.forms:
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
	s.match = match(all)
	return true, nil
}

// nextToken finds the first token from one on.
const nextToken = "SELECT term FROM search_vocabulary WHERE term >= $1 LIMIT 1"

// forms are the tokens that begin alike, one more than are named at most.
func (s *source) forms(ctx context.Context, start string) (forms []string, err error) {
	for from := start; len(forms) <= s.cfg.limits.forms; {
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

// sort reads all candidates and sorts them, if they are few: GIN gives them in no order,
// and to read many in order another index does.
func (s *source) sort(ctx context.Context, args []any) error {
	most := s.cfg.limits.few
	all, err := candidates(ctx, s.tx, byTokens, append(args, most+1)...)
	if err != nil {
		return err
	}
	if s.many = len(all) > most; s.many {
		return nil
	}
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.at.num, a.at.num), cmp.Compare(b.at.id, a.at.id))
	})
	s.all, s.few = all, true
	return nil
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

// cursor is behind which hit a page begins.
type cursor struct {
	of Relevance
	at place
}

// digest tells searches apart, so that a cursor is not used for another one.
func (a *Ask) digest() uint32 {
	h := fnv.New32a()
	fmt.Fprintf(h, "%q %q %q %q %d", a.Text, a.Objects, a.Field, a.Campaign, a.Since)
	return h.Sum32()
}

// text is a cursor as callers get it.
func (c cursor) text(of uint32) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%x.%d.%d.%s", of, c.of, c.at.num, c.at.id))
}

// parseCursor reads a cursor of a search; "" is its beginning.
func parseCursor(text string, of uint32) (cursor, error) {
	if text == "" {
		return cursor{NameWords, first}, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	parts := strings.SplitN(string(raw), ".", 4)
	if err != nil || len(parts) != 4 {
		return cursor{}, about("cursor", "cursor must be next of the page before")
	}
	if parts[0] != strconv.FormatUint(uint64(of), 16) {
		return cursor{}, about("cursor", "cursor is of another search: leave it out, or repeat the search that it is of")
	}
	relevance, err := strconv.Atoi(parts[1])
	num, err2 := strconv.ParseInt(parts[2], 10, 64)
	if err != nil || err2 != nil || relevance < int(Starts) || relevance > int(NameWords) {
		return cursor{}, about("cursor", "cursor must be next of the page before")
	}
	return cursor{Relevance(relevance), place{num, parts[3]}}, nil
}
