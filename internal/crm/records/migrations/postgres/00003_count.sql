-- How many living records of an object an owner has, so that totals are added up and not
-- counted. A change adds a row with a seq of its own, so that nobody waits for anybody;
-- such rows are added to the one with seq 0 later. The count is the sum over all of them.

-- +goose Up

CREATE SEQUENCE records_count_seq;
CREATE TABLE records_count (
	tenant_id text   NOT NULL COLLATE "C",
	object    text   NOT NULL COLLATE "C",
	owner_id  text   NOT NULL COLLATE "C",
	seq       bigint NOT NULL DEFAULT nextval('records_count_seq'),
	n         bigint NOT NULL,
	PRIMARY KEY (tenant_id, object, owner_id, seq)
);
CREATE INDEX records_count_unfolded ON records_count (seq) WHERE seq > 0;
INSERT INTO records_count (tenant_id, object, owner_id, seq, n)
	SELECT tenant_id, object, owner_id, 0, count(*) FROM records_record WHERE deleted_at = 0 GROUP BY tenant_id, object, owner_id;

-- Whatever writes records, the counts follow in its transaction.
-- +goose StatementBegin
CREATE FUNCTION records_count_follows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF TG_OP <> 'INSERT' AND OLD.deleted_at = 0 THEN
		INSERT INTO records_count (tenant_id, object, owner_id, n) VALUES (OLD.tenant_id, OLD.object, OLD.owner_id, -1);
	END IF;
	IF TG_OP <> 'DELETE' AND NEW.deleted_at = 0 THEN
		INSERT INTO records_count (tenant_id, object, owner_id, n) VALUES (NEW.tenant_id, NEW.object, NEW.owner_id, 1);
	END IF;
	RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER records_count_added AFTER INSERT OR DELETE ON records_record FOR EACH ROW EXECUTE FUNCTION records_count_follows();
CREATE TRIGGER records_count_changed AFTER UPDATE OF owner_id, deleted_at ON records_record FOR EACH ROW
	WHEN (OLD.owner_id <> NEW.owner_id OR OLD.deleted_at <> NEW.deleted_at) EXECUTE FUNCTION records_count_follows();

-- The records of an account can be told by owner without looking at their rows.
DROP INDEX records_record_account;
CREATE INDEX records_record_account ON records_record (tenant_id, account_id, object, id, owner_id, deleted_at) WHERE account_id <> '' AND deleted_at = 0;
