package search

import (
	"context"
	"strings"
	"testing"

	"renga.dev/renga/internal/crm/crmtest"
	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/crm/records"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/sqldb"
)

func recordsAreFound(t *testing.T, r *rig) {
	p := newTenant(r)
	p.create("Account", `{"Name":"Acme","Description":"Cloud 東京本社"}`)
	p.create("Account", `{"Name":"東京商事","Website":"https://acme.example/jp","Type":"Partner"}`)
	p.create("Contact", `{"FirstName":"Anna","LastName":"Müller","Email":"anna@acme.example"}`)
	p.create("Account", `{"Name":"Acmeology Institute"}`)
	since := canonical.Stamp(p.Clock.Now().UnixMilli() + 1)
	p.create("Lead", `{"FirstName":"ﾀﾅｶ","LastName":"太郎","Company":"ＡＣＭＥ","Status":"Open - Not Contacted"}`)
	p.create("Account", `{"Name":"Acme East"}`)
	p.settle()
	for _, tt := range []struct {
		ask  Ask
		want string
	}{
		{Ask{Text: "acme"}, "Acme East,Acme,Acmeology Institute,ﾀﾅｶ 太郎,Anna Müller,東京商事"},
		{Ask{Text: "ACM"}, "Acme East,Acmeology Institute,Acme,ﾀﾅｶ 太郎,Anna Müller,東京商事"},
		{Ask{Text: "acme east"}, "Acme East"},
		{Ask{Text: "東京"}, "東京商事,Acme"},
		{Ask{Text: "京"}, "東京商事,Acme"},
		{Ask{Text: "東京本社"}, "Acme"},
		{Ask{Text: "京商"}, "東京商事"},
		{Ask{Text: "タナカ"}, "ﾀﾅｶ 太郎"},
		{Ask{Text: "Mu\u0308ller"}, "Anna Müller"},
		{Ask{Text: "muller"}, "Anna Müller"},
		{Ask{Text: "anna@acme.example"}, "Anna Müller"},
		{Ask{Text: `"acme example"`}, "Anna Müller,東京商事"},
		{Ask{Text: "partner"}, "東京商事"},
		{Ask{Text: "acme", Objects: []string{"Contact", "Lead"}}, "ﾀﾅｶ 太郎,Anna Müller"},
		{Ask{Text: "acme", Field: "Name"}, "Acme East,Acme,Acmeology Institute"},
		{Ask{Text: "acme", Field: "Website"}, "東京商事"},
		{Ask{Text: "acme", Since: since}, "Acme East,ﾀﾅｶ 太郎"},
		{Ask{Text: "nothing"}, ""},
	} {
		if got := p.find("", tt.ask); got != tt.want {
			t.Errorf("%+v: got %s, want %s", tt.ask, got, tt.want)
		}
	}
	if got := newTenant(r).find("", Ask{Text: "acme"}); got != "" {
		t.Errorf("another tenant finds %s", got)
	}
	q := newTenant(r)
	q.create("Account", `{"Name":"Acme of B"}`)
	q.settle()
	if got := q.find("", Ask{Text: "acme"}); got != "Acme of B" {
		t.Errorf("another tenant with records finds %s", got)
	}
	p.same()
	q.same()
}

func wrongAsksSayWhy(t *testing.T, r *rig) {
	p := newTenant(r)
	anna := p.user(1)
	page := Ask{Text: "acme", Limit: 1}
	for range 2 {
		p.create("Account", `{"Name":"Acme"}`)
	}
	p.settle()
	first, err := p.Find(t.Context(), kit.Caller{Tenant: p.id}, page)
	if err != nil || len(first.Hits) != 1 || first.Next == "" {
		t.Fatalf("got %+v, %v", first, err)
	}
	for _, tt := range []struct {
		user string
		ask  Ask
		want string
	}{
		{"", Ask{Text: "!"}, canonical.CodeInvalid},
		{"", Ask{Text: "acme", Cursor: "x"}, canonical.CodeInvalid},
		{"", Ask{Text: "acme", Cursor: first.Next + "x"}, canonical.CodeInvalid},
		{"", Ask{Text: "acme", Cursor: "\x00" + first.Next[1:]}, canonical.CodeInvalid},
		{"", Ask{Text: "acme", Objects: []string{"Nothing"}}, "OBJECT_UNKNOWN"},
		{"", Ask{Text: "acme", Field: "Nothing"}, "FIELD_UNKNOWN"},
		{"", Ask{Text: "acme", Field: "AnnualRevenue"}, "FIELD_UNKNOWN"},
		{"", Ask{Text: "acme", Campaign: crmtest.ID(9, 9)}, "RECORD_NOT_FOUND"},
		{anna, Ask{Text: "acme", Objects: []string{"Quote"}}, "ACCESS_DENIED"},
	} {
		if _, err := p.tryFind(tt.user, tt.ask); crmtest.CodeOf(err) != tt.want {
			t.Errorf("%+v: got %v, want %s", tt.ask, err, tt.want)
		}
	}
}

