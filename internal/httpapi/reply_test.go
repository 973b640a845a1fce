package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// reply is an answer of the server.
type reply struct {
	t      testing.TB
	asked  string
	status int
	header http.Header
	body   []byte
}

// is demands a status.
func (r reply) is(status int) reply {
	r.t.Helper()
	if r.status != status {
		r.t.Fatalf("%s: got status %d, want %d: %s", r.asked, r.status, status, r.body)
	}
	return r
}

// refusedBy demands a guard's refusal.
func (r reply) refusedBy(guard string) reply {
	r.t.Helper()
	r.is(http.StatusConflict)
	r.has("error.code", "COMMAND_REJECTED")
	want := "true" // the key remembers the refusal, so what it advises needs a new one
	if r.text("error.details.retryAdvice") == "do_not_retry" {
		want = "<none>"
	}
	r.has("error.details.newKey", want)
	return r.has("error.details.guard", guard)
}

// invalid demands a 422 whose message has these words.
func (r reply) invalid(words ...string) reply {
	r.t.Helper()
	r.is(http.StatusUnprocessableEntity)
	for _, word := range words {
		if message := r.text("error.message"); !strings.Contains(message, word) {
			r.t.Errorf("%s: the message %q does not have %q", r.asked, message, word)
		}
	}
	return r
}

// has demands a value at a path such as nodes.2.status; numbers and booleans are
// compared in their JSON spelling, <none> means that there is nothing.
func (r reply) has(path, want string) reply {
	r.t.Helper()
	if got := r.text(path); got != want {
		r.t.Errorf("%s: %s is %s, want %s: %s", r.asked, path, got, want, r.body)
	}
	return r
}

// text is the value at a path.
func (r reply) text(path string) string {
	r.t.Helper()
	var value any
	decoder := json.NewDecoder(strings.NewReader(string(r.body)))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		r.t.Fatalf("%s: not JSON: %v: %s", r.asked, err, r.body)
	}
	return show(pick(value, path))
}

// none is what pick finds where there is nothing.
type none struct{}

func pick(value any, path string) any {
	if path == "" {
		return value
	}
	for step := range strings.SplitSeq(path, ".") {
		switch node := value.(type) {
		case map[string]any:
			next, ok := node[step]
			if !ok {
				return none{}
			}
			value = next
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(node) {
				return none{}
			}
			value = node[i]
		default:
			return none{}
		}
	}
	return value
}

func show(value any) string {
	switch value := value.(type) {
	case none:
		return "<none>"
	case string:
		return value
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(raw)
}
