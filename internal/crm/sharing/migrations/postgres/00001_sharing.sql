-- Who may see which record. Levels: 1 read, 2 edit, 3 all. Principals are a kind, a colon
-- and an id. Instants are milliseconds since 1970; '' is no id.

-- +goose Up

-- revision counts what is changed of territories and models; closed says of which state
-- of the directory and of them sharing_principal and sharing_reach are.
CREATE TABLE sharing_tenant (
	tenant_id text   NOT NULL COLLATE "C" PRIMARY KEY,
	revision  bigint NOT NULL,
	closed    text   NOT NULL COLLATE "C"
);

-- Which principals an active user has.
CREATE TABLE sharing_principal (
	tenant_id text NOT NULL COLLATE "C",
	user_id   text NOT NULL COLLATE "C",
	principal text NOT NULL COLLATE "C",
	PRIMARY KEY (tenant_id, user_id, principal)
);

-- The owners whose records a principal has access to; model 0: under every model.
CREATE TABLE sharing_reach (
	tenant_id text   NOT NULL COLLATE "C",
	model     bigint NOT NULL,
	principal text   NOT NULL COLLATE "C",
	owner_id  text   NOT NULL COLLATE "C",
	cause     text   NOT NULL COLLATE "C",
	cause_id  text   NOT NULL COLLATE "C",
	level     bigint NOT NULL,
	PRIMARY KEY (tenant_id, model, principal, owner_id, cause, cause_id)
);
CREATE INDEX sharing_reach_owner ON sharing_reach (tenant_id, owner_id, model, principal, level);

-- The models of an object. status: 1 building, 2 active, 3 retired, 4 canceled; setup is
-- JSON. place is the record up to which a rebuild got; swept says that its rows are gone.
CREATE TABLE sharing_model (
	num        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	tenant_id  text   NOT NULL COLLATE "C",
	object     text   NOT NULL COLLATE "C",
	version    bigint NOT NULL,
	status     bigint NOT NULL,
	setup      text   NOT NULL COLLATE "C",
	execution  text   NOT NULL COLLATE "C",
	place      text   NOT NULL COLLATE "C",
	processed  bigint NOT NULL,
	total      bigint NOT NULL,
	created_at bigint NOT NULL,
	active_at  bigint NOT NULL,
	ended_at   bigint NOT NULL,
	swept      bigint NOT NULL
);
CREATE UNIQUE INDEX sharing_model_version ON sharing_model (tenant_id, object, version);
CREATE INDEX sharing_model_now ON sharing_model (tenant_id, object, status) WHERE status < 3;
CREATE INDEX sharing_model_building ON sharing_model (num) WHERE status = 1;
CREATE INDEX sharing_model_unswept ON sharing_model (num) WHERE status > 2 AND swept = 0;

-- Access to a record that its owner does not tell.
CREATE TABLE sharing_share (
	tenant_id text   NOT NULL COLLATE "C",
	model     bigint NOT NULL,
	record_id text   NOT NULL COLLATE "C",
	grantee   text   NOT NULL COLLATE "C",
	cause     text   NOT NULL COLLATE "C",
	cause_id  text   NOT NULL COLLATE "C",
	level     bigint NOT NULL,
	PRIMARY KEY (tenant_id, model, record_id, grantee, cause, cause_id)
);
CREATE INDEX sharing_share_grantee ON sharing_share (tenant_id, model, grantee, record_id, level, cause);

CREATE TABLE sharing_territory (
	tenant_id text   NOT NULL COLLATE "C",
	id        text   NOT NULL COLLATE "C",
	name      text   NOT NULL COLLATE "C",
	parent_id text   NOT NULL COLLATE "C",
	access    text   NOT NULL COLLATE "C",
	version   bigint NOT NULL,
	PRIMARY KEY (tenant_id, id)
);

CREATE TABLE sharing_territory_user (
	tenant_id    text NOT NULL COLLATE "C",
	territory_id text NOT NULL COLLATE "C",
	user_id      text NOT NULL COLLATE "C",
	PRIMARY KEY (tenant_id, territory_id, user_id)
);

CREATE TABLE sharing_territory_account (
	tenant_id    text NOT NULL COLLATE "C",
	account_id   text NOT NULL COLLATE "C",
	territory_id text NOT NULL COLLATE "C",
	PRIMARY KEY (tenant_id, account_id, territory_id)
);
CREATE INDEX sharing_territory_accounts ON sharing_territory_account (tenant_id, territory_id, account_id);
