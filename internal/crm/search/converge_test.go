package search

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"pgregory.net/rapid"

	"renga.dev/renga/internal/crm/crmtest"
	"renga.dev/renga/internal/crm/kit/rebuild"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/crm/records"
	"renga.dev/renga/internal/platform/canonical"
)

// indexConverges does anything in any order, hands the events out in any order, some
// twice, and rebuilds in between. When it is quiet the recount finds nothing, and everybody
// finds what a dumb look through all records finds.
func indexConverges(t *testing.T, r *rig) {
	steps, checks := 40, "6" // each check is a tenant in a real database
	if os.Getenv("RENGA_LONG") != "" {
		steps, checks = 200, "50"
	}
	set := flag.Lookup("rapid.checks").Value
	defer func(before string) { _ = set.Set(before) }(set.String())
	if err := set.Set(checks); err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		p := &play{tenant: newTenant(r), T: rt, records: map[string]string{}}
		p.user(1)
		p.user(2)
		for range steps {
			p.step()
		}
		p.quiet()
		p.compare()
	})
}

// play is a tenant in which things happen at random.
type play struct {
	*tenant
	*rapid.T
	records map[string]string // objects by id, of those that live
	running *rebuild.Rebuild
	kept    bool // the description of accounts is kept out of the index
}

func (p *play) Helper()                      {}
func (p *play) Fatalf(f string, args ...any) { p.T.Fatalf(f, args...) }
func (p *play) Fatal(args ...any)            { p.T.Fatal(args...) }

func (p *play) text(label string) string {
	text := []rune(strings.ReplaceAll(words().Draw(p.T, label), `"`, ""))
	return string(text[:min(len(text), 75)]) // a last name has at most 80
}

// body is the fields of a record.
func (p *play) body(object string) string {
	name, rest := p.text("name"), p.text("text")
	switch object {
	case "Account":
		return fmt.Sprintf(`{"Name":%q,"Description":%q}`, "A "+name, rest)
	case "Contact":
		return fmt.Sprintf(`{"LastName":%q,"Title":%q}`, "B "+name, rest)
	case "Lead":
		return fmt.Sprintf(`{"LastName":%q,"Company":%q,"Status":"Open - Not Contacted"}`, "C "+name, "D "+rest)
	}
	return fmt.Sprintf(`{"Name":%q,"Description":%q}`, "E "+name, rest)
}

var played = []string{"Account", "Contact", "Lead", "Campaign"}

// living is a record of one of some objects, "" when there is none.
func (p *play) living(objects ...string) (object, id string) {
	var ids []string
	for id, object := range p.records {
		if slices.Contains(objects, object) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return "", ""
	}
	slices.Sort(ids)
	id = rapid.SampledFrom(ids).Draw(p.T, "record")
	return p.records[id], id
}

func (p *play) step() {
	switch rapid.IntRange(0, 19).Draw(p.T, "what") {
	case 0, 1, 2, 3:
		object := rapid.SampledFrom(played).Draw(p.T, "object")
		p.records[p.create(object, p.body(object))] = object
	case 4, 5, 6, 7:
		if object, id := p.living(played...); id != "" {
			p.update(object, id, p.body(object))
		}
	case 8:
		if object, id := p.living("Account", "Contact"); id != "" {
			p.tenant.give(object, id, crmtest.ID(users, rapid.IntRange(1, 2).Draw(p.T, "owner")))
		}
	case 9:
		p.remove()
	case 10, 11:
		p.member()
	case 12:
		p.kept = rapid.Bool().Draw(p.T, "kept")
		sensitive := rapid.Bool().Draw(p.T, "sensitive")
		p.define(model.KindField, "Account.Description", fmt.Sprintf(`{"searchable":%v,"sensitive":%v}`, !p.kept,
			sensitive))
	case 13:
		p.rebuild()
	case 14:
		if len(p.taken) > 0 {
			p.hand(rapid.SampledFrom(p.taken).Draw(p.T, "again"))
		}
	default:
		if rapid.IntRange(0, 3).Draw(p.T, "together") == 0 {
			p.settle()
			return
		}
		p.fetch()
		p.take()
	}
}

