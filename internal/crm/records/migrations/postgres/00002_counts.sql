-- Records of an object can be counted, by owner or all, without looking at their rows.

-- +goose Up

DROP INDEX records_record_owner;
CREATE INDEX records_record_owner ON records_record (tenant_id, object, owner_id, id, deleted_at) WHERE deleted_at = 0;
