-- What the processes of one system know together about rate limits. Instants are
-- microseconds since 1970, by the clock of the database. The tables are not logged:
-- after a crash of the database everybody has their full quota again, and drawing from it
-- costs no sync.

-- +goose Up

-- How far a client has used the quota of a class: its theoretical arrival time (GCRA).
-- A row whose arrival is past says nothing and may be deleted.
CREATE UNLOGGED TABLE gate_rate (
	class   text   NOT NULL COLLATE "C",
	client  bytea  NOT NULL, -- a digest of tenant and client
	arrival bigint NOT NULL,
	granted bigint NOT NULL, -- calls that the last draw was given
	PRIMARY KEY (class, client)
) WITH (fillfactor = 50);

-- The processes that draw, to know what the share of one is while the database is away.
CREATE UNLOGGED TABLE gate_process (
	name text   NOT NULL COLLATE "C" PRIMARY KEY,
	seen bigint NOT NULL
);
