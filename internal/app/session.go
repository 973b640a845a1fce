package app

import "renga.dev/renga/internal/platform/session"

// newSessions are the sessions of the web console, and their part.
func newSessions(a *App) (*session.Sessions, *Part) {
	s := session.New(a.DB, a.seals, session.Config{
		OIDC: a.cfg.OIDC, Public: a.cfg.PublicURL, Now: a.cfg.Auth.Now, Log: a.log,
	})
	return s, &Part{Name: "session", Tables: tablesOf(session.Migration), Routes: s.Routes, Retain: s.Retain}
}
