package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"
)

// TeamMember is a member of the team of an account or an opportunity.
type TeamMember struct {
	UserID      string    `json:"userId"`
	TeamRole    string    `json:"teamRole"`    // one that the tenant's team roles list
	AccessLevel string    `json:"accessLevel"` // Read or Edit; "" in PutTeamMember: that of the role
	AddedAt     time.Time `json:"addedAt"`
}

func teamPath(object, id string) string { return recordPath(object, id) + "/team" }

// Team reads the team of a record.
func (c Records) Team(ctx context.Context, object, id string) ([]TeamMember, error) {
	var answer few[TeamMember]
	err := c.read(ctx, teamPath(object, id), nil, &answer)
	return answer.Items, err
}

// PutTeamMember puts a user into the team of a record, or changes its part in it.
func (c Records) PutTeamMember(ctx context.Context, object, id string, m TeamMember) (*TeamMember, error) {
	said := map[string]string{"teamRole": m.TeamRole}
	if m.AccessLevel != "" {
		said["accessLevel"] = m.AccessLevel
	}
	return put[TeamMember](ctx, c.transport, teamPath(object, id)+"/"+url.PathEscape(m.UserID), said)
}

// RemoveTeamMember takes a user out of the team of a record.
func (c Records) RemoveTeamMember(ctx context.Context, object, id, user string) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, path: teamPath(object, id) + "/" + url.PathEscape(user)})
	return err
}

// CampaignMember is a lead or a contact in a campaign.
type CampaignMember struct {
	MemberType   string    `json:"memberType"` // Lead, Contact
	MemberID     string    `json:"memberId"`
	Status       string    `json:"status"`
	HasResponded bool      `json:"hasResponded"`
	AddedAt      time.Time `json:"addedAt"`
	UpdatedAt    time.Time `json:"updatedAt"`
}

func membersPath(campaign string) string { return recordPath("Campaign", campaign) + "/members" }

// CampaignMembers reads a page of the members of a campaign.
func (c Records) CampaignMembers(ctx context.Context, campaign string, at Paging) (*Page[CampaignMember], error) {
	return list[CampaignMember](ctx, c.transport, membersPath(campaign), url.Values{}, at)
}

// PutCampaignMember puts a lead or a contact into a campaign, or changes what is known of it
// there. A status that is "" stays as it is; that of a new member is Sent.
func (c Records) PutCampaignMember(ctx context.Context, campaign string, m CampaignMember) (*CampaignMember, error) {
	said := map[string]any{"hasResponded": m.HasResponded}
	if m.Status != "" {
		said["status"] = m.Status
	}
	return put[CampaignMember](ctx, c.transport, memberPath(campaign, m.MemberType, m.MemberID), said)
}

func memberPath(campaign, memberType, member string) string {
	return membersPath(campaign) + "/" + url.PathEscape(memberType) + "/" + url.PathEscape(member)
}

// RemoveCampaignMember takes a lead or a contact out of a campaign.
func (c Records) RemoveCampaignMember(ctx context.Context, campaign, memberType, member string) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, path: memberPath(campaign, memberType, member)})
	return err
}

// put sends a PUT and reads what is stored.
func put[T any](ctx context.Context, c *transport, path string, body any) (*T, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	stored := new(T)
	return stored, c.exchange(ctx, call{method: http.MethodPut, path: path, body: raw}, stored)
}
