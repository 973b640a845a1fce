package sqldb

// lite is the database as one in a file.
func (db *DB) lite() *lite { return db.base.(*lite) }
