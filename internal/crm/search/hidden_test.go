package search

import (
	"fmt"
	"reflect"
	"strconv"
	"testing"

	"renga.dev/renga/internal/crm/crmtest"
	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/crm/model"
)

// pages are the hits of all pages, and how long each cursor is.
func (t *tenant) pages(user string, ask Ask) (all []string) {
	t.Helper()
	for {
		page, err := t.Find(t.Context(), kit.Caller{Tenant: t.id, Subject: user}, ask)
		if err != nil {
			t.Fatal(err)
		}
		for i := range page.Hits {
			page.Hits[i].at = place{}
		}
		all = append(all, fmt.Sprintf("%+v, a cursor of %d bytes", page.Hits, len(page.Next)))
		if ask.Cursor = page.Next; ask.Cursor == "" {
			return all
		}
	}
}

// nothingHiddenMovesAPage looks at the pages of two who see few records of many that have a
// word: once while the others are there, and once when they are gone.
func nothingHiddenMovesAPage(t *testing.T, r *rig) {
	hiddenMovesNoPage(t, newTenant(r), 4)
}

// nothingHiddenMovesAPageOfPublicRecords has leads too, few, and everybody sees all of them:
// who they are is not told, only how many.
func nothingHiddenMovesAPageOfPublicRecords(t *testing.T, r *rig) {
	p := newTenant(r)
	p.define(model.KindOWD, "Lead", `{"access":"ReadOnly"}`)
	p.create("Lead", `{"LastName":"Ours","Company":"the word","Status":"Open - Not Contacted"}`)
	hiddenMovesNoPage(t, p, 5)
}

// hiddenMovesNoPage has Anna find so many records.
func hiddenMovesNoPage(t *testing.T, p *tenant, finds int) {
	anna, ben, cleo := p.user(1), p.user(2), p.user(3) // Cleo sees so few that all she sees is looked at
	p.define(model.KindPermissionSet, crmtest.ID(sets, 2), `{"name":"few","fields":{"Account.Phone":{"read":true}}}`)
	var hidden []string
	hide := func(n int) {
		for i := range n {
			body := `{"Name":"Acme","Description":"word ` + strconv.Itoa(i) + `"}`
			if i%2 == 1 {
				body = `{"Name":"Word of others","Industry":"Energy"}`
			}
			hidden = append(hidden, p.create("Account", body))
			if i%3 == 0 {
				p.give("Account", hidden[len(hidden)-1], ben)
			}
		}
		// She sees this one, but not the field that has the word.
		hidden = append(hidden, p.create("Account", `{"Name":"Hers","Phone":"word"}`))
		p.give("Account", hidden[len(hidden)-1], anna)
	}
	for i := range 4 {
		hide(7)
		p.give("Account", p.create("Account", `{"Name":"Mine `+strconv.Itoa(i)+`","Description":"the word"}`), anna)
		if i%2 == 0 {
			p.give("Account", p.create("Account", `{"Name":"Mine too `+strconv.Itoa(i)+`","Description":"a word"}`),
				cleo)
		}
	}
	hide(7)
	p.settle()
	asks := []Ask{
		{Text: "word"},
		{Text: "wor"},
		{Text: `"word"`},
		{Text: "word mine"},
		{Text: "the word"},
		{Text: "word energy"},
		{Text: "word", Field: "Description"},
		{Text: `"word"`, Field: "Industry"},
		{Text: "word", Field: "Name"},
		{Text: "word", Objects: []string{"Account"}},
	}
	look := func() map[string][]string {
		got := map[string][]string{}
		for _, ask := range asks {
			for _, ask.Limit = range []int{1, 2, 3, 20} {
				for name, user := range map[string]string{"anna": anna, "cleo": cleo} {
					got[fmt.Sprintf("%s %+v", name, ask)] = p.pages(user, ask)
				}
			}
		}
		return got
	}
	with := look()
	for _, id := range hidden {
		p.drop("Account", id)
	}
	p.settle()
	for ask, without := range look() {
		if !reflect.DeepEqual(with[ask], without) {
			t.Errorf("%s:\n%q while there are hidden records,\n%q without", ask, with[ask], without)
		}
	}
	if n := len(with[fmt.Sprintf("anna %+v", Ask{Text: "word", Limit: 1})]); n != finds {
		t.Errorf("%d records are on %d pages", finds, n)
	}
}

// allIsFoundByWhoSeesAll is about who sees all records, which are no more than are looked at
// in place of candidates, and many of them have the word elsewhere.
func allIsFoundByWhoSeesAll(t *testing.T, r *rig) {
	p := newTenant(r)
	p.create("Account", `{"Name":"Old","Description":"a deal"}`)
	for i := range 12 {
		p.create("Account", `{"Name":"Deal `+strconv.Itoa(i)+`"}`)
	}
	p.settle()
	cfg := r.cfg
	cfg.limits.own = 100
	ask := Ask{Text: "deal", Field: "Description", Limit: 2}
	page, err := New(r.Search.DB, cfg).Find(t.Context(), kit.Caller{Tenant: p.id}, ask)
	if err != nil || len(page.Hits) != 1 {
		t.Errorf("%d hits (%v), want the oldest record", len(page.Hits), err)
	}
}

// aRecordIsOnceOnAPage changes a record that was found, while the search is not at its end.
func aRecordIsOnceOnAPage(t *testing.T, r *rig) {
	p := newTenant(r)
	for range 12 { // so that it is still among names when it is interrupted
		p.create("Account", `{"Name":"Deal of others"}`)
	}
	anna := p.user(1)
	mine := p.create("Account", `{"Name":"Deal","Description":"a deal"}`)
	p.give("Account", mine, anna)
	p.settle()
	c, ask := kit.Caller{Tenant: p.id, Subject: anna}, Ask{Text: "deal", Limit: 2}
	q, err := parseQuery(ask.Text)
	if err != nil {
		t.Fatal(err)
	}
	found, err := p.goOn(t.Context(), c, ask, q, progress{at: cursor{NameWords, first}})
	if err != nil || found.done || len(found.hits) != 1 {
		t.Fatalf("the first transaction: %+v (%v)", found, err)
	}
	p.update("Account", mine, `{"Name":"Other"}`)
	p.settle()
	for err == nil && !found.done {
		found, err = p.goOn(t.Context(), c, ask, q, found)
	}
	if err != nil || len(found.hits) != 1 {
		t.Errorf("%+v (%v), want the record once", found.hits, err)
	}
}
