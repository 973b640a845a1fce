-- What tenants have defined.

-- +goose Up

-- Who changes a tenant's definitions holds its row. revision counts the changes; stamp is
-- a new UUID with every change, by which a model in memory is known to be current.
CREATE TABLE metadata_tenant (
	tenant_id text   NOT NULL COLLATE "C" PRIMARY KEY,
	revision  bigint NOT NULL,
	stamp     text   NOT NULL COLLATE "C"
);

-- A definition that is not as every tenant has it. body is JSON, as crm.Kind says;
-- revision is that of its last change.
CREATE TABLE metadata_definition (
	tenant_id text   NOT NULL COLLATE "C",
	kind      text   NOT NULL COLLATE "C",
	id        text   NOT NULL COLLATE "C",
	body      text   NOT NULL COLLATE "C",
	revision  bigint NOT NULL,
	PRIMARY KEY (tenant_id, kind, id)
);
