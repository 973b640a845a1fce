-- The tables of bulks. Instants are milliseconds since 1970; 0 means none.

-- +goose Up

-- status: 0 FREEZING, 1 RUNNING, 2 PREVIEW, 3 STOPPED, 4 DONE, 5 TOO_LARGE, 6 being deleted.
-- spec is the kind's own, place where it goes on freezing. Whoever takes the lease
-- adds 1 to epoch; what is written under an older one does not count.
CREATE TABLE bulk (
	num            INTEGER PRIMARY KEY,
	id             TEXT    NOT NULL,
	tenant         TEXT    NOT NULL,
	kind           TEXT    NOT NULL,
	spec           BLOB    NOT NULL,
	status         INTEGER NOT NULL,
	total          INTEGER NOT NULL,
	applied        INTEGER NOT NULL,
	already        INTEGER NOT NULL,
	refused        INTEGER NOT NULL,
	failed         INTEGER NOT NULL,
	created_by     TEXT    NOT NULL,
	started_by     TEXT    NOT NULL,
	correlation_id TEXT    NOT NULL,
	created_at     INTEGER NOT NULL,
	started_at     INTEGER NOT NULL,
	ended_at       INTEGER NOT NULL,
	changed_at     INTEGER NOT NULL,
	place          TEXT    NOT NULL,
	epoch          INTEGER NOT NULL,
	lease_until    INTEGER NOT NULL
);
CREATE UNIQUE INDEX bulk_id ON bulk (id);
CREATE INDEX bulk_tenant ON bulk (tenant, num);
CREATE INDEX bulk_lease ON bulk (lease_until, num) WHERE status < 2;
CREATE INDEX bulk_changed ON bulk (changed_at) WHERE status >= 2;

-- outcome: 0 PENDING, 1 APPLIED, 2 ALREADY, 3 REFUSED, 4 FAILED. The items of a bulk
-- are numbered from 1 without a gap and worked through in this order, so those that
-- are pending are the last ones and need no index.
CREATE TABLE bulk_item (
	bulk    INTEGER NOT NULL,
	n       INTEGER NOT NULL,
	name    TEXT    NOT NULL,
	outcome INTEGER NOT NULL,
	detail  TEXT,
	PRIMARY KEY (bulk, n)
) WITHOUT ROWID;
CREATE INDEX bulk_item_outcome ON bulk_item (bulk, outcome, n) WHERE outcome > 0;

CREATE TABLE bulk_key (
	tenant   TEXT    NOT NULL,
	endpoint TEXT    NOT NULL,
	key      TEXT    NOT NULL,
	hash     BLOB    NOT NULL,
	members  TEXT    NOT NULL,
	at       INTEGER NOT NULL,
	answer   TEXT    NOT NULL,
	PRIMARY KEY (tenant, endpoint, key)
) WITHOUT ROWID;
CREATE INDEX bulk_key_at ON bulk_key (at);
