package sqldb

import (
	"errors"

	"github.com/jackc/pgx/v5/pgconn"

	"renga.dev/renga/internal/platform/fault"
)

// lost is an error that came with the end of its connection. What the server said
// last may be in it, or nothing.
type lost struct{ error }

func (e lost) Unwrap() error { return e.error }

// judgePostgres maps an error by its SQLSTATE and by what became of the connection.
// It reads the state alone; the text of an error is for people.
func judgePostgres(err error) (verdict, bool) {
	if dial, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return judgeDial(dial), true
	}
	if coded, ok := errors.AsType[*pgconn.PgError](err); ok {
		return judgeState(coded.Code), true
	}
	if _, ok := errors.AsType[lost](err); ok {
		return verdict{kind: fault.Unavailable, code: codeDown, scope: transaction}, true
	}
	return verdict{}, false
}

// judgeDial is about a connection that could not be made: whatever the reason,
// nothing was done, and another attempt may fare better.
func judgeDial(err *pgconn.ConnectError) verdict {
	if coded, ok := errors.AsType[*pgconn.PgError](err.Unwrap()); ok {
		if v := judgeState(coded.Code); v.kind == fault.Unavailable {
			return v
		}
	}
	return verdict{kind: fault.Unavailable, code: codeDown, scope: transaction}
}

// judgeState is the table of PostgreSQL's SQLSTATEs, most exact first. A scope
// beyond the statement means that the connection is not used again.
func judgeState(state string) verdict {
	switch state {
	case "23505": // unique_violation
		return verdict{kind: fault.Conflict, code: codeExists}
	case "40001", "40P01", "55P03": // serialization_failure, deadlock_detected, lock_not_available
		return verdict{kind: fault.Unavailable, code: codeBusy, redo: true}
	case "57014": // query_canceled: by its caller, or it took too long
		return verdict{kind: fault.Unavailable, code: codeBusy}
	case "53100": // disk_full
		return verdict{kind: fault.Unavailable, code: codeFull, scope: transaction}
	case "53300": // too_many_connections
		return verdict{kind: fault.Unavailable, code: codeBusy, scope: transaction}
	case "42501", "3D000": // insufficient_privilege, there is no such database
		return verdict{kind: fault.Unavailable, code: codeDenied, scope: transaction}
	case "25006", "25P03": // the server has become a standby; the transaction was idle for too long
		return verdict{kind: fault.Unavailable, code: codeDown, scope: transaction}
	}
	switch state {
	case "XX001", "XX002", "58P01": // data_corrupted, index_corrupted, a file of the server is not there
		return verdict{kind: fault.Internal, code: codeDamaged, scope: transaction}
	}
	switch class(state) {
	case "22", "23": // a value, or a constraint that is no unique index
		return verdict{kind: fault.Internal}
	case "08", "57": // the connection, and the operator: shut down, crashed, starting
		return verdict{kind: fault.Unavailable, code: codeDown, scope: transaction}
	case "28": // who we are, and our password
		return verdict{kind: fault.Unavailable, code: codeDenied, scope: transaction}
	case "53": // memory and other resources
		return verdict{kind: fault.Unavailable, code: codeBusy, scope: transaction}
	case "58": // the system around the server
		return verdict{kind: fault.Unavailable, code: codeIO, scope: transaction}
	}
	return verdict{kind: fault.Internal, scope: transaction}
}

func class(state string) string {
	if len(state) < 2 {
		return ""
	}
	return state[:2]
}
