package records

// Living is what follows FROM in a statement of another service that joins living records of an object: the
// table under an alias, WHERE, and a condition that AND may follow. tenant and object are SQL, such as the
// place of an argument. Of the columns it may name id, object, owner_id, account_id, name and fields.
func (Reads) Living(alias, tenant, object string) string {
	return "records_record " + alias + " WHERE " + alias + ".tenant_id = " + tenant +
		" AND " + alias + ".object = " + object + " AND " + alias + ".deleted_at = 0"
}

// Counts is what follows FROM, as in Living, where living records of an object are counted by owner: of the
// columns a statement may name owner_id and n. An owner has one row or more, which add up.
func (Reads) Counts(alias, tenant, object string) string {
	return "records_count " + alias + " WHERE " + alias + ".tenant_id = " + tenant + " AND " + alias + ".object = " +
		object
}
