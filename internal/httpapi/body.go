package httpapi

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/rest"
	"renga.dev/renga/internal/workflow/flow"
)

// member is a top-level member that some command's body may have.
type member uint8

// The members, by name: a body that is put together in this order is in canonical
// order already. The last four stand in a POST /commands only.
const (
	mAttempt member = iota
	mBusinessKey
	mClaim
	mError
	mGraphID
	mGraphVersion
	mInput
	mLabels
	mMessage
	mMetrics
	mNext
	mOutput
	mProgress
	mPrompt
	mReason
	mRerunOf
	mResumeKey
	mStart
	mWaitKey
	mWorkerID
	mCommand
	mExecutionID
	mIdempotencyKey
	mNodeID

	memberEnd
)

var memberNames = [memberEnd]string{
	"attempt", "businessKey", "claim", "error", "graphId", "graphVersion", "input", "labels", "message", "metrics",
	"next", "output", "progress", "prompt", "reason", "rerunOf", "resumeKey", "start", "waitKey", "workerId", "command",
	"executionId", "idempotencyKey", "nodeId",
}

// members are the members by their names in quotes.
var members = func() map[string]member {
	all := map[string]member{}
	for m, name := range memberNames {
		all[strconv.Quote(name)] = member(m)
	}
	return all
}()

// memberSet is a set of members.
type memberSet uint32

func set(all ...member) memberSet {
	var s memberSet
	for _, m := range all {
		s |= 1 << m
	}
	return s
}

func (s memberSet) has(m member) bool { return s&(1<<m) != 0 }

// body holds the members of a command's body as they were sent, and the first
// rule that they break. It is read without reflection: hundreds of these come in
// one POST /commands.
type body struct {
	given memberSet
	raw   [memberEnd]jsontext.Value // slices of the request
	err   error
}

// unknown is a member that no rule allows.
func unknown(path string) error { return rest.Invalid(path, "%s is not a known field", path) }

// pathOf is a caller's member as a message names it.
func pathOf(names ...string) string {
	var p jsontext.Pointer
	for _, name := range names {
		p = p.AppendToken(name)
	}
	return canonical.FieldPath(p)
}

// reset forgets everything. What raw holds is not looked at unless it was given.
func (b *body) reset() { b.given, b.err = 0, nil }

func (b *body) fail(m member, rule string, args ...any) {
	if b.err == nil {
		b.err = rest.Invalid(memberNames[m], "%s %s", memberNames[m], fmt.Sprintf(rule, args...))
	}
}

// set notes one member. Name and value are JSON; the name is still in quotes.
func (b *body) set(name, value jsontext.Value, may memberSet) {
	m, known := lookup(name)
	switch {
	case !known || !may.has(m):
		if b.err == nil {
			b.err = unknown(pathOf(unquote(name)))
		}
	case b.given.has(m):
		b.fail(m, "is there twice")
	default:
		b.given |= 1 << m
		b.raw[m] = value
	}
}

// lookup finds a member by its name in quotes.
func lookup(name []byte) (member, bool) {
	if bytes.IndexByte(name, '\\') >= 0 {
		name = strconv.AppendQuote(nil, unquote(name))
	}
	m, known := members[string(name)]
	return m, known
}

// unquote is the text of a JSON string.
func unquote(quoted []byte) string {
	if n := len(quoted); bytes.IndexByte(quoted, '\\') < 0 && n >= 2 {
		return string(quoted[1 : n-1])
	}
	text, _ := jsontext.AppendUnquote(nil, quoted) // checked when it was read
	return string(text)
}

// require notes a member that must be there.
func (b *body) require(m member) {
	if !b.given.has(m) {
		b.fail(m, "is required")
	}
}

// text is a string of low..high code points, "" when it is not there.
func (b *body) text(m member, low, high int) string {
	if !b.given.has(m) {
		return ""
	}
	if b.raw[m].Kind() != '"' {
		b.fail(m, "must be a string")
		return ""
	}
	s := unquote(b.raw[m])
	if n := utf8.RuneCountInString(s); n < low || n > high {
		b.fail(m, "must have %s", count(low, high, "characters"))
	}
	return s
}

// count words a range of sizes.
func count(low, high int, what string) string {
	if low == 0 {
		return fmt.Sprintf("at most %d %s", high, what)
	}
	return fmt.Sprintf("%d to %d %s", low, high, what)
}

// integer is a whole number of low..high, 0 when it is not there.
func (b *body) integer(m member, low, high int) int {
	if !b.given.has(m) {
		return 0
	}
	n, whole := canonical.ParseInt(b.raw[m])
	if !whole || n < int64(low) || n > int64(high) {
		b.fail(m, "must be a whole number between %d and %d", low, high)
	}
	return int(n)
}

// number is a number of low..high, nil when it is not there.
func (b *body) number(m member, low, high float64) *float64 {
	if !b.given.has(m) {
		return nil
	}
	if b.raw[m].Kind() != '0' {
		b.fail(m, "must be a number")
		return nil
	}
	f, err := strconv.ParseFloat(string(b.raw[m]), 64)
	if err != nil || f < low || f > high {
		b.fail(m, "must be between %v and %v", low, high)
	}
	return &f
}

// flag is a boolean, false when it is not there.
func (b *body) flag(m member) bool {
	if !b.given.has(m) {
		return false
	}
	k := b.raw[m].Kind()
	if k != 't' && k != 'f' {
		b.fail(m, "must be true or false")
	}
	return k == 't'
}

// object is a JSON object, nil when it is not there. It is still a part of the
// request; flow keeps a copy of what it accepts.
func (b *body) object(m member) flow.Data {
	if !b.given.has(m) {
		return nil
	}
	if b.raw[m].Kind() != '{' {
		b.fail(m, "must be an object")
		return nil
	}
	return b.raw[m]
}

// id is the id of an execution, zero when it is not there.
func (b *body) id(m member) flow.ID {
	id, err := flow.ParseID(b.text(m, 0, MaxBody))
	if err != nil && b.given.has(m) {
		b.fail(m, "must be the UUID of an execution")
	}
	return id
}

func (b *body) attempt() int   { return b.integer(mAttempt, 1, maxAttempt) }
func (b *body) worker() string { return b.text(mWorkerID, 1, maxWorker) }
