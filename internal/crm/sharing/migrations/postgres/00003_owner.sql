-- A share knows who owns its record, so that records that somebody reaches by the owner
-- and by a share are counted once without looking at them.

-- +goose Up

ALTER TABLE sharing_share ADD COLUMN owner_id text NOT NULL DEFAULT '' COLLATE "C";
UPDATE sharing_share SET owner_id = r.owner_id FROM sharing_model m, records_record r
	WHERE m.num = sharing_share.model AND r.tenant_id = sharing_share.tenant_id AND r.object = m.object AND r.id = sharing_share.record_id AND r.deleted_at = 0;
DELETE FROM sharing_share WHERE owner_id = '';
DROP INDEX sharing_share_grantee;
CREATE INDEX sharing_share_grantee ON sharing_share (tenant_id, model, grantee, record_id, level, cause, owner_id);

-- Whatever writes records, their shares follow in its transaction. Who writes shares of a
-- record holds it first (hold.go) and reads it then, so nobody writes the owner of before.
-- +goose StatementBegin
CREATE FUNCTION sharing_share_follows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_advisory_xact_lock_shared(hashtextextended('sharing:' || NEW.tenant_id || ':' || NEW.object, 7001));
	PERFORM pg_advisory_xact_lock(hashtextextended('sharing:' || NEW.tenant_id || ':' || NEW.object || ':' || NEW.id, 7001));
	IF NEW.deleted_at <> 0 THEN
		DELETE FROM sharing_share WHERE tenant_id = NEW.tenant_id AND record_id = NEW.id AND model IN
			(SELECT num FROM sharing_model WHERE tenant_id = NEW.tenant_id AND object = NEW.object AND status < 3);
	ELSE
		UPDATE sharing_share SET owner_id = NEW.owner_id WHERE tenant_id = NEW.tenant_id AND record_id = NEW.id AND model IN
			(SELECT num FROM sharing_model WHERE tenant_id = NEW.tenant_id AND object = NEW.object AND status < 3);
	END IF;
	RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER sharing_share_follows AFTER UPDATE OF owner_id, deleted_at ON records_record FOR EACH ROW
	WHEN (OLD.owner_id <> NEW.owner_id OR OLD.deleted_at <> NEW.deleted_at) EXECUTE FUNCTION sharing_share_follows();
