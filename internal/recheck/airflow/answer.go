package airflow

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// outcome is what became of a call; it is a label of the metric of calls.
type outcome string

const (
	ok           outcome = "ok"
	conflict     outcome = "conflict"     // 409: it is there already
	notFound     outcome = "not_found"    // 404
	refused      outcome = "refused"      // another 4xx
	unauthorized outcome = "unauthorized" // 401
	failed       outcome = "error"        // 5xx
	badAnswer    outcome = "bad_answer"   // a redirect, no JSON, or not that of the contract
	tooLarge     outcome = "too_large"    // more than MaxAnswer
	unreadable   outcome = "unreadable"   // a result that says it is JSON and is not
	timedOut     outcome = "timeout"
	unreachable  outcome = "unreachable"
	abandoned    outcome = "abandoned" // the caller went away
)

// health is what an outcome says of Airflow, as the circuit takes it: nil when it is alive.
func (o outcome) health() error {
	switch o {
	case ok, conflict, notFound, refused, tooLarge, unreadable:
		return nil
	case abandoned:
		return errAbandoned
	}
	return errDead
}

// callError is a call that did not lead to what was asked for. Its text may be logged
// and shown: it has Airflow's own words in part, and never a credential.
type callError struct {
	endpoint string
	outcome  outcome
	status   int
	detail   string
	err      error // of the network
}

func (e *callError) Error() string {
	s := "Airflow: " + e.endpoint + ": "
	switch e.outcome {
	case unauthorized:
		s += "the credentials are refused"
	case timedOut:
		s += "no answer in time"
	case unreachable:
		s += "cannot be reached"
	case tooLarge:
		s += fmt.Sprintf("the answer is larger than %d bytes", MaxAnswer)
	case badAnswer, unreadable:
		s += "the answer makes no sense"
	default:
		s += strings.ReplaceAll(string(e.outcome), "_", " ")
	}
	if e.status != 0 {
		s += fmt.Sprintf(" (status %d)", e.status)
	}
	if e.detail != "" {
		s += ": " + e.detail
	}
	if e.err != nil {
		s += ": " + e.err.Error()
	}
	return s
}

func (e *callError) Unwrap() error { return e.err }

// outcomeOf is the outcome in an error; one of another kind was no call at all.
func outcomeOf(err error) outcome {
	if err == nil {
		return ok
	}
	if e, is := errors.AsType[*callError](err); is {
		return e.outcome
	}
	return abandoned
}

// statusOf is the status that Airflow answered in an error; 0: none.
func statusOf(err error) int {
	if e, is := errors.AsType[*callError](err); is {
		return e.status
	}
	return 0
}

// broken is an error of the network.
func broken(ctx context.Context, endpoint string, err error) *callError {
	e := &callError{endpoint: endpoint, outcome: unreachable, err: err}
	var slow interface{ Timeout() bool }
	switch {
	case ctx.Err() != nil: // the caller's, not that of the call
		e.outcome = abandoned
	case errors.Is(err, context.DeadlineExceeded) || errors.As(err, &slow) && slow.Timeout():
		e.outcome, e.err = timedOut, nil
	}
	return e
}

// refusal is an answer with a status that is no success.
func refusal(endpoint string, status int, body []byte) *callError {
	e := &callError{endpoint: endpoint, status: status}
	switch {
	case status == http.StatusUnauthorized, endpoint == endToken && status >= 400 && status < 500: // there is no way in
		e.outcome = unauthorized
	case (status == http.StatusNotFound || status == http.StatusConflict) &&
		jsontext.Value(body).Kind() != jsontext.KindBeginObject:
		e.outcome, e.detail = badAnswer, "it is not Airflow's" // a proxy says so while Airflow is away
	case status == http.StatusNotFound:
		e.outcome = notFound
	case status == http.StatusConflict:
		e.outcome = conflict
	case status >= 500:
		e.outcome = failed
	case status >= 400:
		e.outcome, e.detail = refused, detailOf(body)
	default:
		e.outcome = badAnswer
	}
	return e
}

// maxDetail is how many bytes of Airflow's own words are passed on.
const maxDetail = 500

// detailOf is what Airflow says of a refusal: "detail" of its JSON, a text or, for
// bodies that break its rules, a list.
func detailOf(body []byte) string {
	var refusal struct {
		Detail any `json:"detail"`
	}
	if json.Unmarshal(body, &refusal) != nil || refusal.Detail == nil {
		return ""
	}
	if text, is := refusal.Detail.(string); is {
		return cut(text)
	}
	var rules []string
	list, _ := refusal.Detail.([]any)
	for _, entry := range list { // what was sent stands in them too, and is left out
		if rule, is := entry.(map[string]any); is {
			rules = append(rules, fmt.Sprint(rule["loc"], " ", rule["msg"]))
		}
	}
	return cut(strings.Join(rules, "; "))
}

// cut makes one bounded line of a text.
func cut(text string) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), " ")
	if len(text) <= maxDetail {
		return text
	}
	end := maxDetail
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}
