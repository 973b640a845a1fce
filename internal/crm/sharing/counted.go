package sharing

import (
	"context"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// Seen says by owner which records of an object a user may read: the records of which
// owners, and which beside them. The arguments of its queries are added to binds.
func (s *Sharing) Seen(ctx context.Context, tx *sqldb.Tx, tenant, object, user string, binds *sqldb.Binds) (
	model.Seen, error,
) {
	return s.seen(ctx, tx, &question{tenant: tenant, object: object, user: user}, true, binds)
}

// SeenShared is Seen with all records that shares and accounts give, also those of these
// owners: to hold each record against the owners is half of the work, and who looks at the
// owners of the records anyway need not have it done.
func (s *Sharing) SeenShared(ctx context.Context, tx *sqldb.Tx, tenant, object, user string, binds *sqldb.Binds) (
	model.Seen, error,
) {
	return s.seen(ctx, tx, &question{tenant: tenant, object: object, user: user}, false, binds)
}

func (s *Sharing) seen(ctx context.Context, tx *sqldb.Tx, of *question, unreached bool, binds *sqldb.Binds) (
	model.Seen, error,
) {
	q, all, err := s.ask(ctx, tx, of.tenant, of.object, of.user, Read)
	switch {
	case err != nil:
		return model.Seen{}, fault.Wrap("sharing.seen", err)
	case all == everything:
		return model.Seen{All: true}, nil
	case all == nothing:
		return model.Seen{Owners: noOwners}, nil
	}
	a := q.bind(binds)
	return model.Seen{Owners: a.owners(), Records: a.beside(unreached)}, nil
}

// SeenOwners is Seen for who asks for owners alone: more says that there are Records, too.
func (s *Sharing) SeenOwners(ctx context.Context, tx *sqldb.Tx, tenant, object, user string, binds *sqldb.Binds) (
	seen model.Seen, more bool, err error,
) {
	q, all, err := s.ask(ctx, tx, tenant, object, user, Read)
	switch {
	case err != nil:
		return model.Seen{}, false, fault.Wrap("sharing.seen", err)
	case all == everything:
		return model.Seen{All: true}, false, nil
	case all == nothing:
		return model.Seen{Owners: noOwners}, false, nil
	}
	return model.Seen{Owners: q.bind(binds).owners()}, q.shares || q.cascade, nil
}

const noOwners = "SELECT owner_id FROM sharing_reach WHERE " + nothing
