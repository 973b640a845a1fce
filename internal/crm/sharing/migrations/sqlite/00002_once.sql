-- Requests for rebuilds that may be repeated, with their answers; see internal/once.

-- +goose Up

CREATE TABLE sharing_once (
	tenant   TEXT    NOT NULL,
	endpoint TEXT    NOT NULL,
	key      TEXT    NOT NULL,
	hash     BLOB    NOT NULL,
	members  TEXT    NOT NULL,
	at       INTEGER NOT NULL,
	answer   TEXT    NOT NULL,
	PRIMARY KEY (tenant, endpoint, key)
) WITHOUT ROWID;
CREATE INDEX sharing_once_at ON sharing_once (at);
