-- What others are told of executions.

-- +goose Up

-- news numbers the rows that are published; NULL: nobody is told. A number is taken
-- while the execution is locked, so the order of one execution is that of its numbers. Rows that
-- are older than this column are not published. A process that does not know it yet
-- numbers all its rows: what they tell is seen when they are read.
CREATE SEQUENCE engine_log_number;
ALTER TABLE engine_log ADD COLUMN news bigint;
ALTER TABLE engine_log ALTER COLUMN news SET DEFAULT nextval('engine_log_number');
CREATE UNIQUE INDEX engine_log_news ON engine_log (news) WHERE news IS NOT NULL;

-- What tenants want others to be told, where that is not the default. publicity: 1 all, 2 nothing.
CREATE TABLE engine_news (
	tenant    text     NOT NULL COLLATE "C" PRIMARY KEY,
	publicity smallint NOT NULL
);
