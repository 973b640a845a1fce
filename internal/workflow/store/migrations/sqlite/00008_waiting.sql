-- Executions by what waits in them.

-- +goose Up

-- waiting is 1 where a node of the execution waits, else 0; -1: unknown, until the next commit about it.
ALTER TABLE engine_execution ADD COLUMN waiting INTEGER NOT NULL DEFAULT -1;
UPDATE engine_execution SET waiting = 1 WHERE num IN (SELECT execution FROM engine_wait);
CREATE INDEX engine_execution_waiting ON engine_execution (tenant, waiting, created_at) WHERE waiting = 1;

-- created_at is that of the execution.
ALTER TABLE engine_wait ADD COLUMN created_at INTEGER NOT NULL DEFAULT 0;
UPDATE engine_wait SET created_at = (SELECT e.created_at FROM engine_execution AS e WHERE e.num = execution);
CREATE INDEX engine_wait_node ON engine_wait (tenant, node, created_at, execution);

-- :waiting and :node=approve count who waits, so these rows also shrink.
INSERT INTO engine_passing (tenant, filter, n)
	SELECT tenant, ':waiting', count(*) FROM engine_execution WHERE waiting = 1 GROUP BY tenant
	UNION ALL
	SELECT tenant, ':node=' || node, count(*) FROM engine_wait GROUP BY tenant, node;
