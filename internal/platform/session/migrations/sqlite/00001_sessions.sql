-- Sessions of web pages. Instants are milliseconds since 1970.

-- +goose Up

-- id is a digest of the secret in the cookie; token and refresh are sealed with that secret. The token expires at
-- expires_at and was stored at stored_at; the session ends at ends_at. Until leased_until one process renews the token,
-- which makes the next generation.
CREATE TABLE session_open (
	tenant_id    TEXT    NOT NULL,
	id           TEXT    NOT NULL,
	subject      TEXT    NOT NULL,
	token        TEXT    NOT NULL,
	refresh      TEXT    NOT NULL,
	opened_at    INTEGER NOT NULL,
	stored_at    INTEGER NOT NULL,
	expires_at   INTEGER NOT NULL,
	ends_at      INTEGER NOT NULL,
	leased_until INTEGER NOT NULL,
	generation   INTEGER NOT NULL,
	PRIMARY KEY (tenant_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX session_open_ends ON session_open (ends_at);
CREATE INDEX session_open_subject ON session_open (tenant_id, subject, opened_at, id);