// take hands out an event, whichever.
func (p *play) take() {
	if len(p.waits) == 0 {
		return
	}
	i := rapid.IntRange(0, len(p.waits)-1).Draw(p.T, "event")
	e := p.waits[i]
	p.waits = slices.Delete(p.waits, i, i+1)
	p.hand(e)
	p.taken = append(p.taken, e)
}

func (p *play) remove() {
	object, id := p.living(played...)
	if id == "" {
		return
	}
	p.Clock.Add(1)
	_, _, err := p.tenant.rig.records.Apply(p.tenant.Context(), p.as(""), records.Batch{
		Object: object,
		Ops:    []records.Op{{Kind: records.Delete, ID: id}}, AllOrNone: true,
	},
		func([]records.Result) ([]byte, error) { return []byte("{}"), nil })
	if err == nil { // else it is a member of a campaign
		delete(p.records, id)
	}
}

func (p *play) member() {
	_, campaign := p.living("Campaign")
	object, id := p.living("Lead", "Contact")
	if campaign == "" || id == "" {
		return
	}
	p.Clock.Add(1)
	if rapid.Bool().Draw(p.T, "leaves") {
		_ = p.tenant.rig.records.RemoveMember(p.tenant.Context(), p.as(""), campaign, object, id) // it may not be one
		return
	}
	if _, _, err := p.tenant.rig.records.PutMember(p.tenant.Context(), p.as(""), campaign, object, id,
		records.MemberDraft{}); err != nil {
		p.Fatal(err)
	}
}

// rebuild begins a rebuild, or does a piece of one.
func (p *play) rebuild() {
	if p.running == nil {
		id, _, err := p.Rebuild(p.tenant.Context(), p.id, rapid.SampledFrom([]string{"", "Account"}).Draw(p.T, "of"),
			nil)
		if err != nil {
			p.Fatal(err)
		}
		b, err := p.runs.Get(p.tenant.Context(), p.id, id)
		if err != nil {
			p.Fatal(err)
		}
		p.running = b
		return
	}
	done, err := p.chunk(p.tenant.Context(), p.running)
	if err != nil {
		p.Fatal(err)
	}
	if done {
		p.running = nil
	}
}

// quiet hands out what is left and ends all rebuilds.
func (p *play) quiet() {
	p.fetch()
	for len(p.waits) > 0 {
		p.take()
		p.fetch()
	}
	p.work()
}

// compare looks through all records by hand.
func (p *play) compare() {
	p.same()
	for range 5 {
		text := p.text("query")
		q, err := parseQuery(text)
		if err != nil {
			continue
		}
		for _, user := range []string{"", crmtest.ID(users, 1), crmtest.ID(users, 2)} {
			want := p.look(user, q)
			hits, err := p.hits(user, Ask{Text: text, Limit: 3})
			if err != nil {
				p.Fatal(err)
			}
			var got []string
			last := Hit{Relevance: NameWords, UpdatedAt: canonical.Stamp(1 << 60)}
			for _, h := range hits {
				got = append(got, h.ID)
				if h.Relevance > last.Relevance || h.Relevance == last.Relevance && h.UpdatedAt > last.UpdatedAt {
					p.Fatalf("%s: %+v comes behind %+v", text, h, last)
				}
				last = h
			}
			slices.Sort(got)
			if !slices.Equal(got, want) {
				p.Fatalf("%q as %q: got %q, want %q", text, user, got, want)
			}
		}
	}
}

// look finds records by reading them all, as the user sees them.
func (p *play) look(user string, q query) (ids []string) {
	for _, object := range played {
		page, _, err := p.tenant.rig.records.List(p.tenant.Context(), p.as(user), object, records.Query{Limit: 1000})
		if err != nil {
			p.Fatal(err)
		}
		for _, v := range page {
			var texts []fieldText
			for name, raw := range crmtest.Fields(p.tenant, string(v.Fields)) {
				if f := model.StandardField(object, name); f.Type.Searchable() && !(name == "Description" &&
					object == "Account" && p.kept) {
					var text string
					if err := json.Unmarshal(raw, &text); err != nil {
						p.Fatal(err)
					}
					texts = append(texts, fieldText{name, text, units(text)})
				}
			}
			if q.relevance(texts) > 0 {
				ids = append(ids, v.ID)
			}
		}
	}
	slices.Sort(ids)
	return ids
}
