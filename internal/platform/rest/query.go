package rest

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/workflow/flow"
)

// Query is the query parameters of a call. What is unknown, given twice or out of range is
// refused, not clamped.
type Query struct {
	Err    error // the first rule that they break
	values url.Values
}

// ReadQuery reads the parameters that a call may have. One with a star at its end may be given several times.
func ReadQuery(c *gate.Call, may ...string) *Query {
	q := &Query{values: c.Query()}
	for _, name := range slices.Sorted(maps.Keys(q.values)) {
		switch {
		case slices.Contains(may, name+"*"):
		case !slices.Contains(may, name):
			path := canonical.FieldPath(jsontext.Pointer("").AppendToken(name))
			q.Fail(path, "%s is not a known query parameter", path)
		case len(q.values[name]) > 1:
			q.Fail(name, "%s is there twice", name)
		}
	}
	return q
}

// Fail notes that a parameter breaks a rule.
func (q *Query) Fail(field, format string, args ...any) {
	if q.Err == nil {
		q.Err = Invalid(field, format, args...)
	}
}

// Text is a parameter and whether it was given.
func (q *Query) Text(name string) (string, bool) {
	v, given := q.values[name]
	if !given {
		return "", false
	}
	return v[0], true
}

// Texts is a parameter that may be given several times.
func (q *Query) Texts(name string) []string { return q.values[name] }

// Without is the query as text, without some parameters: what the cursor of a list is good for.
func (q *Query) Without(names ...string) string {
	rest := maps.Clone(q.values)
	for _, name := range names {
		delete(rest, name)
	}
	return rest.Encode()
}

// Int is a whole number of low..high, or what it is when it is not given.
func (q *Query) Int(name string, low, high, otherwise int) int {
	s, given := q.Text(name)
	if !given {
		return otherwise
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < low || n > high || strings.HasPrefix(s, "+") {
		q.Fail(name, "%s must be a whole number between %d and %d", name, low, high)
	}
	return n
}

// Bool is true or false, nil when it is not given.
func (q *Query) Bool(name string) *bool {
	s, given := q.Text(name)
	if !given {
		return nil
	}
	yes := s == "true"
	if !yes && s != "false" {
		q.Fail(name, "%s must be true or false", name)
	}
	return &yes
}

// ID is an id, "" when it is not given.
func (q *Query) ID(name string) string {
	id, given := q.Text(name)
	if given && !validID(id) {
		q.Fail(name, "%s must be a UUID in lower case", name)
	}
	return id
}

// Instant is an RFC 3339 time with any offset, 0 when it is not given. A plus sign that was
// not escaped arrives as a space.
func (q *Query) Instant(name string) flow.Time {
	s, given := q.Text(name)
	if !given {
		return 0
	}
	var t flow.Time
	if err := t.UnmarshalText([]byte(strings.ReplaceAll(s, " ", "+"))); err != nil || s == "" {
		q.Fail(name, "%s must be an RFC 3339 time, such as 2026-01-05T09:00:00Z", name)
	}
	return max(t, 1) // 0 means none
}

// Month is a month as YYYY-MM, "" when it is not given.
func (q *Query) Month(name string) string {
	s, given := q.Text(name)
	if !given {
		return ""
	}
	if _, err := time.Parse("2006-01", s); err != nil || len(s) != len("2006-01") || strings.HasPrefix(s, "0000") {
		q.Fail(name, "%s must be a month as YYYY-MM, such as 2026-01", name)
	}
	return s
}

// Words is a list of words out of some, separated by commas; nil when it is not given.
func (q *Query) Words(name string, some ...string) (list []string) {
	s, given := q.Text(name)
	if !given {
		return nil
	}
	for word := range strings.SplitSeq(s, ",") {
		if !slices.Contains(some, word) {
			q.Fail(name, "%s must be a list of %s, separated by commas", name, strings.Join(some, ", "))
			return nil
		}
		if !slices.Contains(list, word) {
			list = append(list, word)
		}
	}
	return list
}
