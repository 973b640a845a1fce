-- What records are found by. Instants and versions are milliseconds since 1970; '' is no
-- id.

-- +goose Up

-- The number by which the tokens of a tenant begin.
CREATE TABLE search_tenant (
	num       INTEGER PRIMARY KEY AUTOINCREMENT,
	tenant_id TEXT    NOT NULL UNIQUE
);

-- Which records are in the index. place says in which order they are found: the last
-- change of the record, and a number among those of the same millisecond. digest is that
-- of the tokens, without those of campaigns, which are a JSON array of ids.
CREATE TABLE search_doc (
	place      INTEGER PRIMARY KEY,
	tenant_id  TEXT    NOT NULL,
	object     TEXT    NOT NULL,
	id         TEXT    NOT NULL,
	version    INTEGER NOT NULL,
	updated_at INTEGER NOT NULL,
	digest     INTEGER NOT NULL,
	campaigns  TEXT    NOT NULL
);
CREATE UNIQUE INDEX search_doc_record ON search_doc (tenant_id, object, id);

-- The tokens, by place.
CREATE VIRTUAL TABLE search_text USING fts5(tokens, content='', contentless_delete=1, detail=none, tokenize='ascii');
CREATE VIRTUAL TABLE search_vocabulary USING fts5vocab(search_text, instance);

-- Places whose tokens are of no record any more and are yet to be deleted.
CREATE TABLE search_gone (
	place INTEGER PRIMARY KEY
);

-- By which fields the records of an object are found: a JSON array of their names.
CREATE TABLE search_index (
	tenant_id TEXT NOT NULL,
	object    TEXT NOT NULL,
	fields    TEXT NOT NULL,
	PRIMARY KEY (tenant_id, object)
) WITHOUT ROWID;

-- Rebuilds, of an object or ('') of all. status: 1 running, 2 done, 3 canceled. place_object
-- and place_id are the record up to which it got.
CREATE TABLE search_rebuild (
	num          INTEGER PRIMARY KEY AUTOINCREMENT,
	tenant_id    TEXT    NOT NULL,
	id           TEXT    NOT NULL,
	object       TEXT    NOT NULL,
	cause        TEXT    NOT NULL,
	status       INTEGER NOT NULL,
	execution    TEXT    NOT NULL,
	place_object TEXT    NOT NULL,
	place_id     TEXT    NOT NULL,
	processed    INTEGER NOT NULL,
	total        INTEGER NOT NULL,
	created_at   INTEGER NOT NULL,
	ended_at     INTEGER NOT NULL
);
CREATE UNIQUE INDEX search_rebuild_id ON search_rebuild (tenant_id, id);
CREATE INDEX search_rebuild_tenant ON search_rebuild (tenant_id, num);
CREATE INDEX search_rebuild_running ON search_rebuild (num) WHERE status = 1;

-- Requests for rebuilds that may be repeated, with their answers; see internal/once.
CREATE TABLE search_once (
	tenant   TEXT    NOT NULL,
	endpoint TEXT    NOT NULL,
	key      TEXT    NOT NULL,
	hash     BLOB    NOT NULL,
	members  TEXT    NOT NULL,
	at       INTEGER NOT NULL,
	answer   TEXT    NOT NULL,
	PRIMARY KEY (tenant, endpoint, key)
) WITHOUT ROWID;
CREATE INDEX search_once_at ON search_once (at);
