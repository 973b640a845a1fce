package session

import (
	"context"
	"errors"
	"time"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/sqldb"
)

// How tokens are renewed.
const (
	renewAhead = time.Minute            // of the expiry of a token, at most a third of its life
	leaseFor   = 15 * time.Second       // longer than a renewal may take
	storeIn    = 5 * time.Second        // that storing a renewed token may take
	lookAgain  = 100 * time.Millisecond // while another process renews
)

// due is when the token of a row is renewed; zero: it is not.
func (r *row) due() time.Time {
	if r.refresh == "" {
		return time.Time{}
	}
	return r.expires.Add(-min(renewAhead, r.expires.Sub(r.stored)/3))
}

// renewed is a row whose token is good. One request of all processes renews it, under a lease; while the old token
// lives the others go on with it.
func (s *Sessions) renewed(ctx context.Context, c *secret, r row) (row, error) {
	for {
		now := s.now()
		if s.provider == nil || r.refresh == "" || now.Before(r.due()) {
			return r, nil
		}
		if !now.Before(r.leased) && !s.provider.away() {
			leased, err := s.lease(ctx, c.key(), r.generation, now)
			if err != nil {
				return r, err
			}
			if leased {
				return s.renew(context.WithoutCancel(ctx), c, r)
			}
		}
		switch {
		case now.Before(r.expires):
			return r, nil
		case s.provider.away():
			return r, errAway
		}
		pause := time.NewTimer(lookAgain)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return r, errAway
		}
		var err error
		if r, err = s.read(ctx, c.key()); err != nil {
			return r, err
		}
	}
}

// errAway is the end of whoever has an expired token that cannot be renewed now. The session stays.
var errAway = &fault.Error{
	Kind: fault.Unavailable, RetryAfter: awayFor,
	Message: "the token of the session has expired, and the OpenID provider cannot be reached to renew it; try again",
}

// lease takes the right to renew the token of a session.
func (s *Sessions) lease(ctx context.Context, k key, generation int64, now time.Time) (leased bool, err error) {
	err = s.db.Write(ctx, sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
		n, err := tx.Exec(ctx, `UPDATE session_open SET leased_until = $1
			WHERE tenant_id = $2 AND id = $3 AND generation = $4 AND leased_until <= $5`,
			now.Add(leaseFor).UnixMilli(), k.tenant, k.id, generation, now.UnixMilli())
		leased = n == 1
		return err
	})
	return leased, fault.Wrap("session.lease", err)
}

// renew renews a token under a lease. It goes on without its caller: the provider may have taken back the old tokens.
func (s *Sessions) renew(ctx context.Context, c *secret, r row) (row, error) {
	sealer, err := s.sealer(ctx, c)
	if err != nil {
		return r, err
	}
	old, ok := sealer.OpenText(r.refresh)
	if !ok {
		return r, errEnded
	}
	t, err := s.provider.refresh(ctx, string(old))
	var no denied
	switch {
	case errors.As(err, &no) && no == "invalid_grant":
		return r, s.lost(ctx, c, "the OpenID provider does not renew the token")
	case err != nil:
		s.log.Warn("the token of a session could not be renewed", "error", err)
		if err := s.giveUp(ctx, c.key(), r.generation); err != nil {
			return r, err
		}
		if s.now().Before(r.expires) {
			return r, nil
		}
		return r, errAway
	}
	said, err := s.auth.Verify(t.Access)
	now := s.now()
	if err != nil || said.Principal.Tenant != c.tenant || said.Principal.Subject != r.subject ||
		!now.Before(said.Expires) {
		return r, s.lost(ctx, c, "the OpenID provider renewed the token by one that is no good here")
	}
	r.token, r.refresh = sealer.Text([]byte(t.Access)), sealer.Text([]byte(t.Refresh))
	r.stored, r.expires, r.leased = now, said.Expires, time.UnixMilli(0)
	return r, s.store(ctx, c.key(), &r)
}

// store stores a renewed token.
func (s *Sessions) store(ctx context.Context, k key, r *row) error {
	ctx, cancel := context.WithTimeout(ctx, storeIn)
	defer cancel()
	var n int64
	err := s.db.Write(ctx, sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) (err error) {
		n, err = tx.Exec(ctx, `UPDATE session_open SET token = $1, refresh = $2, stored_at = $3, expires_at = $4,
			leased_until = 0, generation = generation + 1 WHERE tenant_id = $5 AND id = $6 AND generation = $7`,
			r.token, r.refresh, r.stored.UnixMilli(), r.expires.UnixMilli(), k.tenant, k.id, r.generation)
		return err
	})
	if err == nil && n == 0 { // it was closed meanwhile
		return errEnded
	}
	r.generation++
	return fault.Wrap("session.store", err)
}

// giveUp returns a lease.
func (s *Sessions) giveUp(ctx context.Context, k key, generation int64) error {
	return fault.Wrap("session.lease", s.db.Write(ctx, sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE session_open SET leased_until = 0
			WHERE tenant_id = $1 AND id = $2 AND generation = $3`, k.tenant, k.id, generation)
		return err
	}))
}

// lost ends a session whose token cannot be renewed any more.
func (s *Sessions) lost(ctx context.Context, c *secret, why string) error {
	err := s.db.Write(ctx, sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
		return s.end(ctx, tx, Caller{}, c.key(), why)
	})
	if err != nil {
		return fault.Wrap("session.lost", err)
	}
	return errEnded
}

var _ gate.Sessions = (*Sessions)(nil)
