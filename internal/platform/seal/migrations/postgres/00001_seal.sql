-- What cursors and positions are sealed with: one row, made by whoever needs it first.

-- +goose Up

CREATE TABLE seal_secret (
	n      bigint NOT NULL PRIMARY KEY,
	secret bytea  NOT NULL
);
