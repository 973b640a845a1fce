-- Where executions failed, and those that are archived.

-- +goose Up

-- failed_node is that at which an execution failed first; '' in rows that ended before this column.
ALTER TABLE engine_execution ADD COLUMN failed_node TEXT NOT NULL DEFAULT '';

CREATE INDEX engine_execution_archived ON engine_execution (tenant, created_at) WHERE archived_at > 0;

-- :archived=2/order counts the archived executions of a graph by status; such a row only grows.
INSERT INTO engine_passing (tenant, filter, n)
	SELECT tenant, ':archived=' || status || '/' || graph_id, count(*) FROM engine_execution WHERE archived_at > 0
		GROUP BY tenant, status, graph_id;
