package sqldb

// Tx is a transaction in the making, for one job.
type Tx struct{}
