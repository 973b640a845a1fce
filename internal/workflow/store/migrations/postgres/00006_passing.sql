-- How many executions pass a filter.

-- +goose Up

-- filter is a label, as name=value, or what no label can be: :outcome=paid, :error=CODE. Such a row only grows.
CREATE TABLE engine_passing (
	tenant text   NOT NULL COLLATE "C",
	filter text   NOT NULL COLLATE "C",
	n      bigint NOT NULL,
	PRIMARY KEY (tenant, filter)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);
-- What waits to be compacted.
CREATE TABLE engine_passing_delta (
	id     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	tenant text   NOT NULL COLLATE "C",
	filter text   NOT NULL COLLATE "C",
	n      bigint NOT NULL
);
CREATE INDEX engine_passing_delta_filter ON engine_passing_delta (tenant, filter);
INSERT INTO engine_passing (tenant, filter, n)
	SELECT tenant, label, count(*) FROM engine_label GROUP BY tenant, label
	UNION ALL
	SELECT tenant, ':outcome=' || outcome, count(*) FROM engine_execution WHERE outcome <> '' GROUP BY tenant, outcome
	UNION ALL
	SELECT tenant, ':error=' || error_code, count(*) FROM engine_execution WHERE error_code <> ''
		GROUP BY tenant, error_code;
