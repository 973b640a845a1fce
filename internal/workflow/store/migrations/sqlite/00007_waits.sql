-- Nodes that wait for somebody.

-- +goose Up

-- until 0: for ever. prompt and assignees are JSON, '' without any; a prompt that is too large is that of the event
-- prompt_seq.
CREATE TABLE engine_wait (
	tenant      TEXT NOT NULL,
	execution   INTEGER NOT NULL,
	node        TEXT NOT NULL,
	graph_id    TEXT NOT NULL,
	since       INTEGER NOT NULL,
	until       INTEGER NOT NULL,
	wait_key    TEXT NOT NULL,
	prompt      TEXT NOT NULL,
	prompt_seq  INTEGER NOT NULL,
	prompt_size INTEGER NOT NULL,
	assignees   TEXT NOT NULL,
	PRIMARY KEY (tenant, execution, node)
) WITHOUT ROWID;
CREATE INDEX engine_wait_since ON engine_wait (tenant, since, execution, node);
CREATE INDEX engine_wait_graph ON engine_wait (tenant, graph_id, since, execution, node);

-- Who may resume them, where not everybody may. assignee begins with user:, role: or group:.
CREATE TABLE engine_assignee (
	tenant    TEXT NOT NULL,
	assignee  TEXT NOT NULL,
	execution INTEGER NOT NULL,
	node      TEXT NOT NULL,
	PRIMARY KEY (tenant, assignee, execution, node)
) WITHOUT ROWID;
CREATE INDEX engine_assignee_wait ON engine_assignee (tenant, execution, node);
