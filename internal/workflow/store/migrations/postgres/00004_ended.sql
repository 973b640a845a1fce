-- Executions by when they ended.

-- +goose Up

CREATE INDEX engine_execution_ended ON engine_execution (tenant, ended_at, created_at, num) WHERE ended_at > 0;
