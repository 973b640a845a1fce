// Package pgtest gives tests a PostgreSQL: a throw-away server that they may
// restart and kill, fresh databases on it, and a proxy that cuts connections
// around a COMMIT. It is for tests only and speaks to the server through
// PostgreSQL's own programs, so that the driver keeps its one importer.
//
// The server of a test binary is started when the first test asks for it, and is
// gone soon after the binary has ended, however it ended. It is in memory where there is
// room for it; one that a test restarts or kills is on a disk. Its default collation is
// not that of bytes and its time zone not UTC, as on the servers of users, so that a
// test can find what relies on either.
//
// With RENGA_TEST_DATABASE_URL databases are created on that server instead, and
// dropped after the test. Where there is no PostgreSQL, tests that ask for one are
// skipped.
package pgtest
