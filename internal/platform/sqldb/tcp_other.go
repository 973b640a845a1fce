//go:build !linux

package sqldb

import "syscall"

// userTimeout does nothing here: keep-alives and the deadlines of trips notice a
// peer that is gone, later.
func userTimeout(_, _ string, _ syscall.RawConn) error { return nil }
