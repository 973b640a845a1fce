package sqldb

import (
	"errors"

	"github.com/jackc/pgx/v5/pgconn"

	"renga.dev/renga/internal/platform/fault"
)

// lost is an error with which the connection ended.
type lost struct{ error }

func (e lost) Unwrap() error { return e.error }

// judgePostgres classifies by SQLSTATE and by the state of the connection, never by text.
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

// judgeDial classifies a failed dial: nothing was done, and another attempt may succeed.
func judgeDial(err *pgconn.ConnectError) verdict {
	if coded, ok := errors.AsType[*pgconn.PgError](err.Unwrap()); ok {
		if v := judgeState(coded.Code); v.kind == fault.Unavailable {
			return v
		}
	}
	return verdict{kind: fault.Unavailable, code: codeDown, scope: transaction}
}

// judgeState is the table of SQLSTATEs, most specific first. A scope beyond the statement retires the connection.
func judgeState(state string) verdict {
	away := func(code string) verdict { return verdict{kind: fault.Unavailable, code: code, scope: transaction} }
	switch state {
	case "23505": // unique_violation
		return verdict{kind: fault.Conflict, code: codeExists}
	case "40001", "40P01", "55P03": // serialization_failure, deadlock_detected, lock_not_available
		return verdict{kind: fault.Unavailable, code: codeBusy, redo: true}
	case "57014": // query_canceled
		return verdict{kind: fault.Unavailable, code: codeBusy}
	case "53100": // disk_full
		return away(codeFull)
	case "42501", "3D000": // insufficient_privilege, invalid_catalog_name
		return away(codeDenied)
	case "25006", "25P03": // read_only_sql_transaction: a standby; idle_in_transaction_session_timeout
		return away(codeDown)
	case "XX001", "XX002", "58P01": // data_corrupted, index_corrupted, undefined_file
		return verdict{kind: fault.Internal, code: codeDamaged, scope: transaction}
	}
	switch class(state) {
	case "22", "23": // a value, another constraint
		return verdict{kind: fault.Internal}
	case "08", "57": // connection; shutdown, crash, start
		return away(codeDown)
	case "28": // authorization
		return away(codeDenied)
	case "53": // resources
		return away(codeBusy)
	case "58": // system error
		return away(codeIO)
	}
	return verdict{kind: fault.Internal, scope: transaction}
}

func class(state string) string {
	if len(state) < 2 {
		return ""
	}
	return state[:2]
}
