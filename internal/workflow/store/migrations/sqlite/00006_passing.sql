-- How many executions pass a filter.

-- +goose Up

-- filter is a label, as name=value, or what no label can be: :outcome=paid, :error=CODE. Such a row only grows.
CREATE TABLE engine_passing (
	tenant TEXT    NOT NULL,
	filter TEXT    NOT NULL,
	n      INTEGER NOT NULL,
	PRIMARY KEY (tenant, filter)
) WITHOUT ROWID;
INSERT INTO engine_passing (tenant, filter, n)
	SELECT tenant, label, count(*) FROM engine_label GROUP BY tenant, label
	UNION ALL
	SELECT tenant, ':outcome=' || outcome, count(*) FROM engine_execution WHERE outcome <> '' GROUP BY tenant, outcome
	UNION ALL
	SELECT tenant, ':error=' || error_code, count(*) FROM engine_execution WHERE error_code <> ''
		GROUP BY tenant, error_code;
