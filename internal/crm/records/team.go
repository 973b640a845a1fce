package records

import (
	"context"
	"errors"
	"slices"
	"strings"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// maxTeam is how many members the team of a record may have.
const maxTeam = 200

// TeamMember is a member of the team of a record, as callers see it.
type TeamMember struct {
	UserID      string          `json:"userId"`
	TeamRole    string          `json:"teamRole"`
	AccessLevel model.Access    `json:"accessLevel"`
	AddedAt     canonical.Stamp `json:"addedAt"`
}

// What changes about a member.
const (
	memberAdded   = "MemberAdded"
	memberUpdated = "MemberUpdated"
	memberRemoved = "MemberRemoved"
	statusChanged = "StatusChanged"
	responded     = "Responded"
)

const (
	teamColumns   = "user_id, team_role, access, added_at"
	oneTeam       = " FROM records_team WHERE tenant_id = $1 AND object = $2 AND record_id = $3"
	oneTeamMember = oneTeam + " AND user_id = $4"
	selectMember  = "SELECT " + teamColumns + oneTeam
)

func scanTeam(row *sqldb.Row) (m TeamMember, err error) {
	return m, row.Scan(&m.UserID, &m.TeamRole, &m.AccessLevel, &m.AddedAt)
}

// Team is the team of a record that the caller sees, by user.
func (s *Records) Team(ctx context.Context, c Caller, object, id string) (members []TeamMember, err error) {
	err = s.Read(ctx, "team", s.as(c, func(ctx context.Context, w *session) error {
		members = []TeamMember{}
		r, err := w.withTeam(ctx, object, id, model.ReadOp, loose)
		if err != nil {
			return err
		}
		found, err := sqldb.Collect(ctx, w.Tx, scanTeam, selectMember+" ORDER BY user_id", c.Tenant, object, r.ID)
		members = append(members, found...)
		return err
	}))
	return members, err
}

// withTeam is a record that has a team; to change that, the caller must be able to edit it.
func (w *session) withTeam(ctx context.Context, object, id string, op model.Op, how hold) (*row, error) {
	if _, err := w.viewOf(object, op); err != nil {
		return nil, err
	}
	if !slices.Contains(model.TeamObjects, object) {
		return nil, fault.New(fault.NotFound, CodeObjectUnknown, "records of %s have no team; those of %s do", object,
			strings.Join(model.TeamObjects, " and "))
	}
	return w.getFor(ctx, op, object, id, how)
}

// PutTeamMember puts a user into the team of a record, or changes its part in it; created
// says that it was not in it. access "" is that of the role.
func (s *Records) PutTeamMember(ctx context.Context, c Caller, object, id, user, role string, access model.Access) (
	m TeamMember, created bool, err error,
) {
	err = s.Write(ctx, "team.put", s.as(c, func(ctx context.Context, w *session) error {
		m, created, err = w.putTeam(ctx, object, id, TeamMember{
			UserID: strings.ToLower(user), TeamRole: role,
			AccessLevel: access,
		})
		return err
	}))
	return m, created, err
}

func (w *session) putTeam(ctx context.Context, object, id string, m TeamMember) (TeamMember, bool, error) {
	r, err := w.withTeam(ctx, object, id, model.UpdateOp, changing)
	if err != nil {
		return m, false, err
	}
	role := w.Model.TeamRole(object, m.TeamRole)
	switch u := w.Model.User(m.UserID); {
	case u == nil || !u.IsActive:
		return m, false, about(CodeFieldInvalid, "userId", "userId must be the id of an active user")
	case role == nil:
		return m, false, about(CodeFieldInvalid, "teamRole",
			"teamRole must be a role that GET /metadata/team-roles/%s lists", object)
	case m.AccessLevel == "":
		m.AccessLevel = role.Access
	case m.AccessLevel != model.Read && m.AccessLevel != model.Edit:
		return m, false, about(CodeFieldInvalid, "accessLevel", "accessLevel must be Read or Edit")
	}
	was, err := scanTeam(w.Tx.Row(ctx, selectMember+" AND user_id = $4", w.Caller.Tenant, object, r.ID, m.UserID))
	created := errors.Is(err, sqldb.ErrNoRow)
	if err != nil && !created {
		return m, false, err
	}
	if created {
		var n int
		err := w.Tx.Row(ctx, "SELECT count(*)"+oneTeam,
			w.Caller.Tenant, object, r.ID).Scan(&n)
		if err == nil && n >= maxTeam {
			err = fault.New(fault.Conflict, "TEAM_FULL", "a team may have at most %d members", maxTeam)
		}
		if err != nil {
			return m, false, err
		}
		was.AddedAt = w.now
	}
	m.AddedAt = was.AddedAt
	if m == was {
		return m, false, nil
	}
	change := memberUpdated
	if created {
		change = memberAdded
	}
	_, err = w.Tx.Exec(ctx, `
		INSERT INTO records_team (tenant_id, object, record_id, user_id, team_role, access, added_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (tenant_id, object, record_id, user_id)
		DO UPDATE SET team_role = excluded.team_role, access = excluded.access`,
		w.Caller.Tenant, object, r.ID, m.UserID, m.TeamRole, string(m.AccessLevel), m.AddedAt)
	if err != nil {
		return m, false, err
	}
	return m, created, w.publishTeam(ctx, &r.Record, change, &m)
}

// publishTeam gives the record a new version and publishes what changed about a member with
// it.
func (w *session) publishTeam(ctx context.Context, r *model.Record, change string, m *TeamMember) error {
	next := *r
	next.Version = canonical.NextStamp(r.Version, w.now)
	return w.bump(ctx, &next, teamEvent(&next, change, m))
}

// teamEvent announces a member of the team of a record, in its version.
func teamEvent(r *model.Record, change string, m *TeamMember) events.Payload {
	return events.TeamMemberChanged{
		ChangeType: change, ObjectName: r.Object, RecordID: r.ID, UserID: m.UserID,
		TeamRole: m.TeamRole, AccessLevel: string(m.AccessLevel), EffectiveAt: r.Version,
	}
}

const updateVersion = "UPDATE records_record SET version = $4 WHERE tenant_id = $1 AND object = $2 AND id = $3"

// bump stores the new version of a record without another change of its own, and tells why.
func (w *session) bump(ctx context.Context, next *model.Record, payloads ...events.Payload) error {
	_, err := w.Tx.Exec(ctx, updateVersion, w.Caller.Tenant, next.Object, next.ID, next.Version)
	if err != nil {
		return err
	}
	batch, err := envelopes(nil, w.Caller, next, payloads)
	if err != nil {
		return err
	}
	return w.cfg.Publisher.Publish(ctx, w.Tx, batch...)
}

// RemoveTeamMember takes a user out of the team of a record. Who is not in it is not found.
func (s *Records) RemoveTeamMember(ctx context.Context, c Caller, object, id, user string) error {
	return s.Write(ctx, "team.remove", s.as(c, func(ctx context.Context, w *session) error {
		r, err := w.withTeam(ctx, object, id, model.UpdateOp, changing)
		if err != nil {
			return err
		}
		m, err := scanTeam(w.Tx.Row(ctx,
			"DELETE"+oneTeamMember+" RETURNING "+teamColumns, c.Tenant, object, r.ID, strings.ToLower(user)))
		if errors.Is(err, sqldb.ErrNoRow) {
			return fault.New(fault.NotFound, "TEAM_MEMBER_NOT_FOUND", "the user %q is not in the team", user)
		}
		if err != nil {
			return err
		}
		return w.publishTeam(ctx, &r.Record, memberRemoved, &m)
	}))
}
