-- Notes about nodes that wait.

-- +goose Up

-- Nodes that wait for their assignees, and reminders of them, until there are notes. event_id is that of the event that
-- says so; assignees is JSON.
CREATE TABLE automation_wait (
	tenant_id    TEXT NOT NULL,
	event_id     TEXT NOT NULL,
	at           INTEGER NOT NULL,
	execution_id TEXT NOT NULL,
	node_id      TEXT NOT NULL,
	message      TEXT NOT NULL,
	action_key   TEXT NOT NULL,
	assignees    TEXT NOT NULL,
	PRIMARY KEY (tenant_id, event_id)
) WITHOUT ROWID;
CREATE INDEX automation_wait_at ON automation_wait (at);

-- Of a note about an execution, which is its record, the node.
ALTER TABLE automation_note ADD COLUMN node_id TEXT NOT NULL DEFAULT '';
