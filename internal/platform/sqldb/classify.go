package sqldb

import (
	"context"
	"errors"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"renga.dev/renga/internal/platform/fault"
)

// retryAfter is the advice of every Unavailable.
const retryAfter = time.Second

// scope is how far a driver error reaches.
type scope uint8

const (
	statement   scope = iota // the statement alone failed
	transaction              // the transaction may have ended
	process                  // the state of the disk is unknown: stop
)

// verdict classifies a driver error.
type verdict struct {
	kind  fault.Kind
	code  string
	scope scope
	redo  bool // the same transaction may succeed when repeated
}

const (
	codeFull    = "STORAGE_FULL"
	codeBusy    = "STORAGE_BUSY"
	codeIO      = "STORAGE_ERROR"
	codeDenied  = "STORAGE_DENIED"
	codeExists  = "ALREADY_EXISTS"
	codeTooBig  = "PAYLOAD_TOO_LARGE"
	codeDown    = "UNAVAILABLE"
	codeUnknown = "TIMEOUT"
	codeStopped = "SHUTTING_DOWN"

	// codeDamaged marks what no repetition repairs. Callers see an internal error.
	codeDamaged = "STORAGE_DAMAGED"
)

// judgeSQLite classifies by result code, never by text.
func judgeSQLite(err error) (verdict, bool) {
	var coded interface{ Code() int }
	if !errors.As(err, &coded) {
		return verdict{}, false
	}
	return judgeCode(coded.Code()), true
}

func judgeCode(code int) verdict {
	switch code {
	case sqlite3.SQLITE_IOERR_DATA, sqlite3.SQLITE_IOERR_CORRUPTFS:
		return verdict{kind: fault.Internal, code: codeDamaged, scope: transaction}
	case sqlite3.SQLITE_IOERR_FSYNC, sqlite3.SQLITE_IOERR_DIR_FSYNC:
		return verdict{kind: fault.Internal, code: codeIO, scope: process}
	case sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY, sqlite3.SQLITE_CONSTRAINT_ROWID:
		return verdict{kind: fault.Conflict, code: codeExists}
	}
	switch code & 0xff {
	case sqlite3.SQLITE_FULL:
		return verdict{kind: fault.Unavailable, code: codeFull, scope: transaction}
	case sqlite3.SQLITE_IOERR:
		return verdict{kind: fault.Unavailable, code: codeIO, scope: transaction}
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_NOMEM,
		sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PROTOCOL:
		return verdict{kind: fault.Unavailable, code: codeBusy, scope: transaction}
	case sqlite3.SQLITE_TOOBIG:
		return verdict{kind: fault.TooLarge, code: codeTooBig}
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return verdict{kind: fault.Internal, code: codeDamaged, scope: transaction}
	}
	return verdict{kind: fault.Internal}
}

// wrap gives a driver error its kind. Other errors stay as they are.
func (d *dialect) wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	var known *fault.Error
	if errors.As(err, &known) {
		return err
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return unavailable(op, codeBusy, "the call ended before the database answered", err)
	}
	v, ok := d.judge(err)
	if !ok {
		return fault.Wrap(op, err)
	}
	switch {
	case v.kind == fault.Unavailable:
		return unavailable(op, v.code, messages[v.code], err)
	case v.code == codeDamaged:
		return &fault.Error{
			Kind: v.kind, Op: op, Code: v.code, Message: messages[v.code], Reason: fault.Damaged,
			Err: err,
		}
	case v.kind == fault.Internal:
		return fault.Wrap(op, err)
	}
	return &fault.Error{Kind: v.kind, Op: op, Code: v.code, Message: messages[v.code], Err: err}
}

var messages = map[string]string{
	codeFull:    "the disk is full; nothing was stored",
	codeBusy:    "the database is busy; try again",
	codeIO:      "the disk reported an error; nothing was done",
	codeExists:  "it exists already",
	codeDenied:  "the database does not let this server do its work; an operator must change that",
	codeTooBig:  "a value is larger than the database takes",
	codeDamaged: "what the database holds is damaged; it must be restored from a backup",

	codeDown: "the database cannot be reached; nothing was done; try again",
}

func unavailable(op, code, message string, cause error) error {
	return &fault.Error{
		Kind: fault.Unavailable, Op: op, Code: code, Message: message, RetryAfter: retryAfter,
		Err: cause,
	}
}

func (d *dialect) reach(err error) scope {
	v, _ := d.judge(err)
	return v.scope
}
