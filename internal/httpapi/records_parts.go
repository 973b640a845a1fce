package httpapi

import (
	"context"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/crm/records"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
	"renga.dev/renga/internal/platform/wire"
)

// RecordParts keeps what belongs to records: teams and members of campaigns. It also
// converts leads.
type RecordParts interface {
	Team(ctx context.Context, c records.Caller, object, id string) ([]records.TeamMember, error)
	PutTeamMember(ctx context.Context, c records.Caller, object, id, user, role string, access model.Access) (m records.TeamMember, created bool, err error)
	RemoveTeamMember(ctx context.Context, c records.Caller, object, id, user string) error
	Members(ctx context.Context, c records.Caller, campaign string, offset, limit int) (page []records.Member, total int, err error)
	PutMember(ctx context.Context, c records.Caller, campaign, memberType, member string, d records.MemberDraft) (m records.Member, created bool, err error)
	RemoveMember(ctx context.Context, c records.Caller, campaign, memberType, member string) error
	Convert(ctx context.Context, c records.Caller, v records.Conversion, answer func(records.Converted) ([]byte, error)) (body []byte, replay bool, err error)
}

// recordPartRoutes are the routes of what belongs to records.
func (a *API) recordPartRoutes() []gate.Route {
	const team, members = "/records/{object}/{id}/team", "/records/{object}/{id}/members"
	return []gate.Route{
		{Pattern: "GET " + team, Scope: scopeRecordsRead, Rate: rateRecordsRead, Do: rest.NoQuery(a.listTeam)},
		{Pattern: "PUT " + team + "/{userId}", Scope: scopeRecordsWrite, Rate: rateRecordsWrite, Do: rest.NoQuery(a.putTeamMember)},
		{Pattern: "DELETE " + team + "/{userId}", Scope: scopeRecordsWrite, Rate: rateRecordsWrite, Do: rest.NoQuery(a.removeTeamMember)},
		{Pattern: "GET " + members, Scope: scopeRecordsRead, Rate: rateRecordsRead, Do: only("Campaign", a.listMembers)},
		{Pattern: "PUT " + members + "/{memberType}/{memberId}", Scope: scopeRecordsWrite, Rate: rateRecordsWrite, Do: rest.NoQuery(only("Campaign", a.putMember))},
		{Pattern: "DELETE " + members + "/{memberType}/{memberId}", Scope: scopeRecordsWrite, Rate: rateRecordsWrite, Do: rest.NoQuery(only("Campaign", a.removeMember))},
		{Pattern: "POST /records/{object}/{id}/convert", Heavy: true, Scope: scopeRecordsWrite, Rate: rateRecordsWrite, Once: gate.Optional, Do: rest.NoQuery(only("Lead", a.convertLead))},
	}
}

// only lets the records of one object through; others do not have what the path names.
func only(object string, next rest.Handler) rest.Handler {
	return func(ctx context.Context, c *gate.Call) (gate.Reply, error) {
		if got := c.Path("object"); got != object {
			return gate.Reply{}, fault.New(fault.NotFound, records.CodeObjectUnknown, "this is for records of %s, not of %q", object, got)
		}
		return next(ctx, c)
	}
}

// listTeam answers GET /records/{object}/{id}/team.
func (a *API) listTeam(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	members, err := a.recordParts.Team(ctx, callerOf(c), c.Path("object"), c.Path("id"))
	return gate.Reply{Body: map[string]any{"items": members}}, err
}

// putTeamMember answers PUT /records/{object}/{id}/team/{userId}.
func (a *API) putTeamMember(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	var b struct {
		TeamRole    string       `json:"teamRole"`
		AccessLevel model.Access `json:"accessLevel"`
	}
	if err := c.Decode(&b); err != nil {
		return gate.Reply{}, err
	}
	m, created, err := a.recordParts.PutTeamMember(ctx, callerOf(c), c.Path("object"), c.Path("id"), c.Path("userId"), b.TeamRole, b.AccessLevel)
	return gate.Reply{Status: rest.PutStatus(created), Body: &m}, err
}

// removeTeamMember answers DELETE /records/{object}/{id}/team/{userId}.
func (a *API) removeTeamMember(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	err := a.recordParts.RemoveTeamMember(ctx, callerOf(c), c.Path("object"), c.Path("id"), c.Path("userId"))
	return gate.Reply{Status: http.StatusNoContent}, err
}

// listMembers answers GET /records/{object}/{id}/members.
func (a *API) listMembers(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q, p := rest.ReadPage(c)
	if q.Err != nil {
		return gate.Reply{}, q.Err
	}
	rows, total, err := a.recordParts.Members(ctx, callerOf(c), c.Path("id"), p.Offset(), p.Size)
	if err != nil {
		return gate.Reply{}, err
	}
	return gate.Reply{Body: rest.NewList(p, rows, total)}, nil
}

// putMember answers PUT /records/{object}/{id}/members/{memberType}/{memberId}.
func (a *API) putMember(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	var b struct {
		Status       *string `json:"status"`
		HasResponded *bool   `json:"hasResponded"`
	}
	if err := c.Decode(&b); err != nil {
		return gate.Reply{}, err
	}
	m, created, err := a.recordParts.PutMember(ctx, callerOf(c), c.Path("id"), c.Path("memberType"), c.Path("memberId"), records.MemberDraft(b))
	return gate.Reply{Status: rest.PutStatus(created), Body: &m}, err
}

// removeMember answers DELETE /records/{object}/{id}/members/{memberType}/{memberId}.
func (a *API) removeMember(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	err := a.recordParts.RemoveMember(ctx, callerOf(c), c.Path("id"), c.Path("memberType"), c.Path("memberId"))
	return gate.Reply{Status: http.StatusNoContent}, err
}

// conversionBody is the body of POST /records/{object}/{id}/convert.
type conversionBody struct {
	RecordVersion *wire.Stamp               `json:"recordVersion"`
	OwnerID       rest.ID                   `json:"ownerId"`
	AccountID     rest.ID                   `json:"accountId"`
	ContactID     rest.ID                   `json:"contactId"`
	OpportunityID rest.ID                   `json:"opportunityId"`
	Match         bool                      `json:"match"`
	Opportunity   map[string]jsontext.Value `json:"opportunity"`
}

// convertLead answers POST /records/{object}/{id}/convert.
func (a *API) convertLead(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	once, err := rest.OptionalKey(c)
	if err != nil {
		return gate.Reply{}, err
	}
	var b conversionBody
	if err := c.Decode(&b); err != nil {
		return gate.Reply{}, err
	}
	v := records.Conversion{
		LeadID: c.Path("id"), OwnerID: string(b.OwnerID), AccountID: string(b.AccountID), ContactID: string(b.ContactID), OpportunityID: string(b.OpportunityID),
		Match: b.Match, Opportunity: b.Opportunity, Once: once,
	}
	if b.RecordVersion != nil {
		v.Version = *b.RecordVersion
	}
	body, _, err := a.recordParts.Convert(ctx, callerOf(c), v, func(done records.Converted) ([]byte, error) { return json.Marshal(&done) })
	return gate.Reply{Raw: body}, err
}
