package inbound

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/expr"
	"renga.dev/renga/internal/workflow/flow"
)

// The maxima of a trigger.
const (
	MaxTriggers   = 1000 // of a tenant
	MaxInputs     = 100  // members of the input that a trigger makes
	MaxTriggerKey = 255  // characters of the key of its events
	MinSecret     = 16   // characters of its secret
	MaxSecret     = 255
)

// Once is how often an event with one key may start an execution.
type Once string

// The policies.
const (
	OnceByKey    Once = "key"   // once, as long as its receipt is retained
	OncePerDay   Once = "day"   // once a day, in UTC
	OncePerMonth Once = "month" // once a month, in UTC
)

// Trigger is how the events of another system start executions of a graph, as its author wrote it, with defaults.
// Expressions see the event: body and headers.
type Trigger struct {
	Graph string            `json:"graph"`
	When  string            `json:"when,omitempty"`  // "": every event
	Input map[string]string `json:"input,omitempty"` // expressions by member; none: the body
	Key   string            `json:"key,omitempty"`   // "": the key that a header names
	Once  Once              `json:"once"`
}

// Secret is what a definition says about the secret that senders show.
type Secret struct {
	Given bool   // else the secret stays as it is
	Text  string // "": none any more
}

// ParseTrigger reads a trigger strictly and compiles its expressions. The error is fault.Invalid, and its details name
// the member.
func ParseTrigger(body []byte) (t Trigger, s Secret, err error) {
	doc := struct {
		Trigger
		Secret jsontext.Value `json:"secret"`
	}{Trigger: Trigger{Once: OnceByKey}}
	if err := canonical.Decode(body, &doc); err != nil {
		return t, s, err
	}
	if s, err = parseSecret(doc.Secret); err != nil {
		return t, s, err
	}
	return doc.Trigger, s, doc.check()
}

func parseSecret(raw jsontext.Value) (s Secret, err error) {
	switch {
	case raw == nil:
		return s, nil
	case raw.Kind() == jsontext.KindNull:
		return Secret{Given: true}, nil
	case json.Unmarshal(raw, &s.Text) != nil || !canonical.Printable(s.Text, MaxSecret) || len(s.Text) < MinSecret ||
		s.Text[0] == ' ' || s.Text[len(s.Text)-1] == ' ':
		return Secret{}, badMember("secret", "secret must be %d to %d printable ASCII characters without a space at "+
			"either end; null takes it away", MinSecret, MaxSecret)
	}
	s.Given = true
	return s, nil
}

func (t *Trigger) check() error {
	switch {
	case t.Graph == "":
		return badMember("graph", "graph is missing: the id of the graph that is started")
	case !canonical.Name(t.Graph):
		return badMember("graph", "graph must be the id of a graph: 1 to %d of A-Z a-z 0-9 . _ -", canonical.MaxName)
	case t.Once != OnceByKey && t.Once != OncePerDay && t.Once != OncePerMonth:
		return badMember("once", "once must be %s, %s or %s", OnceByKey, OncePerDay, OncePerMonth)
	case len(t.Input) > MaxInputs:
		return badMember("input", "input has %d members and may have %d", len(t.Input), MaxInputs)
	}
	if t.When != "" {
		if _, err := expr.EventWhen(t.When); err != nil {
			return badMember("when", "when: %s"+msgSees, messageOf(err))
		}
	}
	if t.Key != "" {
		if _, err := expr.EventValue(t.Key); err != nil {
			return badMember("key", "key: %s"+msgSees, messageOf(err))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.Input)) {
		if !canonical.OneLine(name, 1, canonical.MaxName) {
			return badMember("input", "the names of the members of input are 1 to %d characters on one line",
				canonical.MaxName)
		}
		if _, err := expr.EventValue(t.Input[name]); err != nil {
			return badMember("input."+name, "input.%s: %s"+msgSees, name, messageOf(err))
		}
	}
	return nil
}

const msgSees = " (an expression sees the event as body and headers)"

// Event is what a sender posts to a trigger.
type Event struct {
	Trigger string
	Body    []byte
	Headers map[string]string // by name in lower case, without credentials
	Key     string            // that a header names; "": none
	Stray   string            // a header with a key that nobody reads; "": none
}

// order is what a trigger makes of an event.
type order struct {
	key    string
	period string    // for which the key counts; "": by itself
	input  flow.Data // nil: the condition of the trigger does not hold
}

// keyed reports whether there is something to remember.
func (o *order) keyed() bool { return o.key != "" || o.period != "" }

