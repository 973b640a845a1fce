package reporting

import (
	"context"

	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/sqldb"
)

// Visible says which records somebody may read, as the transaction sees it.
type Visible interface {
	kit.Visible
	// Seen says it by owner; the arguments of its parts are added to binds.
	Seen(ctx context.Context, tx *sqldb.Tx, tenant, object, user string, binds *sqldb.Binds) (model.Seen, error)
	// SeenShared is the same, but that Records may also be of these owners; Owners may be
	// left out of a statement that has Records.
	SeenShared(ctx context.Context, tx *sqldb.Tx, tenant, object, user string, binds *sqldb.Binds) (model.Seen, error)
	// SeenOwners is the same without Records; more says that there are some.
	SeenOwners(ctx context.Context, tx *sqldb.Tx, tenant, object, user string, binds *sqldb.Binds) (seen model.Seen,
		more bool, err error)
}

// Records is where records are read, in the caller's transaction.
type Records interface {
	kit.Records
	// Living is what follows FROM where a statement looks at the living records of an object: a table under
	// an alias, WHERE, and a condition that AND may follow.
	Living(alias, tenant, object string) string
	// Member is a member of a campaign; ok says that it is one.
	Member(ctx context.Context, tx *sqldb.Tx, tenant, campaign, memberType, member string) (m model.CampaignMember,
		ok bool, err error)
	// Members gives the members of all campaigns by campaign, type and id, behind one.
	Members(ctx context.Context, tx *sqldb.Tx, tenant string, after model.CampaignMember, limit int) (
		[]model.CampaignMember, error)
}

// Approvals is where approvals are read, in the caller's transaction.
type Approvals interface {
	// Walk gives the approvals of a tenant by id, behind one.
	Walk(ctx context.Context, tx *sqldb.Tx, tenant, after string, limit int) ([]model.Approval, error)
}
