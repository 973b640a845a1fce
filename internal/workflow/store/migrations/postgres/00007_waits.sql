-- Nodes that wait for somebody.

-- +goose Up

-- until 0: for ever. prompt and assignees are JSON, '' without any; a prompt that is too large is that of the event
-- prompt_seq.
CREATE TABLE engine_wait (
	tenant      text NOT NULL COLLATE "C",
	execution   bigint NOT NULL,
	node        text NOT NULL COLLATE "C",
	graph_id    text NOT NULL COLLATE "C",
	since       bigint NOT NULL,
	until       bigint NOT NULL,
	wait_key    text NOT NULL COLLATE "C",
	prompt      text NOT NULL COLLATE "C",
	prompt_seq  bigint NOT NULL,
	prompt_size bigint NOT NULL,
	assignees   text NOT NULL COLLATE "C",
	PRIMARY KEY (tenant, execution, node)
);
CREATE INDEX engine_wait_since ON engine_wait (tenant, since, execution, node);
CREATE INDEX engine_wait_graph ON engine_wait (tenant, graph_id, since, execution, node);

-- Who may resume them, where not everybody may. assignee begins with user:, role: or group:.
CREATE TABLE engine_assignee (
	tenant    text NOT NULL COLLATE "C",
	assignee  text NOT NULL COLLATE "C",
	execution bigint NOT NULL,
	node      text NOT NULL COLLATE "C",
	PRIMARY KEY (tenant, assignee, execution, node)
);
CREATE INDEX engine_assignee_wait ON engine_assignee (tenant, execution, node);
