package client

import "context"

// The parts of a record.
const (
	teamPath    = recordPath + "/team"
	membersPath = recordPath + "/members"
	memberPath  = membersPath + "/{memberType}/{memberId}"
)

// Team reads the team of a record.
func (c Records) Team(ctx context.Context, object, id string) ([]TeamMember, error) {
	return whole[TeamMember](ctx, c.transport, pathOf(teamPath, object, id))
}

// PutTeamMember puts a user into the team of a record, or changes its part in it. An access level
// that is "" is that of the role.
func (c Records) PutTeamMember(ctx context.Context, object, id string, m TeamMember) (*TeamMember, error) {
	stored, _, err := put[TeamMember](ctx, c.transport, pathOf(teamPath+"/{userId}", object, id, m.UserID),
		teamMemberDraft{m.TeamRole, m.AccessLevel})
	return stored, err
}

// RemoveTeamMember takes a user out of the team of a record.
func (c Records) RemoveTeamMember(ctx context.Context, object, id, user string) error {
	return c.remove(ctx, pathOf(teamPath+"/{userId}", object, id, user), "")
}

// CampaignMembers reads a page of the members of a campaign.
func (c Records) CampaignMembers(ctx context.Context, campaign string, at Paging) (*Page[CampaignMember], error) {
	return list[CampaignMember](ctx, c.transport, pathOf(membersPath, "Campaign", campaign), nil, at)
}

// PutCampaignMember puts a lead or a contact into a campaign, or changes what is known of it
// there. A status that is "" stays as it is; that of a new member is Sent.
func (c Records) PutCampaignMember(ctx context.Context, campaign string, m CampaignMember) (*CampaignMember, error) {
	stored, _, err := put[CampaignMember](ctx, c.transport,
		pathOf(memberPath, "Campaign", campaign, m.MemberType, m.MemberID),
		campaignMemberDraft{m.Status, &m.HasResponded})
	return stored, err
}

// RemoveCampaignMember takes a lead or a contact out of a campaign.
func (c Records) RemoveCampaignMember(ctx context.Context, campaign, memberType, member string) error {
	return c.remove(ctx, pathOf(memberPath, "Campaign", campaign, memberType, member), "")
}