// nobodyFindsWhatItMayNotSee takes access, permissions and fields away, mostly before
// any event is handed out.
func nobodyFindsWhatItMayNotSee(t *testing.T, r *rig) {
	p := newTenant(r)
	anna, ben := p.user(1), p.user(2)
	acme := p.create("Account", `{"Name":"Acme","Description":"secret sauce","Industry":"Energy"}`)
	p.give("Account", acme, anna)
	other := p.create("Account", `{"Name":"Acme of nobody"}`)
	p.create("Opportunity", `{"Name":"Acme deal","StageName":"Qualification","CloseDate":"2026-02-28"}`)
	p.settle()
	ask := func(text string) Ask { return Ask{Text: text} }
	if a, b, s := p.find(anna, ask("acme")), p.find(ben, ask("acme")), p.find("", ask("acme")); a != "Acme" ||
		b != "" || s != "Acme deal,Acme of nobody,Acme" {
		t.Fatalf("found %q, %q, %q", a, b, s)
	}
	p.give("Account", acme, ben)
	if a, b := p.find(anna, ask("acme")), p.find(ben, ask("acme")); a != "" || b != "Acme" {
		t.Errorf("after it was given away: %q, %q", a, b)
	}
	p.define(model.KindPermissionSet, crmtest.ID(sets, 2),
		`{"name":"few","fields":{"Account.Description":{"read":true}}}`)
	if got := p.find(ben, ask("sauce")); got != "" {
		t.Errorf("by a field that is not to be read: %q", got)
	}
	if got := p.find(ben, ask("acme sauce")); got != "" {
		t.Errorf("by a name and a field that is not to be read: %q", got)
	}
	if _, err := p.tryFind(ben, Ask{Text: "sauce", Field: "Description", Objects: []string{"Account"}}); crmtest.CodeOf(
		err) != "FIELD_UNKNOWN" {
		t.Errorf("in a field that is not to be read: %v", err)
	}
	p.define(model.KindPermissionSet, crmtest.ID(sets, 2), `{"name":"few","fields":{"Contact.Name":{"read":true}}}`)
	chen := p.create("Contact", `{"LastName":"Chen","Description":"secret soup"}`)
	p.give("Contact", chen, ben)
	p.settle()
	hits, err := p.hits(ben, ask("soup"))
	if err != nil || len(hits) != 1 || hits[0].Name != "" || len(hits[0].Highlights) != 1 ||
		hits[0].Highlights[0].Field != "Description" || hits[0].Relevance != Words {
		t.Errorf("by a field, when the name is not to be read: %+v, %v", hits, err)
	}
	if got, err := p.hits(ben, ask("chen")); err != nil || len(got) != 1 || got[0].Relevance != Words ||
		got[0].Highlights[0].Field != "LastName" {
		t.Errorf("by a name that is not to be read: %+v", got)
	}
	p.define(model.KindField, "Account.Description", `{"sensitive":true}`)
	if got := p.find("", ask("sauce")); got != "Acme" {
		t.Errorf("by a sensitive field: %q", got)
	}
	p.define(model.KindField, "Account.Description", `{"searchable":false}`)
	if got := p.find("", ask("sauce")); got != "" {
		t.Errorf("by a field that is kept out of the index: %q", got)
	}
	p.update("Account", acme, `{"Industry":"Media"}`)
	if a, b := p.find("", ask("energy")), p.find("", ask("acme media")); a != "" || b != "" {
		t.Errorf("before the event: by what was, %q; by what is, %q", a, b)
	}
	p.settle()
	if got := p.find("", ask("acme media")); got != "Acme" {
		t.Errorf("after the event: %q", got)
	}
	p.drop("Account", other)
	if got := p.find("", ask("nobody")); got != "" {
		t.Errorf("deleted: %q", got)
	}
	p.settle()
	p.work()
	p.same()
}

