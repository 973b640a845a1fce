-- What cursors and positions are sealed with: one row, made by whoever needs it first.

-- +goose Up

CREATE TABLE seal_secret (
	n      INTEGER NOT NULL PRIMARY KEY,
	secret BLOB    NOT NULL
);
