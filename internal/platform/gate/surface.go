package gate

import (
	"cmp"
	"net/http"
	"regexp"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/api"
	"renga.dev/renga/internal/platform/fault"
)

// Surface is what differs between the APIs on purpose: how an error looks and
// what headers are called. It is data; a new surface is a new value.
type Surface struct {
	Name      string
	Prefixes  []string              // paths whose unknown members are refused in this shape
	KeyHeader string                // KeyHeader or XKeyHeader, as its document says; "": its handlers read keys
	KeyForm   *KeyForm              // what keys must be, beside printable; nil: anything
	Audiences []string              // `aud` of tokens, any of them; nil: the gate's default
	Invalid   int                   // status of fault.Invalid
	Codes     map[fault.Kind]string // error codes in place of the default ones
	Statuses  map[string]int        // by error code, in place of the kind's status
	// the only error codes that are shown; in place of another stands that of its kind. nil: all are
	Catalogue []string
	Reasons   bool   // refusals carry the headers of SetReason
	Metrics   string // what the metrics that its document names begin with; "": it names none
	// every request of a known caller has a line in the log, with the keys of its document
	Lines  bool
	Render func(p Problem) []byte // the body of an error
}

// Core is the surface of executions and of all that use its error shape.
var Core = &Surface{
	Name:      "core",
	KeyHeader: XKeyHeader,
	Invalid:   422,
	Statuses:  map[string]int{"VERSION_MISMATCH": 412},
	Render:    renderCore,
}

// CRM is the surface of records and the services around them: that of Core, with keys in
// the header that the re-check API has, too.
var CRM = &Surface{
	Name:      "crm",
	Prefixes:  api.Prefixes("crm"),
	KeyHeader: KeyHeader,
	Invalid:   Core.Invalid,
	Statuses:  Core.Statuses,
	Render:    renderCore,
}

// Workflow is the surface of workflow events and templates. Their senders are
// foreign: an error is its message, and what to do about it stands in headers.
var Workflow = &Surface{
	Name:     "workflow",
	Prefixes: api.Prefixes("workflow"),
	Invalid:  400,
	Reasons:  true,
	Render:   renderDetail,
}

// Recheck is the surface of strategies and their checks. Its codes are a catalogue that
// callers know; what lies behind one stands in the message.
var Recheck = &Surface{
	Name:      "recheck",
	Prefixes:  api.Prefixes("recheck"),
	KeyHeader: KeyHeader,
	KeyForm:   &KeyForm{"a ULID or a UUID", ulidOrUUID},
	Audiences: []string{AudienceRecheck},
	Invalid:   400,
	Codes:     map[fault.Kind]string{fault.Invalid: "BAD_REQUEST", fault.Conflict: "IDEMPOTENCY_CONFLICT"},
	Statuses:  map[string]int{"AIRFLOW_DOWN": 502},
	Catalogue: []string{
		"BAD_REQUEST", "UNAUTHORIZED", "FORBIDDEN", "NOT_FOUND", "METHOD_NOT_ALLOWED", "IDEMPOTENCY_CONFLICT",
		"PAYLOAD_TOO_LARGE", "UNSUPPORTED_MEDIA_TYPE", "RATE_LIMITED", "INTERNAL_ERROR", "UNAVAILABLE", "AIRFLOW_DOWN",
	},
	Metrics: "pdca.api",
	Lines:   true,
	Render:  renderFlat,
}

var surfaces = map[string]*Surface{"core": Core, "crm": CRM, "workflow": Workflow, "recheck": Recheck}

// FromContract fills in what the contract says of the operation that a route names.
func FromContract(routes []Route) []Route {
	operations := api.Operations()
	for i := range routes {
		r := &routes[i]
		at := slices.IndexFunc(operations, func(op api.Operation) bool { return op.ID == r.Operation })
		if at < 0 {
			continue // New refuses it
		}
		op := &operations[at]
		r.Operation, r.Pattern, r.Scope, r.Rate = op.ID, op.Method+" "+op.Path, op.Scope, op.Rate
		r.Surface = surfaces[op.Surface]
		switch {
		case r.Surface.KeyHeader == "": // its handlers read keys themselves
		case op.KeyRequired:
			r.Once = Required
		case op.KeyHeader != "":
			r.Once = Optional
		}
	}
	return routes
}

// KeyForm is what the idempotency keys of a surface must be.
type KeyForm struct {
	Words   string // "a ULID or a UUID"
	Pattern *regexp.Regexp
}

var ulidOrUUID = regexp.MustCompile(
	`^([0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}|[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12})$`,
)

// The audiences of tokens for Recheck: the first for what changes something, the
// second for the pages of /gui.
const (
	AudienceRecheck = "pdca"
	AudienceGUI     = "pdca.gui"
)

// Problem is a failure as a surface shows it. Nothing in it names a cause.
type Problem struct {
	Kind       fault.Kind
	Status     int
	Code       string
	Message    string
	Details    any // marshals to a JSON object; nil: none
	Reason     fault.Reason
	RetryAfter time.Duration // with 429 and 503
}