// personalFieldsAreFoundAndNotTold looks for a contact by what no event has said.
func personalFieldsAreFoundAndNotTold(t *testing.T, r *rig) {
	p := newTenant(r)
	anna, ben := p.user(1), p.user(2)
	chen := p.create("Contact",
		`{"LastName":"Chen","Email":"chen@acme.example","Phone":"+81 3 1234","Birthdate":"1990-01-02"}`)
	p.give("Contact", chen, anna)
	p.update("Contact", chen, `{"MobilePhone":"+81 90 5678","Title":"Buyer"}`)
	p.settle()
	for _, e := range p.taken {
		for _, secret := range []string{"acme.example", "3 1234", "90 5678", "1990-01-02"} {
			if strings.Contains(string(e.Payload), secret) {
				t.Errorf("an event says %s: %s", secret, e.Payload)
			}
		}
	}
	for _, text := range []string{"chen@acme.example", `"3 1234"`, "5678", "buyer"} {
		if a, b := p.find(anna, Ask{Text: text}), p.find(ben, Ask{Text: text}); a != "Chen" || b != "" {
			t.Errorf("%s: found %q by who sees the contact, %q by who does not", text, a, b)
		}
	}
	p.define(model.KindPermissionSet, crmtest.ID(sets, 2), `{"name":"few","fields":{"Contact.Email":{"read":true}}}`)
	if a, s := p.find(anna, Ask{Text: "acme"}), p.find("", Ask{Text: "acme"}); a != "" || s != "Chen" {
		t.Errorf("by an address that is for few: %q by who may not read it, %q by who may", a, s)
	}
	p.same()
}

// leadsCampaignsAndApprovals are what else the document wants search to follow.
func leadsCampaignsAndApprovals(t *testing.T, r *rig) {
	p := newTenant(r)
	p.user(1)
	lead := p.create("Lead", `{"LastName":"Tanaka","Company":"Acme","Status":"Open - Not Contacted"}`)
	p.create("Lead", `{"LastName":"Suzuki","Company":"Acme","Status":"Open - Not Contacted"}`)
	spring := p.create("Campaign", `{"Name":"Spring"}`)
	if _, _, err := p.records.PutMember(t.Context(), p.as(""), spring, "Lead", lead,
		records.MemberDraft{}); err != nil {
		t.Fatal(err)
	}
	p.settle()
	members := Ask{Text: "acme", Campaign: spring}
	if got := p.find("", members); got != "Tanaka" {
		t.Errorf("members: %q", got)
	}
	if _, err := p.tryFind(crmtest.ID(users, 1), members); crmtest.CodeOf(err) != "RECORD_NOT_FOUND" {
		t.Errorf("members of a campaign that is not to be seen: %v", err)
	}
	p.Change(func(ctx context.Context, tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, "INSERT INTO records_lock (tenant_id, object, record_id, approval_id, fields, at) "+
			"VALUES ($1, 'Lead', $2, 'a', '[]', 1)", p.id, lead)
		return err
	})
	if hits, err := p.hits("", Ask{Text: "acme"}); err != nil || len(hits) != 2 || hits[0].InApproval ||
		!hits[1].InApproval {
		t.Errorf("an open approval is not shown: %+v, %v", hits, err)
	}
	if err := p.records.RemoveMember(t.Context(), p.as(""), spring, "Lead", lead); err != nil {
		t.Fatal(err)
	}
	if got := p.find("", members); got != "" {
		t.Errorf("members before the event: %q", got)
	}
	p.settle()
	_, _, err := p.records.Convert(t.Context(), p.as(""), records.Conversion{LeadID: lead},
		func(records.Converted) ([]byte, error) { return []byte("{}"), nil })
	if err != nil {
		t.Fatal(err)
	}
	if got := p.find("", Ask{Text: "tanaka"}); got != "" {
		t.Errorf("a converted lead before the event: %q", got)
	}
	p.settle()
	if got, err := p.hits("", Ask{Text: "tanaka"}); err != nil || len(got) != 1 || got[0].Object != "Contact" {
		t.Errorf("a converted lead: %+v, %v", got, err)
	}
	p.same()
	p.drop("Campaign", spring)
	p.settle()
	p.same()
}

