-- Rebuilds of what is counted. status: 1 running, 2 done, 3 canceled. part and place are
-- where one is: among the records of a part, or among the counts that it has put right.

-- +goose Up

CREATE TABLE reporting_rebuild (
	num        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	tenant_id  text   NOT NULL COLLATE "C",
	id         text   NOT NULL COLLATE "C",
	status     bigint NOT NULL,
	execution  text   NOT NULL COLLATE "C",
	part       text   NOT NULL COLLATE "C",
	place      text   NOT NULL COLLATE "C",
	processed  bigint NOT NULL,
	total      bigint NOT NULL,
	created_at bigint NOT NULL,
	ended_at   bigint NOT NULL
);
CREATE UNIQUE INDEX reporting_rebuild_id ON reporting_rebuild (tenant_id, id);
CREATE INDEX reporting_rebuild_tenant ON reporting_rebuild (tenant_id, num);
-- Two at once would add what counts lack twice.
CREATE UNIQUE INDEX reporting_rebuild_running ON reporting_rebuild (tenant_id) WHERE status = 1;

-- Requests for rebuilds that may be repeated, with their answers; see internal/once.
CREATE TABLE reporting_once (
	tenant   text   NOT NULL COLLATE "C",
	endpoint text   NOT NULL COLLATE "C",
	key      text   NOT NULL COLLATE "C",
	hash     bytea  NOT NULL,
	members  text   NOT NULL COLLATE "C",
	at       bigint NOT NULL,
	answer   text   NOT NULL COLLATE "C",
	PRIMARY KEY (tenant, endpoint, key)
);
CREATE INDEX reporting_once_at ON reporting_once (at);
