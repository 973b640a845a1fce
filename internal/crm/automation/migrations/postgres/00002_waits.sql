-- Notes about nodes that wait.

-- +goose Up

-- Nodes that wait for their assignees, and reminders of them, until there are notes. event_id is that of the event that
-- says so; assignees is JSON.
CREATE TABLE automation_wait (
	tenant_id    text COLLATE "C" NOT NULL,
	event_id     text COLLATE "C" NOT NULL,
	at           bigint NOT NULL,
	execution_id text COLLATE "C" NOT NULL,
	node_id      text COLLATE "C" NOT NULL,
	message      text COLLATE "C" NOT NULL,
	action_key   text COLLATE "C" NOT NULL,
	assignees    text COLLATE "C" NOT NULL,
	PRIMARY KEY (tenant_id, event_id)
);
CREATE INDEX automation_wait_at ON automation_wait (at);

-- Of a note about an execution, which is its record, the node.
ALTER TABLE automation_note ADD COLUMN node_id text COLLATE "C" NOT NULL DEFAULT '';