// read decides what an event asks for, at an instant. It is pure. Refusals are fault.Invalid, and name the member.
func (t *Trigger) read(e *Event, now canonical.Stamp) (o order, err error) {
	if err := canonical.Check(e.Body); err != nil {
		return o, badEvent("%s", messageOf(err))
	}
	if jsontext.Value(e.Body).Kind() != jsontext.KindBeginObject {
		return o, badEvent("the body must be a JSON object")
	}
	headers := make(map[string]any, len(e.Headers))
	for name, value := range e.Headers {
		headers[name] = value
	}
	vars := map[string]any{"body": flow.Values(e.Body), "headers": headers}
	budget := expr.NewBudget(flow.MaxSteps)
	wanted, err := t.wants(&budget, vars)
	if err != nil || !wanted {
		return o, err
	}
	if o.key, err = t.keyOf(&budget, e, vars); err != nil {
		return o, err
	}
	switch t.Once {
	case OncePerDay:
		o.period = dayOf(now)
	case OncePerMonth:
		o.period = monthOf(now)
	}
	o.input, err = t.inputOf(&budget, e, vars)
	return o, err
}

// wants evaluates the condition. A member that the event does not have makes it false.
func (t *Trigger) wants(budget *expr.Budget, vars map[string]any) (bool, error) {
	if t.When == "" {
		return true, nil
	}
	p, err := expr.EventWhen(t.When)
	if err != nil {
		return false, fault.Wrap("inbound.when", err)
	}
	holds, err := budget.Eval(p, vars)
	if err != nil {
		return false, badEvent("when: %v", err)
	}
	return holds, nil
}

// keyOf is the key of an event.
func (t *Trigger) keyOf(budget *expr.Budget, e *Event, vars map[string]any) (string, error) {
	if t.Key == "" {
		if e.Key == "" && e.Stray != "" {
			return "", badEvent("the header %.64s is unknown; send the key of the event in the header "+
				"X-Idempotency-Key, or give the trigger the key headers[%.64q]", e.Stray, strings.ToLower(e.Stray))
		}
		return e.Key, nil
	}
	p, err := expr.EventValue(t.Key)
	if err != nil {
		return "", fault.Wrap("inbound.key", err)
	}
	raw, err := budget.Value(p, vars)
	if err != nil {
		return "", badEvent("the key of the event: %v", err)
	}
	var text string
	if n, ok := canonical.ParseInt(raw); ok {
		text = strconv.FormatInt(n, 10)
	} else if json.Unmarshal(raw, &text) != nil {
		text = ""
	}
	if !canonical.OneLine(text, 1, MaxTriggerKey) {
		return "", badEvent("the key of the event must be a text of 1 to %d characters on one line, or a whole number",
			MaxTriggerKey)
	}
	return text, nil
}

// inputOf is the input of the execution.
func (t *Trigger) inputOf(budget *expr.Budget, e *Event, vars map[string]any) (flow.Data, error) {
	if t.Input == nil {
		return flow.Data(e.Body), nil
	}
	members := make(map[string]jsontext.Value, len(t.Input))
	for _, name := range slices.Sorted(maps.Keys(t.Input)) {
		p, err := expr.EventValue(t.Input[name])
		if err != nil {
			return nil, fault.Wrap("inbound.input", err)
		}
		raw, err := budget.Value(p, vars)
		if err != nil {
			return nil, badEvent("input.%s: %v", name, err)
		}
		members[name] = raw
	}
	return json.Marshal(members, json.Deterministic(true))
}

// digest is how a secret is stored.
func (s Secret) digest() string {
	if s.Text == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(s.Text))
	return hex.EncodeToString(sum[:])
}

// shows reports whether a text is the secret with a digest, in the same time for every text.
func shows(text, digest string) bool {
	return subtle.ConstantTimeCompare([]byte(Secret{Text: text}.digest()), []byte(digest)) == 1 && digest != ""
}

func badMember(field, format string, args ...any) *fault.Error {
	return unfit(format, args...).With(map[string]string{"field": field})
}

// badEvent is about an event that its trigger cannot take.
func badEvent(format string, args ...any) *fault.Error {
	return fault.New(fault.Invalid, canonical.CodeInvalid, format, args...).Because(refusedEvent)
}

// refusedEvent is the reason of an event that its trigger cannot take.
var refusedEvent = fault.Reason{
	Class: fault.ReasonValidation, Code: fault.HTTPCode(422), Advice: fault.RetryAfterFix,
}
