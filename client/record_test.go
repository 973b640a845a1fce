package client_test

import (
	"errors"
	"testing"

	"renga.dev/renga/client"
)

func TestRecordsAreMadeReadListedChangedAndDeleted(t *testing.T) {
	c, ctx := sender(t, newServer(t).url), soon(t)
	acme, err := c.Records.Create(ctx, "Account", client.RecordDraft{Fields: map[string]any{
		"Name":          "Acme",
		"AnnualRevenue": 5,
	}})
	if err != nil || acme.Fields["AnnualRevenue"] != 5.0 {
		t.Fatalf("got %+v, %v", acme, err)
	}
	next, err := c.Records.Update(ctx, "Account", acme.ID, acme.RecordVersion,
		client.RecordDraft{Fields: map[string]any{"AnnualRevenue": nil}})
	if err != nil || next.RecordVersion <= acme.RecordVersion || next.Fields["AnnualRevenue"] != nil {
		t.Errorf("got %+v, %v", next, err)
	}
	if _, err := c.Records.Update(ctx, "Account", acme.ID, acme.RecordVersion, client.RecordDraft{}); !errors.Is(err,
		client.ErrVersion) {
		t.Errorf("got %v, want another version", err)
	}
	results, err := c.Records.Bulk(ctx, "Contact", false, []client.RecordOperation{
		{Op: "create", Fields: map[string]any{"LastName": "Ng", "AccountId": acme.ID}}, {Op: "create"},
	})
	if err != nil || len(results) != 2 || results[0].Status != 201 || results[1].Error == nil ||
		results[1].Error.Code != "FIELD_REQUIRED" {
		t.Fatalf("got %+v, %v", results, err)
	}
	if err := c.Records.Delete(ctx, "Account", acme.ID, client.AnyVersion); !errors.Is(err, client.ErrRefused) {
		t.Errorf("got %v, want that it is named", err)
	}
	page, err := c.Records.List(ctx, "Contact", client.RecordQuery{
		Filters: map[string]string{"AccountId": acme.ID},
		Sort:    "Name.asc",
	})
	if err != nil || page.Total != 1 || page.Items[0].ID != results[0].ID {
		t.Errorf("got %+v, %v", page, err)
	}
	history, err := c.Records.History(ctx, "Account", acme.ID, client.Paging{})
	if err != nil || history.Total != 2 || history.Items[0].Changes[0].Field != "AnnualRevenue" {
		t.Errorf("got %+v, %v", history, err)
	}
	lead, err := c.Records.Create(ctx, "Lead", client.RecordDraft{Fields: map[string]any{
		"LastName": "Na",
		"Company":  "Acme", "Status": "Working - Contacted",
	}})
	if err != nil {
		t.Fatal(err)
	}
	became, err := c.Records.ConvertLead(ctx, lead.ID, client.LeadConversion{Match: true})
	if err != nil || became.AccountID != acme.ID || became.OpportunityID != nil || len(became.Created) != 1 {
		t.Errorf("got %+v, %v", became, err)
	}
	if err := c.Records.Delete(ctx, "Contact", results[0].ID, results[0].RecordVersion); err != nil {
		t.Error(err)
	}
	if _, err := c.Records.Get(ctx, "Contact", results[0].ID); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

func TestABulkUnderAKeyIsDoneOnce(t *testing.T) {
	c, ctx := sender(t, newServer(t).url), soon(t)
	ops := []client.RecordOperation{
		{Op: "create", Fields: map[string]any{"Name": "Acme"}},
		{Op: "create", Fields: map[string]any{"Name": "Globex"}},
	}
	first, err := c.Records.BulkWithKey(ctx, "k1", "Account", true, ops)
	if err != nil {
		t.Fatal(err)
	}
	again, err := c.Records.BulkWithKey(ctx, "k1", "Account", true, ops)
	if err != nil || again[0].ID != first[0].ID || again[1].ID != first[1].ID {
		t.Errorf("got %+v, %v, want %+v", again, err, first)
	}
	if page, err := c.Records.List(ctx, "Account", client.RecordQuery{}); err != nil || page.Total != 2 {
		t.Errorf("got %+v, %v", page, err)
	}
	if _, err := c.Records.BulkWithKey(ctx, "k1", "Account", true, ops[:1]); !errors.Is(err, client.ErrKeyConflict) {
		t.Errorf("got %v, want that the key was used", err)
	}
}

func TestTeamsAndMembersFromGo(t *testing.T) {
	c, ctx := sender(t, newServer(t).url), soon(t)
	const anna = "0199c1a4-0000-7000-8000-000000000021"
	if _, _, err := c.Metadata.Put(ctx, client.DefineUser, anna, map[string]any{"name": "Anna"}, ""); err != nil {
		t.Fatal(err)
	}
	made := map[string]string{}
	for object, fields := range map[string]map[string]any{
		"Account": {"Name": "Acme"}, "Campaign": {"Name": "Spring"}, "Lead": {
			"LastName": "Na", "Company": "Acme",
			"Status": "Working - Contacted",
		},
	} {
		r, err := c.Records.Create(ctx, object, client.RecordDraft{Fields: fields})
		if err != nil {
			t.Fatal(err)
		}
		made[object] = r.ID
	}
	m, err := c.Records.PutTeamMember(ctx, "Account", made["Account"], client.TeamMember{
		UserID:   anna,
		TeamRole: "Sales Rep",
	})
	if err != nil || m.AccessLevel != "Edit" {
		t.Errorf("got %+v, %v", m, err)
	}
	if m, err = c.Records.PutTeamMember(ctx, "Account", made["Account"], client.TeamMember{
		UserID:   anna,
		TeamRole: "Sales Rep", AccessLevel: "Read",
	}); err != nil || m.AccessLevel != "Read" {
		t.Errorf("got %+v, %v", m, err)
	}
	if team, err := c.Records.Team(ctx, "Account", made["Account"]); err != nil || len(team) != 1 ||
		team[0].UserID != anna {
		t.Errorf("got %+v, %v", team, err)
	}
	if err := c.Records.RemoveTeamMember(ctx, "Account", made["Account"], anna); err != nil {
		t.Error(err)
	}
	if err := c.Records.RemoveTeamMember(ctx, "Account", made["Account"], anna); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("got %v, want that nobody is there", err)
	}
	lead := client.CampaignMember{MemberType: "Lead", MemberID: made["Lead"]}
	if in, err := c.Records.PutCampaignMember(ctx, made["Campaign"], lead); err != nil || in.Status != "Sent" ||
		in.HasResponded {
		t.Errorf("got %+v, %v", in, err)
	}
	lead.Status, lead.HasResponded = "Attended", true
	if in, err := c.Records.PutCampaignMember(ctx, made["Campaign"], lead); err != nil || in.Status != "Attended" ||
		!in.HasResponded {
		t.Errorf("got %+v, %v", in, err)
	}
	if page, err := c.Records.CampaignMembers(ctx, made["Campaign"], client.Paging{}); err != nil || page.Total != 1 ||
		page.Items[0].MemberID != made["Lead"] {
		t.Errorf("got %+v, %v", page, err)
	}
	if err := c.Records.RemoveCampaignMember(ctx, made["Campaign"], "Lead", made["Lead"]); err != nil {
		t.Error(err)
	}
}
