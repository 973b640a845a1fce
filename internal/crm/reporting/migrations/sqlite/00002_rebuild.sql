-- Rebuilds of what is counted. status: 1 running, 2 done, 3 canceled. part and place are
-- where one is: among the records of a part, or among the counts that it has put right.

-- +goose Up

CREATE TABLE reporting_rebuild (
	num        INTEGER PRIMARY KEY AUTOINCREMENT,
	tenant_id  TEXT    NOT NULL,
	id         TEXT    NOT NULL,
	status     INTEGER NOT NULL,
	execution  TEXT    NOT NULL,
	part       TEXT    NOT NULL,
	place      TEXT    NOT NULL,
	processed  INTEGER NOT NULL,
	total      INTEGER NOT NULL,
	created_at INTEGER NOT NULL,
	ended_at   INTEGER NOT NULL
);
CREATE UNIQUE INDEX reporting_rebuild_id ON reporting_rebuild (tenant_id, id);
CREATE INDEX reporting_rebuild_tenant ON reporting_rebuild (tenant_id, num);
-- Two at once would add what counts lack twice.
CREATE UNIQUE INDEX reporting_rebuild_running ON reporting_rebuild (tenant_id) WHERE status = 1;

-- Requests for rebuilds that may be repeated, with their answers; see internal/once.
CREATE TABLE reporting_once (
	tenant   TEXT    NOT NULL,
	endpoint TEXT    NOT NULL,
	key      TEXT    NOT NULL,
	hash     BLOB    NOT NULL,
	members  TEXT    NOT NULL,
	at       INTEGER NOT NULL,
	answer   TEXT    NOT NULL,
	PRIMARY KEY (tenant, endpoint, key)
) WITHOUT ROWID;
CREATE INDEX reporting_once_at ON reporting_once (at);
