-- Requests for rebuilds that may be repeated, with their answers; see internal/once.

-- +goose Up

CREATE TABLE sharing_once (
	tenant   text    NOT NULL COLLATE "C",
	endpoint text    NOT NULL COLLATE "C",
	key      text    NOT NULL COLLATE "C",
	hash     bytea   NOT NULL,
	members  text    NOT NULL COLLATE "C",
	at       bigint  NOT NULL,
	answer   text    NOT NULL COLLATE "C",
	PRIMARY KEY (tenant, endpoint, key)
);
CREATE INDEX sharing_once_at ON sharing_once (at);
