-- What others are told of executions.

-- +goose Up

-- news numbers the rows that are published, in the order in which they were written; NULL:
-- nobody is told. Rows that are older than this column are not published.
ALTER TABLE engine_log ADD COLUMN news INTEGER;
CREATE UNIQUE INDEX engine_log_news ON engine_log (news) WHERE news IS NOT NULL;

-- What tenants want others to be told, where that is not the default. publicity: 1 all, 2 nothing.
CREATE TABLE engine_news (
	tenant    TEXT    NOT NULL PRIMARY KEY,
	publicity INTEGER NOT NULL
) WITHOUT ROWID;
