-- Who may see which record. Levels: 1 read, 2 edit, 3 all. Principals are a kind, a colon
-- and an id. Instants are milliseconds since 1970; '' is no id.

-- +goose Up

-- revision counts what is changed of territories and models; closed says of which state
-- of the directory and of them sharing_principal and sharing_reach are.
CREATE TABLE sharing_tenant (
	tenant_id TEXT    NOT NULL PRIMARY KEY,
	revision  INTEGER NOT NULL,
	closed    TEXT    NOT NULL
) WITHOUT ROWID;

-- Which principals an active user has.
CREATE TABLE sharing_principal (
	tenant_id TEXT NOT NULL,
	user_id   TEXT NOT NULL,
	principal TEXT NOT NULL,
	PRIMARY KEY (tenant_id, user_id, principal)
) WITHOUT ROWID;

-- The owners whose records a principal has access to; model 0: under every model.
CREATE TABLE sharing_reach (
	tenant_id TEXT    NOT NULL,
	model     INTEGER NOT NULL,
	principal TEXT    NOT NULL,
	owner_id  TEXT    NOT NULL,
	cause     TEXT    NOT NULL,
	cause_id  TEXT    NOT NULL,
	level     INTEGER NOT NULL,
	PRIMARY KEY (tenant_id, model, principal, owner_id, cause, cause_id)
) WITHOUT ROWID;
CREATE INDEX sharing_reach_owner ON sharing_reach (tenant_id, owner_id, model, principal, level);

-- The models of an object. status: 1 building, 2 active, 3 retired, 4 canceled; setup is
-- JSON. place is the record up to which a rebuild got; swept says that its rows are gone.
CREATE TABLE sharing_model (
	num        INTEGER PRIMARY KEY AUTOINCREMENT,
	tenant_id  TEXT    NOT NULL,
	object     TEXT    NOT NULL,
	version    INTEGER NOT NULL,
	status     INTEGER NOT NULL,
	setup      TEXT    NOT NULL,
	execution  TEXT    NOT NULL,
	place      TEXT    NOT NULL,
	processed  INTEGER NOT NULL,
	total      INTEGER NOT NULL,
	created_at INTEGER NOT NULL,
	active_at  INTEGER NOT NULL,
	ended_at   INTEGER NOT NULL,
	swept      INTEGER NOT NULL
);
CREATE UNIQUE INDEX sharing_model_version ON sharing_model (tenant_id, object, version);
CREATE INDEX sharing_model_now ON sharing_model (tenant_id, object, status) WHERE status < 3;
CREATE INDEX sharing_model_building ON sharing_model (num) WHERE status = 1;
CREATE INDEX sharing_model_unswept ON sharing_model (num) WHERE status > 2 AND swept = 0;

-- Access to a record that its owner does not tell.
CREATE TABLE sharing_share (
	tenant_id TEXT    NOT NULL,
	model     INTEGER NOT NULL,
	record_id TEXT    NOT NULL,
	grantee   TEXT    NOT NULL,
	cause     TEXT    NOT NULL,
	cause_id  TEXT    NOT NULL,
	level     INTEGER NOT NULL,
	PRIMARY KEY (tenant_id, model, record_id, grantee, cause, cause_id)
) WITHOUT ROWID;
CREATE INDEX sharing_share_grantee ON sharing_share (tenant_id, model, grantee, record_id, level, cause);

CREATE TABLE sharing_territory (
	tenant_id TEXT    NOT NULL,
	id        TEXT    NOT NULL,
	name      TEXT    NOT NULL,
	parent_id TEXT    NOT NULL,
	access    TEXT    NOT NULL,
	version   INTEGER NOT NULL,
	PRIMARY KEY (tenant_id, id)
) WITHOUT ROWID;

CREATE TABLE sharing_territory_user (
	tenant_id    TEXT NOT NULL,
	territory_id TEXT NOT NULL,
	user_id      TEXT NOT NULL,
	PRIMARY KEY (tenant_id, territory_id, user_id)
) WITHOUT ROWID;

CREATE TABLE sharing_territory_account (
	tenant_id    TEXT NOT NULL,
	account_id   TEXT NOT NULL,
	territory_id TEXT NOT NULL,
	PRIMARY KEY (tenant_id, account_id, territory_id)
) WITHOUT ROWID;
CREATE INDEX sharing_territory_accounts ON sharing_territory_account (tenant_id, territory_id, account_id);
