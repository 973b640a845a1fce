package search

import (
	"context"
	"slices"

	"renga.dev/renga/internal/crm"
	"renga.dev/renga/internal/fault"
	"renga.dev/renga/internal/sqldb"
	"renga.dev/renga/internal/wire"
)

// Caller is who wants something.
type Caller struct {
	Tenant  string
	Subject string // "": the system user
}

// Ask is what is looked for.
type Ask struct {
	Text     string
	Objects  []string   // none: all that the caller may read
	Field    string     // in this field alone; "": in all
	Campaign string     // only leads and contacts in this campaign; "": any
	Since    wire.Stamp // only what was changed since; 0: any
	Limit    int        // hits on a page
	Cursor   string     // Next of the page before; "": the first one
}

// Page is some hits.
type Page struct {
	Hits []Hit
	Next string // the cursor of the next page; "": there is none
}

// Hit is a record that was found, as the caller may see it.
type Hit struct {
	Object, ID, OwnerID string
	Name                string // "" when the caller may not read it
	RecordVersion       wire.Stamp
	UpdatedAt           wire.Stamp
	Relevance           Relevance
	InApproval          bool // an approval of it is open
	Highlights          []Highlight

	at place
}

// Find gives a page of the records that fit, the most relevant first, and among those the
// ones that were changed last. One call looks at so many candidates at most: a page can
// be short and have a next one all the same.
func (s *Search) Find(ctx context.Context, c Caller, ask Ask) (page Page, err error) {
	q, err := parseQuery(ask.Text)
	if err != nil {
		return Page{}, fault.Wrap("search.find", err)
	}
	from, err := parseCursor(ask.Cursor, ask.digest())
	if err != nil {
		return Page{}, fault.Wrap("search.find", err)
	}
	err = s.read(ctx, "search.find", func(ctx context.Context, tx *sqldb.Tx) error {
		f, err := s.newFinder(ctx, tx, c, ask, q)
		if err != nil || f.nothing {
			return err
		}
		page, err = f.page(ctx, from)
		return err
	})
	return page, err
}

// finder is one search in its transaction.
type finder struct {
	*Search
	tx      *sqldb.Tx
	caller  Caller
	ask     Ask
	query   query
	tokens  tokens
	user    string
	fields  map[string][]string  // by object, those that the caller may look into, in their order
	named   map[string]bool      // objects whose names it may read
	any     []string             // tokens of which a record must have one
	known   map[candidate]*known // what was looked at
	nothing bool                 // nothing can be found
}

// known is a record that was looked at, nil when the caller is not to find it.
type known struct {
	record *crm.Record
	texts  []fieldText
	of     Relevance
}

// newFinder finds out who is looking, and where it may.
func (s *Search) newFinder(ctx context.Context, tx *sqldb.Tx, c Caller, ask Ask, q query) (*finder, error) {
	m, err := s.cfg.Models.Model(ctx, tx, c.Tenant)
	if err != nil {
		return nil, err
	}
	user, err := s.cfg.Models.Who(ctx, tx, c.Tenant, c.Subject)
	if err != nil {
		return nil, err
	}
	f := &finder{Search: s, tx: tx, caller: c, ask: ask, query: q, user: user.ID, fields: map[string][]string{}, named: map[string]bool{}, known: map[candidate]*known{}}
	if err := f.objects(m); err != nil {
		return nil, err
	}
	if ask.Campaign != "" {
		if err := f.campaign(ctx, m); err != nil {
			return nil, err
		}
	}
	t, ok, err := s.tokens(ctx, tx, c.Tenant, false)
	if err != nil {
		return nil, err
	}
	f.tokens, f.nothing = t, !ok || len(f.fields) == 0
	if len(f.fields) < len(m.Objects()) {
		for name := range f.fields {
			f.any = append(f.any, t.object(name))
		}
		slices.Sort(f.any)
	}
	return f, nil
}

// objects finds out which fields of which objects the caller may look into.
func (f *finder) objects(m *crm.Model) error {
	for _, name := range f.ask.Objects {
		if m.Object(name) == nil {
			return noObject(m, name)
		}
		if !m.Can(f.user, name, crm.ReadOp) {
			return fault.New(fault.Forbidden, "ACCESS_DENIED", "no permission set lets you read records of %s", name)
		}
	}
	for _, o := range m.Objects() {
		if len(f.ask.Objects) > 0 && !slices.Contains(f.ask.Objects, o.Name) || !m.Can(f.user, o.Name, crm.ReadOp) ||
			f.ask.Campaign != "" && !slices.Contains(memberObjects, o.Name) {
			continue
		}
		var names []string
		for i := range o.Fields {
			name := o.Fields[i].Name
			if (f.ask.Field == "" || f.ask.Field == name) && searchable(&o.Fields[i]) && m.Readable(f.user, o.Name, name) {
				names = append(names, name)
			}
		}
		if len(names) > 0 {
			f.fields[o.Name] = names
			f.named[o.Name] = !m.Sensitive(o.Name, nameField) && m.Readable(f.user, o.Name, nameField)
		}
	}
	if f.ask.Field != "" && len(f.fields) == 0 {
		return fault.New(fault.Invalid, "FIELD_UNKNOWN", "there is no field %q that records are found by", f.ask.Field).With(map[string]string{"field": "field"})
	}
	return nil
}