// codes are the error codes of failures that bring none.
var codes = map[fault.Kind]string{
	fault.Internal:         "INTERNAL_ERROR",
	fault.Invalid:          "INVALID_INPUT",
	fault.Unauthorized:     "UNAUTHORIZED",
	fault.Forbidden:        "FORBIDDEN",
	fault.NotFound:         "NOT_FOUND",
	fault.MethodNotAllowed: "METHOD_NOT_ALLOWED",
	fault.Conflict:         "CONFLICT",
	fault.TooLarge:         "PAYLOAD_TOO_LARGE",
	fault.Unsupported:      "UNSUPPORTED_MEDIA_TYPE",
	fault.RateLimited:      "RATE_LIMITED",
	fault.Unavailable:      "UNAVAILABLE",
}

// minRetryAfter is sent when a temporary failure names no time itself.
const minRetryAfter = time.Second

// Problem is an error as this surface shows it. What has no kind is internal and
// shows nothing but that.
func (s *Surface) Problem(err error) Problem {
	p := Problem{Kind: fault.KindOf(err)}
	failure, _ := fault.As(err)
	if p.Kind == fault.Internal || failure == nil {
		hidden := &fault.Error{Message: "internal error"}
		if failure != nil && failure.Reason == fault.Damaged {
			hidden.Reason = failure.Reason // sending it again cannot help
		}
		p.Kind, failure = fault.Internal, hidden
	}
	p.Message, p.Details, p.RetryAfter = failure.Message, failure.Details, failure.RetryAfter
	if p.Message == "" {
		p.Message = p.Kind.String()
	}
	p.Code = failure.Code
	if p.Code == "" || s.Catalogue != nil && !slices.Contains(s.Catalogue, p.Code) {
		p.Code = cmp.Or(s.Codes[p.Kind], codes[p.Kind])
	}
	p.Status = s.status(p.Kind, p.Code)
	if p.Reason = failure.Reason; p.Reason == (fault.Reason{}) {
		p.Reason = p.Kind.Reason(p.Status)
	}
	if p.Status == 429 || p.Status == 503 {
		p.RetryAfter = max(p.RetryAfter, minRetryAfter)
	}
	return p
}

func (s *Surface) status(kind fault.Kind, code string) int {
	if status := s.Statuses[code]; status != 0 {
		return status
	}
	if kind == fault.Invalid {
		return s.Invalid
	}
	return kind.Status()
}

// SetReason puts a reason into the headers of an answer; a word that it does not
// have gets none.
func SetReason(h http.Header, r fault.Reason) {
	for name, word := range map[string]string{
		"X-Reason-Class": string(r.Class), "X-Reason-Code": string(r.Code), "X-Retry-Advice": string(r.Advice),
	} {
		if word != "" {
			h[name] = []string{word}
		}
	}
}

// renderCore is {"error":{"code","message","details":{…}}}.
func renderCore(p Problem) []byte {
	type inner struct {
		Code    string         `json:"code"`
		Message string         `json:"message"`
		Details jsontext.Value `json:"details"`
	}
	return errorBody(map[string]inner{"error": {p.Code, p.Message, details(p)}})
}

func errorBody(of any) []byte {
	body, err := json.Marshal(of, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		panic("gate: an error body cannot be written: " + err.Error())
	}
	return body
}

// renderDetail is {"detail":"<message>"}.
func renderDetail(p Problem) []byte { return errorBody(map[string]string{"detail": p.Message}) }

// renderFlat is {"error":"<code>","message":"<message>"}, with 429 also "retry_after".
func renderFlat(p Problem) []byte {
	flat := struct {
		Error      string `json:"error"`
		Message    string `json:"message"`
		RetryAfter int64  `json:"retry_after,omitzero"`
	}{Error: p.Code, Message: p.Message}
	if p.Status == http.StatusTooManyRequests {
		flat.RetryAfter = int64((p.RetryAfter + time.Second - 1) / time.Second)
	}
	return errorBody(flat)
}

// details is the object of a problem's details with reason class and retry advice
// added, unless it has its own.
func details(p Problem) jsontext.Value {
	members := map[string]jsontext.Value{}
	if p.Details != nil {
		raw, err := json.Marshal(p.Details, jsontext.AllowInvalidUTF8(true))
		if err != nil || json.Unmarshal(raw, &members) != nil {
			members = map[string]jsontext.Value{}
		}
	}
	for name, word := range map[string]string{
		"reasonClass": string(p.Reason.Class),
		"retryAdvice": string(p.Reason.Advice),
	} {
		if _, own := members[name]; !own {
			members[name] = jsontext.Value(`"` + word + `"`)
		}
	}
	raw, err := json.Marshal(members, json.Deterministic(true))
	if err != nil {
		return jsontext.Value("{}")
	}
	return raw
}