// TestStatementsUseIndexes asks SQLite how it would look for candidates.
func TestStatementsUseIndexes(t *testing.T) {
	r := newRig(t, crmtest.SQLite(t), small)
	for query, want := range map[string]string{
		selectText: "VIRTUAL TABLE INDEX",
		entriesWhere + "id IN (SELECT value FROM json_each($3))": "INDEX search_doc_record",
		selectEntries: "INDEX search_doc_record",
		nextPlace:     "INTEGER PRIMARY KEY",
		"SELECT * FROM search_rebuild WHERE status = 1 ORDER BY num LIMIT 100": "INDEX search_rebuild_running",
		"SELECT * FROM search_rebuild WHERE tenant_id = $1 ORDER BY num DESC":  "INDEX search_rebuild_tenant",
		"SELECT * FROM search_rebuild WHERE tenant_id = $1 AND id = $2":        "INDEX search_rebuild_id",
	} {
		args := []any{"a", "b", "c", "d", 1}[:strings.Count(strings.NewReplacer("$1 - 1", "").Replace(query), "$")]
		if query == nextPlace {
			args = []any{1, 2}
		}
		if got := r.Plan(query, args...); !strings.Contains(got, want) || strings.Contains(got, "TEMP B-TREE") {
			t.Errorf("%s\n%swant %s", query, got, want)
		}
	}
}

// severalWordsAreLookedForOnce has words of which all are common, or one is rare, or which
// are seldom together, with pages that end in the middle.
func severalWordsAreLookedForOnce(t *testing.T, r *rig) {
	p := newTenant(r)
	p.create("Account", `{"Name":"North Pole"}`)
	p.create("Account", `{"Name":"Star Northeast","Description":"rare"}`)
	p.create("Account", `{"Name":"North","Description":"a rare star"}`)
	for range 7 {
		p.create("Account", `{"Name":"North Star"}`)
		p.create("Account", `{"Name":"Pole","Description":"star"}`)
	}
	p.settle()
	for _, tt := range []struct {
		text, want string
		few        bool // all candidates are read at once
	}{
		{"north star", strings.Repeat("North Star,", 7) + "Star Northeast,North", false},
		{"pole star", strings.TrimSuffix(strings.Repeat("Pole,", 7), ","), false},
		{"rare star", "North,Star Northeast", true},
		{`"north" pole`, "North Pole", true},
		{"north rare star", "North,Star Northeast", true},
		{"north nowhere", "", true},
	} {
		for limit := 1; limit <= 3; limit++ {
			if got := p.find("", Ask{Text: tt.text, Limit: limit}); got != tt.want {
				t.Errorf("%s, %d on a page: got %s, want %s", tt.text, limit, got, tt.want)
			}
		}
		q, err := parseQuery(tt.text)
		if err != nil {
			t.Fatal(err)
		}
		p.See(func(ctx context.Context, tx *sqldb.Tx) error {
			f, err := p.newFinder(ctx, tx, kit.Caller{Tenant: p.id}, Ask{Text: tt.text}, q)
			if err != nil {
				return err
			}
			all, few, err := f.gather(ctx)
			if few != tt.few {
				t.Errorf("%s: read at once is %t, want %t (%d candidates)", tt.text, few, tt.few, len(all))
			}
			return err
		})
	}
}

// commonWordsAreNotLookedUp has a word that all of the newest records have beside one that
// few have, and asks which of them PostgreSQL looks up.
func commonWordsAreNotLookedUp(t *testing.T, r *rig) {
	if r.Search.DB.Dialect() != sqldb.Postgres {
		return
	}
	p := newTenant(r)
	p.create("Account", `{"Name":"Rare Star"}`)
	for range 4 {
		p.create("Account", `{"Name":"Star"}`)
	}
	p.settle()
	for text, want := range map[string]string{
		"rare star": "rare", "star rare none": "none rare", "star": "star",
		"sta star": "sta star",
	} {
		q, err := parseQuery(text)
		if err != nil {
			t.Fatal(err)
		}
		p.See(func(ctx context.Context, tx *sqldb.Tx) error {
			f, err := p.newFinder(ctx, tx, kit.Caller{Tenant: p.id}, Ask{Text: text}, q)
			if err != nil {
				return err
			}
			s := &source{finder: f, of: Starts, after: first}
			rare, err := s.rare(ctx, s.parts())
			got := strings.NewReplacer(f.tokens.of(textToken, ""), "", "'", "", ":*", "", " & ", " ").Replace(
				tsquery(rare))
			if got != want {
				t.Errorf("%s: %s is looked up, want %s", text, got, want)
			}
			return err
		})
	}
}