// campaign looks whether the caller sees the campaign whose members are looked for.
func (f *finder) campaign(ctx context.Context, m *crm.Model) error {
	id := f.ask.Campaign
	if m.Can(f.user, campaignObject, crm.ReadOp) {
		found, err := f.pick(ctx, campaignObject, []string{id})
		if err != nil || len(found) > 0 {
			return err
		}
	}
	return fault.New(fault.NotFound, "RECORD_NOT_FOUND", "there is no %s %q", campaignObject, id)
}

// pick reads those of some records that the caller sees.
func (f *finder) pick(ctx context.Context, object string, ids []string) ([]crm.Record, error) {
	return f.cfg.Records.Pick(ctx, f.tx, f.caller.Tenant, object, ids, func(b *sqldb.Binds) (string, error) {
		return f.cfg.Visible.WhereOne(ctx, f.tx, f.caller.Tenant, object, f.user, crm.Read, b)
	})
}

// page collects hits from a cursor on.
func (f *finder) page(ctx context.Context, from cursor) (Page, error) {
	out := Page{Hits: []Hit{}}
	all, few, err := f.gather(ctx)
	if err != nil {
		return Page{}, err
	}
	at := from
	for ; at.of >= Starts; at = (cursor{of: at.of - 1, at: first}) {
		if !f.possible(at.of) {
			continue
		}
		src := &source{finder: f, of: at.of, after: at.at, few: few}
		if few {
			src.all = behind(all, at.at)
		}
		for {
			some, err := src.next(ctx)
			if err != nil {
				return Page{}, err
			}
			hits, err := f.hits(ctx, some, at.of)
			if err != nil {
				return Page{}, err
			}
			out.Hits = append(out.Hits, hits...)
			if len(out.Hits) > f.ask.Limit { // there is a next page
				out.Hits = out.Hits[:f.ask.Limit]
				last := &out.Hits[f.ask.Limit-1]
				out.Next = cursor{last.Relevance, last.at}.text(f.ask.digest())
				return out, f.finish(ctx, out.Hits)
			}
			if src.done {
				break
			}
			if len(f.known) >= f.cfg.limits.look {
				out.Next = cursor{at.of, some[len(some)-1].at}.text(f.ask.digest())
				return out, f.finish(ctx, out.Hits)
			}
		}
	}
	return out, f.finish(ctx, out.Hits)
}

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
	if err := f.look(ctx, some); err != nil {
		return nil, err
	}
	for _, c := range some {
		if k := f.known[c]; k != nil && k.of == of {
			hits = append(hits, f.show(k.record, k.texts, of, c.at))
		}
	}
	return hits, nil
}

// look reads those of some candidates that were not looked at yet.
func (f *finder) look(ctx context.Context, some []candidate) error {
	ids := map[string][]string{}
	for _, c := range some {
		if _, ok := f.known[c]; !ok {
			f.known[c] = nil
			ids[c.object] = append(ids[c.object], c.at.id)
		}
	}
	found := map[string]*crm.Record{}
	for object, list := range ids {
		if f.fields[object] == nil {
			continue
		}
		if f.ask.Campaign != "" {
			in, err := f.cfg.Records.MembersAmong(ctx, f.tx, f.caller.Tenant, f.ask.Campaign, object, list)
			if err != nil {
				return err
			}
			list = slices.DeleteFunc(list, func(id string) bool { return !in[id] })
		}
		records, err := f.pick(ctx, object, list)
		if err != nil {
			return err
		}
		for i := range records {
			found[records[i].ID] = &records[i]
		}
	}
	for _, c := range some {
		r := found[c.at.id]
		if r == nil || r.Object != c.object || hidden(r) || r.UpdatedAt < f.ask.Since {
			continue
		}
		texts := f.texts(r)
		f.known[c] = &known{r, texts, f.query.relevance(texts)}
	}
	return nil
}

// texts are the texts of a record that the caller may look into.
func (f *finder) texts(r *crm.Record) []fieldText {
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
func (f *finder) show(r *crm.Record, texts []fieldText, of Relevance, at place) Hit {
	h := Hit{
		Object: r.Object, ID: r.ID, OwnerID: r.OwnerID, RecordVersion: r.Version, UpdatedAt: r.UpdatedAt, Relevance: of, at: at,
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
