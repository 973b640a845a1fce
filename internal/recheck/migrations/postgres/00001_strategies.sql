-- The strategies that are checked again. Instants are milliseconds since 1970.

-- +goose Up

-- Who changes a tenant's strategies holds its row. revision is the number of the last
-- change; strategies is how many there are.
CREATE TABLE pdca_tenant (
	tenant_id  text   NOT NULL COLLATE "C" PRIMARY KEY,
	revision   bigint NOT NULL,
	strategies bigint NOT NULL
);

-- tags is a JSON array in the order of code points, metrics a canonical JSON object.
-- last_checked_at is null as long as nobody has checked it. revision is that of its last change.
CREATE TABLE pdca_strategy (
	tenant_id       text   NOT NULL COLLATE "C",
	id              text   NOT NULL COLLATE "C",
	name            text   NOT NULL COLLATE "C",
	tags            text   NOT NULL COLLATE "C",
	health          text   NOT NULL COLLATE "C",
	last_checked_at bigint,
	metrics         text   NOT NULL COLLATE "C",
	revision        bigint NOT NULL,
	PRIMARY KEY (tenant_id, id)
);
CREATE UNIQUE INDEX pdca_strategy_revision ON pdca_strategy (tenant_id, revision);
