package search

import (
	"context"
	"slices"

	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// Ask is what is looked for.
type Ask struct {
	Text     string
	Objects  []string        // none: all that the caller may read
	Field    string          // in this field alone; "": in all
	Campaign string          // only leads and contacts in this campaign; "": any
	Since    canonical.Stamp // only what was changed since; 0: any
	Limit    int             // hits on a page
	Cursor   string          // Next of the page before; "": the first one
}

// Page is some hits.
type Page struct {
	Hits []Hit  `json:"items"`
	Next string `json:"next,omitzero"` // the cursor of the next page; "": there is none
}

// Hit is a record that was found, as the caller may see it.
type Hit struct {
	Object        string          `json:"object"`
	ID            string          `json:"id"`
	Name          string          `json:"name,omitzero"` // "" when the caller may not read it
	OwnerID       string          `json:"ownerId"`
	RecordVersion canonical.Stamp `json:"recordVersion"`
	UpdatedAt     canonical.Stamp `json:"updatedAt"`
	Relevance     Relevance       `json:"relevance"`
	InApproval    bool            `json:"inApproval"` // an approval of it is open
	Highlights    []Highlight     `json:"highlights"`

	at place
}

// Find gives a page of the records that fit, the most relevant first, and among those the
// ones that were changed last. A page is full or the last one: how many candidates the
// caller may not see, or may not read the word in, changes nothing of it but the time.
func (s *Search) Find(ctx context.Context, c kit.Caller, ask Ask) (Page, error) {
	q, err := parseQuery(ask.Text)
	if err != nil {
		return Page{}, s.Wrap("find", err)
	}
	from, err := parseCursor(ask.Cursor)
	if err != nil {
		return Page{}, s.Wrap("find", err)
	}
	found := progress{at: from}
	for err == nil && !found.done {
		found, err = s.goOn(ctx, c, ask, q, found)
	}
	if err != nil {
		return Page{}, err
	}
	page := Page{Hits: found.hits}
	if len(page.Hits) > ask.Limit {
		page.Hits = page.Hits[:ask.Limit]
		last := &page.Hits[ask.Limit-1]
		page.Next = cursor{last.Relevance, last.at}.text()
	}
	return page, nil
}

// progress is how far a search got, which may take several transactions.
type progress struct {
	hits []Hit // one more than a page has, when there is a next one
	at   cursor
	most int  // candidates that the next transaction looks at; 0: it is the first
	few  bool // there are few candidates
	done bool
}

// goOn looks at candidates in one transaction: at some at once, and at more of them when it
// is the search's turn.
func (s *Search) goOn(ctx context.Context, c kit.Caller, ask Ask, q query, from progress) (to progress, err error) {
	if from.most > 0 {
		leave, err := s.turns.acquire(ctx, c.Tenant)
		if err != nil {
			return from, s.Wrap("find", err)
		}
		defer leave()
	}
	err = s.Read(ctx, "find", func(ctx context.Context, tx *sqldb.Tx) error {
		to = from
		to.hits = append([]Hit{}, from.hits...)
		f, err := s.newFinder(ctx, tx, c, ask, q)
		if err != nil || f.nothing {
			to.done = true
			return err
		}
		if err := f.collect(ctx, &to); err != nil || !to.done {
			to.most = min(2*f.most, s.cfg.limits.deep)
			return err
		}
		return f.finish(ctx, to.hits)
	})
	return to, err
}

// finder is one search in its transaction.
type finder struct {
	*Search
	tx      *sqldb.Tx
	caller  kit.Caller
	ask     Ask
	query   query
	tokens  tokens
	user    string
	fields  map[string][]string  // by object, those that the caller may look into, in their order
	named   map[string]bool      // objects whose names it may read
	any     []string             // tokens of which a record must have one
	known   map[candidate]*known // what was looked at, unless deep
	deep    bool                 // so much is looked at that none of it is kept
	own     map[string][]string  // when deep: the records that the caller sees, in order, by object; nil: they are many
	most    int                  // how many candidates are looked at
	looked  int                  // how many were
	nothing bool                 // nothing can be found
}

// known is a record that was looked at.
type known struct {
	record *model.Record
	texts  []fieldText
	of     Relevance
}

// newFinder finds out who is looking, and where it may.
func (s *Search) newFinder(ctx context.Context, tx *sqldb.Tx, c kit.Caller, ask Ask, q query) (*finder, error) {
	w, err := kit.Begin(ctx, tx, s.cfg.Models, c)
	if err != nil {
		return nil, err
	}
	f := &finder{
		Search: s, tx: tx, caller: c, ask: ask, query: q, user: w.User, fields: map[string][]string{},
		named: map[string]bool{}, known: map[candidate]*known{},
	}
	if err := f.objects(&w); err != nil {
		return nil, err
	}
	if ask.Campaign != "" {
		if err := f.campaign(ctx, w.Model); err != nil {
			return nil, err
		}
	}
	t, ok, err := s.tokens(ctx, tx, c.Tenant, false)
	if err != nil {
		return nil, err
	}
	f.tokens, f.nothing = t, !ok || len(f.fields) == 0
	if len(f.fields) < len(w.Model.Objects()) {
		for name := range f.fields {
			f.any = append(f.any, t.object(name))
		}
		slices.Sort(f.any)
	}
	return f, nil
}

// objects finds out which fields of which objects the caller may look into.
func (f *finder) objects(w *kit.Session) error {
	m := w.Model
	for _, name := range f.ask.Objects {
		if _, err := w.Object(name); err != nil {
			return err
		}
		if err := w.Allow(name, model.ReadOp); err != nil {
			return err
		}
	}
	for _, o := range m.Objects() {
		if len(f.ask.Objects) > 0 && !slices.Contains(f.ask.Objects, o.Name) || !m.Can(f.user, o.Name, model.ReadOp) ||
			f.ask.Campaign != "" && !slices.Contains(memberObjects, o.Name) {
			continue
		}
		var names []string
		v := m.View(f.user, o.Name)
		for _, field := range v.Readable {
			if (f.ask.Field == "" || f.ask.Field == field.Name) && field.Searchable {
				names = append(names, field.Name)
			}
		}
		if len(names) > 0 {
			f.fields[o.Name] = names
			f.named[o.Name] = v.Reads(nameField)
		}
	}
	if f.ask.Field != "" && len(f.fields) == 0 {
		return fault.New(fault.Invalid, "FIELD_UNKNOWN", "there is no field %q that records are found by",
			f.ask.Field).With(map[string]string{"field": "field"})
	}
	return nil
}

// campaign looks whether the caller sees the campaign whose members are looked for.
func (f *finder) campaign(ctx context.Context, m *model.Model) error {
	id := f.ask.Campaign
	if m.Can(f.user, campaignObject, model.ReadOp) {
		found, err := f.pick(ctx, campaignObject, []string{id}, f.cfg.Visible.WhereOne)
		if err != nil || len(found) > 0 {
			return err
		}
	}
	return fault.New(fault.NotFound, "RECORD_NOT_FOUND", "there is no %s %q", campaignObject, id)
}

// condition is a method of Visible.
type condition func(ctx context.Context, tx *sqldb.Tx, tenant, object, user string, level model.Access,
	binds *sqldb.Binds) (string, error)

// pick reads those of some records that the caller sees.
func (f *finder) pick(ctx context.Context, object string, ids []string, sees condition) ([]model.Record, error) {
	return f.cfg.Records.Pick(ctx, f.tx, f.caller.Tenant, object, ids, func(b *sqldb.Binds) (string, error) {
		return sees(ctx, f.tx, f.caller.Tenant, object, f.user, model.Read, b)
	})
}

// collect adds hits, until there is one more than a page has, there are no more, or as many
// candidates were looked at as one transaction does.
func (f *finder) collect(ctx context.Context, to *progress) (err error) {
	var all []candidate
	few := false
	if f.most = to.most; f.most == 0 || to.few {
		f.most = max(f.most, f.cfg.limits.look)
		all, to.few, err = f.gather(ctx)
		few = to.few
	} else {
		all, few, err = f.instead(ctx)
		f.deep = !few
	}
	if err != nil {
		return err
	}
	for ; to.at.of >= Starts; to.at = (cursor{of: to.at.of - 1, at: first}) {
		if !f.possible(to.at.of) {
			continue
		}
		src := &source{finder: f, of: to.at.of, after: to.at.at, few: few, many: f.deep && to.at.at != first}
		if few {
			src.all = candidatesAfter(all, to.at.at)
		}
		for !src.done {
			some, err := src.next(ctx)
			if err != nil {
				return err
			}
			hits, err := f.hits(ctx, some, to.at.of)
			if err != nil {
				return err
			}
			to.hits, to.at.at = append(to.hits, without(hits, to.hits)...), src.after
			if to.done = len(to.hits) > f.ask.Limit; to.done || !src.done && f.left() <= 0 {
				to.hits = to.hits[:min(len(to.hits), f.ask.Limit+1)]
				return nil
			}
		}
	}
	to.done = true
	return nil
}

// without takes out of hits those that are on the page already: a record that changes between
// two transactions of a search is found again where it is less relevant.
func without(hits, page []Hit) []Hit {
	return slices.DeleteFunc(hits, func(h Hit) bool {
		return slices.ContainsFunc(page, func(p Hit) bool { return p.ID == h.ID && p.Object == h.Object })
	})
}

// instead gives the records that the caller sees, when they are few and named, in place of the
// many candidates of which it sees few. Else it notes by object what it sees.
func (f *finder) instead(ctx context.Context) (all []candidate, few bool, err error) {
	f.own = make(map[string][]string, len(f.fields))
	sees, unnamed := 0, false
	for object := range f.fields {
		n, ids, err := f.cfg.Visible.See(ctx, f.tx, f.caller.Tenant, object, f.user, model.Read)
		if err != nil {
			return nil, false, err
		}
		f.own[object] = ids
		sees += n
		unnamed = unnamed || ids == nil && n > 0 // all of the object, say, however few that are
	}
	if unnamed || sees > f.cfg.limits.own {
		return nil, false, nil
	}
	for object, ids := range f.own {
		if len(ids) == 0 {
			continue
		}
		var b sqldb.Binds
		query := "SELECT place, id, object FROM search_doc WHERE tenant_id = " + b.Add(f.caller.Tenant) +
			" AND object = " + b.Add(object) +
			" AND " + b.OneOf(f.tx, "id", ids)
		some, err := candidates(ctx, f.tx, query, b.Args()...)
		if err != nil {
			return nil, false, err
		}
		all = append(all, some...)
	}
	slices.SortFunc(all, func(a, b candidate) int { return b.at.compare(a.at) })
	f.own, f.most = nil, len(all)+1
	return all, true, nil
}

// left is how many candidates this transaction may look at yet.
func (f *finder) left() int { return f.most - f.looked }

// possible reports whether there can be records of a relevance.
func (f *finder) possible(of Relevance) bool {
	named := of >= NameStarts
	switch {
	case (of == NameStarts || of == Starts) && !f.query.starts():
		return false
	case f.ask.Field == nameField:
		return named
	case f.ask.Field != "":
		return !named
	}
	return true
}

// hits are those of some candidates that are of a relevance, in their order.
func (f *finder) hits(ctx context.Context, some []candidate, of Relevance) (hits []Hit, err error) {
	all, err := f.look(ctx, some)
	if err != nil {
		return nil, err
	}
	for i, c := range some {
		if k := all[i]; k != nil && k.of == of {
			hits = append(hits, f.show(k.record, k.texts, of, c.at))
		}
	}
	return hits, nil
}

// look gives what the caller may find of some candidates, nil of one that it may not, and
// reads those that were not looked at yet.
func (f *finder) look(ctx context.Context, some []candidate) ([]*known, error) {
	ids := map[string][]string{}
	for _, c := range some {
		if _, ok := f.known[c]; !ok {
			ids[c.object] = append(ids[c.object], c.at.id)
			f.looked++
		}
	}
	found := map[string]*model.Record{}
	for object, list := range ids {
		records, err := f.seen(ctx, object, list)
		if err != nil {
			return nil, err
		}
		for i := range records {
			found[records[i].ID] = &records[i]
		}
	}
	all := make([]*known, len(some))
	for i, c := range some {
		k, ok := f.known[c]
		if r := found[c.at.id]; !ok && r != nil && r.Object == c.object && !hidden(r) && r.UpdatedAt >= f.ask.Since {
			texts := f.texts(r)
			k = &known{r, texts, f.query.relevance(texts)}
		}
		if all[i] = k; !f.deep {
			f.known[c] = k
		}
	}
	return all, nil
}

// seen reads those of some records that the caller may look into. Many are held against sets
// of what it sees, few each against what gives access to it.
func (f *finder) seen(ctx context.Context, object string, ids []string) ([]model.Record, error) {
	if f.fields[object] == nil {
		return nil, nil
	}
	if f.ask.Campaign != "" {
		in, err := f.cfg.Records.MembersAmong(ctx, f.tx, f.caller.Tenant, f.ask.Campaign, object, ids)
		if err != nil {
			return nil, err
		}
		ids = slices.DeleteFunc(ids, func(id string) bool { return !in[id] })
	}
	if own, ok := f.own[object]; ok && own == nil {
		return f.pick(ctx, object, ids, f.cfg.Visible.Where)
	} else if ok {
		ids = slices.DeleteFunc(ids, func(id string) bool { _, sees := slices.BinarySearch(own, id); return !sees })
	}
	return f.pick(ctx, object, ids, f.cfg.Visible.WhereOne)
}

// texts are the texts of a record that the caller may look into.
func (f *finder) texts(r *model.Record) []fieldText {
	names := f.fields[r.Object]
	all := make([]fieldText, 0, len(names))
	for _, name := range names {
		if text, _ := r.Fields[name].(string); text != "" {
			all = append(all, fieldText{name, text, units(text)})
		}
	}
	return all
}

// show is a record that was found.
func (f *finder) show(r *model.Record, texts []fieldText, of Relevance, at place) Hit {
	h := Hit{
		Object: r.Object, ID: r.ID, OwnerID: r.OwnerID, RecordVersion: r.Version, UpdatedAt: r.UpdatedAt, Relevance: of,
		at:         at,
		Highlights: f.query.highlights(texts),
	}
	if f.named[r.Object] {
		h.Name = r.Name
	}
	return h
}

// finish reads what is shown of hits beside the records.
func (f *finder) finish(ctx context.Context, hits []Hit) error {
	ids := map[string][]string{}
	for i := range hits {
		ids[hits[i].Object] = append(ids[hits[i].Object], hits[i].ID)
	}
	for object, list := range ids {
		locked, err := f.cfg.Records.LockedAmong(ctx, f.tx, f.caller.Tenant, object, list)
		if err != nil {
			return err
		}
		for i := range hits {
			hits[i].InApproval = hits[i].InApproval || hits[i].Object == object && locked[hits[i].ID]
		}
	}
	return nil
}
