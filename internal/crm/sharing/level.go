package sharing

import "renga.dev/renga/internal/crm/model"

// Level is how much a user may do with a record. The numbers are stored.
type Level int

// The levels. Each includes those before it.
const (
	None Level = 0
	Read Level = 1
	Edit Level = 2
	Full Level = 3 // also to delete it and to give it to another owner
)

// levelOf is the level that an access gives.
func levelOf(a model.Access) Level {
	switch a {
	case model.Read:
		return Read
	case model.Edit:
		return Edit
	}
	return None
}

// String is the level's name in JSON.
func (l Level) String() string { return [...]string{"None", "Read", "Edit", "Full"}[l] }

// MarshalText gives the level's name.
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// The kinds of principals, which access is granted to. A principal is the kind, a colon and
// an id; the rows of sharing_principal say which users have it.
const (
	userKind         = "user"
	roleKind         = "role"         // the users of exactly this role
	subordinatesKind = "subordinates" // of the role and of all below it
	groupKind        = "group"
	territoryKind    = "territory" // of the territory and of all above it
)

func principal(kind, id string) string { return kind + ":" + id }

// principalOf is the principal that the target of a rule names.
func principalOf(m model.Member) string {
	switch m.Type {
	case model.TypeRole:
		return principal(roleKind, m.ID)
	case model.TypeRoleAndSubordinates:
		return principal(subordinatesKind, m.ID)
	case model.TypeGroup:
		return principal(groupKind, m.ID)
	}
	return principal(userKind, m.ID)
}
