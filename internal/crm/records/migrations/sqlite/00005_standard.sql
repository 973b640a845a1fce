-- A tenant that has records but has defined nothing keeps the standard definitions that it
-- began with; see the tables of metadata.

-- +goose Up

INSERT INTO metadata_tenant (tenant_id, revision, stamp, standard)
	SELECT DISTINCT tenant_id, 0, 'records', 0 FROM records_record
	WHERE tenant_id NOT IN (SELECT tenant_id FROM metadata_tenant);
