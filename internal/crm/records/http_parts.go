package records

import (
	"context"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
)

// partRoutes are the routes of what belongs to records: teams and members of campaigns. One
// converts leads.
func (a *api) partRoutes() []gate.Route {
	return []gate.Route{
		{Operation: "listTeam", Do: rest.NoQuery(a.listTeam)},
		{Operation: "putTeamMember", Do: a.putTeamMember},
		{Operation: "removeTeamMember", Do: a.removeTeamMember},
		{Operation: "listCampaignMembers", Do: only("Campaign", a.listMembers)},
		{Operation: "putCampaignMember", Do: only("Campaign", a.putMember)},
		{Operation: "removeCampaignMember", Do: only("Campaign", a.removeMember)},
		{Operation: "convertLead", Heavy: true, Do: only("Lead", a.convertLead)},
	}
}

// only lets the records of one object through; others do not have what the path names.
func only(object string, next rest.Handler) rest.Handler {
	return func(ctx context.Context, c *gate.Call) (gate.Reply, error) {
		if got := c.Path("object"); got != object {
			return gate.Reply{}, fault.New(fault.NotFound, CodeObjectUnknown, "this is for records of %s, not of %q",
				object, got)
		}
		return next(ctx, c)
	}
}

// listTeam answers GET /records/{object}/{id}/team.
func (a *api) listTeam(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	members, err := a.records.Team(ctx, kit.CallerOf(c), c.Path("object"), c.Path("id"))
	return gate.Reply{Body: map[string]any{"items": members}}, err
}

// putTeamMember answers PUT /records/{object}/{id}/team/{userId}.
func (a *api) putTeamMember(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	var b struct {
		TeamRole    string       `json:"teamRole"`
		AccessLevel model.Access `json:"accessLevel"`
	}
	if err := c.Decode(&b); err != nil {
		return gate.Reply{}, err
	}
	m, created, err := a.records.PutTeamMember(ctx, kit.CallerOf(c), c.Path("object"), c.Path("id"), c.Path("userId"),
		b.TeamRole, b.AccessLevel)
	return gate.Reply{Status: rest.PutStatus(created), Body: &m}, err
}

// removeTeamMember answers DELETE /records/{object}/{id}/team/{userId}.
func (a *api) removeTeamMember(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	err := a.records.RemoveTeamMember(ctx, kit.CallerOf(c), c.Path("object"), c.Path("id"), c.Path("userId"))
	return gate.Reply{Status: http.StatusNoContent}, err
}

// listMembers answers GET /records/{object}/{id}/members.
func (a *api) listMembers(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q, p := rest.ReadPage(c)
	if q.Err != nil {
		return gate.Reply{}, q.Err
	}
	rows, total, err := a.records.Members(ctx, kit.CallerOf(c), c.Path("id"), p.Offset(), p.Size)
	if err != nil {
		return gate.Reply{}, err
	}
	return gate.Reply{Body: rest.NewList(p, rows, total)}, nil
}

// putMember answers PUT /records/{object}/{id}/members/{memberType}/{memberId}.
func (a *api) putMember(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	var b struct {
		Status       *string `json:"status"`
		HasResponded *bool   `json:"hasResponded"`
	}
	if err := c.Decode(&b); err != nil {
		return gate.Reply{}, err
	}
	m, created, err := a.records.PutMember(ctx, kit.CallerOf(c), c.Path("id"), c.Path("memberType"), c.Path("memberId"),
		MemberDraft(b))
	return gate.Reply{Status: rest.PutStatus(created), Body: &m}, err
}

// removeMember answers DELETE /records/{object}/{id}/members/{memberType}/{memberId}.
func (a *api) removeMember(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	err := a.records.RemoveMember(ctx, kit.CallerOf(c), c.Path("id"), c.Path("memberType"), c.Path("memberId"))
	return gate.Reply{Status: http.StatusNoContent}, err
}

// conversionBody is the body of POST /records/{object}/{id}/convert.
type conversionBody struct {
	RecordVersion *canonical.Stamp          `json:"recordVersion"`
	OwnerID       rest.ID                   `json:"ownerId"`
	AccountID     rest.ID                   `json:"accountId"`
	ContactID     rest.ID                   `json:"contactId"`
	OpportunityID rest.ID                   `json:"opportunityId"`
	Match         bool                      `json:"match"`
	Opportunity   map[string]jsontext.Value `json:"opportunity"`
}

// convertLead answers POST /records/{object}/{id}/convert.
func (a *api) convertLead(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	b, key, err := read[conversionBody](c)
	if err != nil {
		return gate.Reply{}, err
	}
	v := Conversion{
		LeadID: c.Path("id"), OwnerID: string(b.OwnerID), AccountID: string(b.AccountID),
		ContactID: string(b.ContactID), OpportunityID: string(b.OpportunityID),
		Match: b.Match, Opportunity: b.Opportunity, Idempotency: key,
	}
	if b.RecordVersion != nil {
		v.Version = *b.RecordVersion
	}
	body, _, err := a.records.Convert(ctx, kit.CallerOf(c), v, func(done Converted) ([]byte, error) {
		return json.Marshal(&done)
	})
	return gate.Reply{Raw: body}, err
}
