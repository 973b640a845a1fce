package session

import (
	"context"
	"errors"
	"time"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/platform/audit"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/sqldb"
)

// The actions of sessions in the audit log; gate.SessionRefused is the third.
const (
	Opened = "session.opened"
	Closed = "session.closed"
)

// row is a session as it is stored.
type row struct {
	subject string
	token   string // sealed, as refresh
	refresh string // "": the token is not renewed
	stored  time.Time
	expires time.Time // of the token
	ends    time.Time // of the session

	leased     time.Time // until when somebody renews the token
	generation int64     // of the token
}

// read reads the row of a session.
func (s *Sessions) read(ctx context.Context, k key) (r row, err error) {
	err = s.db.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		var stored, expires, ends, leased int64
		err := tx.Row(ctx, `SELECT subject, token, refresh, stored_at, expires_at, ends_at, leased_until, generation
			FROM session_open WHERE tenant_id = $1 AND id = $2`, k.tenant, k.id).
			Scan(&r.subject, &r.token, &r.refresh, &stored, &expires, &ends, &leased, &r.generation)
		r.stored, r.expires, r.ends = time.UnixMilli(stored), time.UnixMilli(expires), time.UnixMilli(ends)
		r.leased = time.UnixMilli(leased)
		return err
	})
	if errors.Is(err, sqldb.ErrNoRow) {
		err = errEnded
	}
	return r, err
}

// Caller is who signs in or out.
type Caller struct {
	Address       string
	CorrelationID string
}

// Open opens a session of a token that was verified, and ends the one that the browser had, if any. It gives the
// value of the cookie, and when the session ends: with its token, unless that is renewed.
func (s *Sessions) Open(
	ctx context.Context, who Caller, t tokens, said gate.Verified, had string,
) (cookie string, ends time.Time, err error) {
	now := s.now()
	if ends = now.Add(MaxLife); t.Refresh == "" && said.Expires.Before(ends) {
		ends = said.Expires
	}
	if !now.Before(said.Expires) { // within the leeway of the gate
		return "", ends, fault.New(fault.Unauthorized, "", "the token has expired")
	}
	c := newSecret(said.Principal.Tenant)
	sealer, err := s.sealer(ctx, &c)
	if err != nil {
		return "", ends, err
	}
	if cookie, err = s.cookie(ctx, &c); err != nil {
		return "", ends, err
	}
	r := row{
		subject: said.Principal.Subject, token: sealer.Text([]byte(t.Access)), stored: now, expires: said.Expires,
		ends: ends,
	}
	if t.Refresh != "" {
		r.refresh = sealer.Text([]byte(t.Refresh))
	}
	before, err := s.open(ctx, had)
	if err != nil && had != "" && !errors.Is(err, errEnded) {
		return "", ends, err
	}
	err = s.db.Write(sqldb.For(ctx, c.tenant), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
		if before != nil {
			if err := s.end(ctx, tx, who, before.key(), "another session was opened in this browser"); err != nil {
				return err
			}
		}
		return s.insert(ctx, tx, who, c.key(), &r)
	})
	return cookie, ends, err
}

// insert stores a session, and ends the oldest of its subject beyond MaxSessions.
func (s *Sessions) insert(ctx context.Context, tx *sqldb.Tx, who Caller, k key, r *row) error {
	if _, err := tx.Exec(ctx, `INSERT INTO session_open (tenant_id, id, subject, token, refresh, opened_at, stored_at,
		expires_at, ends_at, leased_until, generation) VALUES ($1, $2, $3, $4, $5, $6, $6, $7, $8, 0, 1)`,
		k.tenant, k.id, r.subject, r.token, r.refresh, r.stored.UnixMilli(), r.expires.UnixMilli(),
		r.ends.UnixMilli()); err != nil {
		return err
	}
	if err := s.note(ctx, tx, who, Opened, k, r.subject, ""); err != nil {
		return err
	}
	var surplus []string
	for row, err := range tx.Query(ctx, `SELECT id FROM session_open WHERE tenant_id = $1 AND subject = $2
		ORDER BY opened_at DESC, id LIMIT 100 OFFSET $3`, k.tenant, r.subject, MaxSessions) {
		var id string
		if err == nil {
			err = row.Scan(&id)
		}
		if err != nil {
			return err
		}
		surplus = append(surplus, id)
	}
	for _, id := range surplus {
		if err := s.end(ctx, tx, who, key{k.tenant, id}, "the subject has too many sessions"); err != nil {
			return err
		}
	}
	return nil
}

// Close ends the session of a cookie, if there is one.
func (s *Sessions) Close(ctx context.Context, who Caller, cookie string) error {
	c, err := s.open(ctx, cookie)
	if errors.Is(err, errEnded) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.db.Write(sqldb.For(ctx, c.tenant), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
		return s.end(ctx, tx, who, c.key(), "")
	})
}

// end deletes the row of a session, and notes that it has ended.
func (s *Sessions) end(ctx context.Context, tx *sqldb.Tx, who Caller, k key, why string) error {
	var subject string
	err := tx.Row(ctx, "DELETE FROM session_open WHERE tenant_id = $1 AND id = $2 RETURNING subject", k.tenant, k.id).
		Scan(&subject)
	if errors.Is(err, sqldb.ErrNoRow) {
		return nil
	}
	if err != nil {
		return err
	}
	tx.OnCommit(func() { s.cache.drop(k) })
	return s.note(ctx, tx, who, Closed, k, subject, why)
}

// note puts into the audit log that a session was opened or closed.
func (s *Sessions) note(
	ctx context.Context, tx *sqldb.Tx, who Caller, action string, k key, subject, why string,
) error {
	detail, err := json.Marshal(map[string]string{"address": who.Address})
	if err != nil {
		return fault.Wrap("session.note", err)
	}
	return audit.Write(ctx, tx, audit.Entry{
		At: canonical.Stamp(s.now().UnixMilli()), Tenant: k.tenant, Actor: subject, Action: action,
		Subject: k.shortID(), CorrelationID: who.CorrelationID, Outcome: audit.Accepted, Reason: why, Detail: detail,
	})
}

// Retain deletes sessions that have ended, up to a limit.
func (s *Sessions) Retain(ctx context.Context, limit int) (n int64, err error) {
	err = s.db.Write(ctx, sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) (err error) {
		n, err = tx.Exec(ctx, `DELETE FROM session_open WHERE (tenant_id, id) IN
			(SELECT tenant_id, id FROM session_open WHERE ends_at <= $1 ORDER BY ends_at LIMIT $2)`,
			s.now().UnixMilli(), limit)
		return err
	})
	return n, fault.Wrap("session.retain", err)
}
