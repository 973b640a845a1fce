// Package session keeps the sessions of the web console: who shows the cookie of one acts with the token that the
// session holds.
//
// The cookie holds a secret, sealed so that a forged one is refused without a look at the database. A session is a row,
// found by a digest of the secret; its token, and the refresh token of an OpenID provider, are sealed with the secret.
// So every process takes the cookie, whoever deletes the row ends the session, and whoever reads the database, or a
// backup, has no token. The package does not decide who may do what: the gate checks the token on every request.
//
// The invariant: neither token nor secret is in an answer, an error, a log or the audit log.
package session
