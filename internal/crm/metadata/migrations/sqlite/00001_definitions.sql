-- What tenants have defined.

-- +goose Up

-- Who changes a tenant's definitions holds its row. revision counts the changes; stamp is
-- a new UUID with every change, by which a model in memory is known to be current.
CREATE TABLE metadata_tenant (
	tenant_id TEXT    NOT NULL PRIMARY KEY,
	revision  INTEGER NOT NULL,
	stamp     TEXT    NOT NULL
) WITHOUT ROWID;

-- A definition that is not as every tenant has it. body is JSON, as crm.Kind says;
-- revision is that of its last change.
CREATE TABLE metadata_definition (
	tenant_id TEXT    NOT NULL,
	kind      TEXT    NOT NULL,
	id        TEXT    NOT NULL,
	body      TEXT    NOT NULL,
	revision  INTEGER NOT NULL,
	PRIMARY KEY (tenant_id, kind, id)
) WITHOUT ROWID;
