-- Sessions of web pages. Instants are milliseconds since 1970.

-- +goose Up

-- id is a digest of the secret in the cookie; token and refresh are sealed with that secret. The token expires at
-- expires_at and was stored at stored_at; the session ends at ends_at. Until leased_until one process renews the token,
-- which makes the next generation.
CREATE TABLE session_open (
	tenant_id    text   NOT NULL COLLATE "C",
	id           text   NOT NULL COLLATE "C",
	subject      text   NOT NULL COLLATE "C",
	token        text   NOT NULL COLLATE "C",
	refresh      text   NOT NULL COLLATE "C",
	opened_at    bigint NOT NULL,
	stored_at    bigint NOT NULL,
	expires_at   bigint NOT NULL,
	ends_at      bigint NOT NULL,
	leased_until bigint NOT NULL,
	generation   bigint NOT NULL,
	PRIMARY KEY (tenant_id, id)
);
CREATE INDEX session_open_ends ON session_open (ends_at);
CREATE INDEX session_open_subject ON session_open (tenant_id, subject, opened_at, id);
