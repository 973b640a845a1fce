-- The engine's tables. What is written for every command is appended in order of
-- insertion (engine_log); the rest is touched when an execution begins, ends or waits.
-- Instants are milliseconds since 1970; 0 means none.

-- +goose Up

-- status: 0 ACTIVE, 1 COMPLETED, 2 FAILED, 3 CANCELED.
CREATE TABLE engine_execution (
	num           INTEGER PRIMARY KEY,
	id            BLOB    NOT NULL,
	tenant        TEXT    NOT NULL,
	graph_id      TEXT    NOT NULL,
	graph_version INTEGER NOT NULL,
	status        INTEGER NOT NULL,
	created_at    INTEGER NOT NULL,
	ended_at      INTEGER NOT NULL,
	archived_at   INTEGER NOT NULL,
	due_at        INTEGER NOT NULL
);
CREATE UNIQUE INDEX engine_execution_id ON engine_execution (id);
-- Lists name their statuses always, so two indexes serve every filter in order.
CREATE INDEX engine_execution_status ON engine_execution (tenant, status, created_at);
CREATE INDEX engine_execution_graph ON engine_execution (tenant, graph_id, status, created_at);
CREATE INDEX engine_execution_due ON engine_execution (due_at) WHERE due_at > 0;

-- How many executions there are, so that a list need not count them.
CREATE TABLE engine_count (
	tenant   TEXT    NOT NULL,
	graph_id TEXT    NOT NULL,
	status   INTEGER NOT NULL,
	n        INTEGER NOT NULL,
	PRIMARY KEY (tenant, graph_id, status)
) WITHOUT ROWID;

-- One row per execution and commit. reducer is the version of the reducer that
-- made the snapshot, NULL without one.
CREATE TABLE engine_log (
	id        INTEGER PRIMARY KEY,
	execution INTEGER NOT NULL,
	commit_no INTEGER NOT NULL,
	first_seq INTEGER NOT NULL,
	last_seq  INTEGER NOT NULL,
	reducer   INTEGER,
	body      BLOB    NOT NULL,
	snapshot  BLOB
);
CREATE UNIQUE INDEX engine_log_commit ON engine_log (execution, commit_no);
CREATE INDEX engine_log_snapshot ON engine_log (execution, reducer, commit_no) WHERE reducer IS NOT NULL;

-- Keys of commands that belong to no execution. digest is over tenant, endpoint
-- and key; id is in order of insertion, so the oldest are found without an index.
CREATE TABLE engine_key (
	id       INTEGER PRIMARY KEY,
	digest   BLOB    NOT NULL,
	tenant   TEXT    NOT NULL,
	endpoint TEXT    NOT NULL,
	key      TEXT    NOT NULL,
	hash     BLOB    NOT NULL,
	at       INTEGER NOT NULL,
	body     BLOB    NOT NULL
);
CREATE UNIQUE INDEX engine_key_digest ON engine_key (digest);

-- Tasks that wait for a worker.
CREATE TABLE engine_ready (
	tenant    TEXT    NOT NULL,
	queue     TEXT    NOT NULL,
	ready_at  INTEGER NOT NULL,
	execution INTEGER NOT NULL,
	node      TEXT    NOT NULL,
	PRIMARY KEY (tenant, queue, ready_at, execution, node)
) WITHOUT ROWID;

CREATE TABLE engine_graph (
	tenant     TEXT    NOT NULL,
	id         TEXT    NOT NULL,
	version    INTEGER NOT NULL,
	digest     TEXT    NOT NULL,
	body       BLOB    NOT NULL,
	created_at INTEGER NOT NULL,
	PRIMARY KEY (tenant, id, version)
);
