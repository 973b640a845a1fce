package approval

// SQLite has one writer: no row has to be held.
var sqlite = dialect{}
