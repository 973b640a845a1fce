-- SQLite has one process, which keeps its rate limits in memory: these tables, which
-- PostgreSQL's processes share, stay empty here.

-- +goose Up

CREATE TABLE gate_rate (
	class   TEXT    NOT NULL,
	client  BLOB    NOT NULL,
	arrival INTEGER NOT NULL,
	granted INTEGER NOT NULL,
	PRIMARY KEY (class, client)
) STRICT, WITHOUT ROWID;

CREATE TABLE gate_process (
	name TEXT    NOT NULL PRIMARY KEY,
	seen INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
