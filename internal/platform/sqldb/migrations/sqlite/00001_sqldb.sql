-- What a database says of itself. Instants are milliseconds since 1970.

-- +goose Up

-- The schema of the whole, in one row: how many migrations of all packages it has, and which
-- version of the program brought it there.
CREATE TABLE sqldb_schema (
	id      INTEGER PRIMARY KEY,
	number  INTEGER NOT NULL,
	program TEXT    NOT NULL
);

-- What processes write to find out whether anything can be written: a row of each.
CREATE TABLE sqldb_probe (
	process TEXT    NOT NULL PRIMARY KEY,
	at      INTEGER NOT NULL,
	body    BLOB
) WITHOUT ROWID;
