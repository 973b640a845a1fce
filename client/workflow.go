package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// WorkflowEvents sends events of other systems and sums up what they started.
type WorkflowEvents struct{ *transport }

// Templates stores and reads templates, which workflow events start.
type Templates struct{ *transport }

// MaxEventKey is the most characters that the key of a workflow event may have.
const MaxEventKey = 128

// WorkflowEvent is an event of another system that starts a run of a template. What
// is zero is not sent: the template's own values count then.
type WorkflowEvent struct {
	TemplateID string `json:"template_id,omitempty"`
	EventName  string `json:"event_name,omitempty"` // the first action of the template, where TemplateID is not given
	Source     string `json:"source,omitempty"`
	Year       int    `json:"year,omitempty"`
	Month      int    `json:"month,omitempty"`
	MFCloudURL string `json:"mfcloud_url,omitempty"`
	Notes      string `json:"notes,omitempty"`

	// Key makes it safe to send the event again: 1 to 128 of A-Z a-z 0-9 . _ : @ -.
	// Default: a new one, so that a repetition of this client has one effect.
	Key string `json:"-"`
	// Raw, a JSON object, is sent in place of the members above. A key in it goes before Key.
	Raw json.RawMessage `json:"-"`
}

// WorkflowAnswer is the answer to an event that has a run.
type WorkflowAnswer struct {
	// Key had started the run before, maybe in a try of this call that got no answer
	Duplicate    bool   `json:"duplicate"`
	Triggered    bool   `json:"triggered"` // this event started it
	TemplateID   string `json:"template_id"`
	TemplateName string `json:"template_name"`
	ActionKey    string `json:"action_key"`
	Key          string `json:"idempotency_key"`
	RunID        string `json:"run_id"` // an execution id
}

// Send delivers an event. However often it is sent under one key, one run
// starts, and every answer names it. One that is refused is an *Error, whose
// RetryAdvice says whether sending it again can help.
func (c WorkflowEvents) Send(ctx context.Context, e WorkflowEvent) (WorkflowAnswer, error) {
	body, err := e.body()
	if err != nil {
		return WorkflowAnswer{}, err
	}
	if e.Key == "" {
		e.Key = newKey()
	}
	var a WorkflowAnswer
	err = c.exchange(ctx, call{
		method: http.MethodPost, path: "/api/workflow-events", key: e.Key, body: body,
		event: true,
	}, &a)
	return a, err
}

// body is what is sent. A key that the server would not count is refused: without one
// a repetition would start a second run.
func (e *WorkflowEvent) body() ([]byte, error) {
	keys := []string{e.Key}
	if e.Raw != nil {
		keys = append(keysOf(e.Raw), e.Key)
	}
	for _, key := range keys {
		if key == "" {
			continue
		}
		if !eventKey(key) {
			return nil, &Error{Message: "the key of an event must be 1 to 128 of A-Z a-z 0-9 . _ : @ -"}
		}
		break
	}
	if e.Raw != nil {
		return e.Raw, nil
	}
	return json.Marshal(e)
}

// keysOf are the keys in a body, in the order in which they count. What is no text is
// the server's to refuse.
func keysOf(raw []byte) []string {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return nil
	}
	var keys []string
	for _, name := range []string{"idempotency_key", "idempotencyKey", "event_id", "eventId"} {
		var key string
		if json.Unmarshal(members[name], &key) == nil {
			keys = append(keys, key)
		}
	}
	return keys
}

func eventKey(key string) bool {
	return len(key) <= MaxEventKey && !strings.ContainsFunc(key, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' ||
			strings.ContainsRune("._:@-", r))
	})
}

// WorkflowSummary is what became of the events of a month.
type WorkflowSummary struct {
	Month         string           `json:"ym"`
	Total         int              `json:"total"`
	ByStatus      map[string]int   `json:"by_status"` // success, skipped, rejected, failed, unknown
	ByReasonClass map[string]int   `json:"by_reason_class"`
	ByReasonCode  map[string]int   `json:"by_reason_code"`
	ByRetryAdvice map[string]int   `json:"by_retry_advice"`
	Duplicate     map[string]int   `json:"duplicate"` // true, false, unknown
	Recent        []DeliveredEvent `json:"recent"`    // newest first
	Retention     struct {
		TTLDays     int `json:"ttl_days"`
		MaxReceipts int `json:"max_receipts"`
	} `json:"receipt_retention"`
}

// DeliveredEvent is one delivery in a summary. What it does not have is "".
type DeliveredEvent struct {
	At           time.Time `json:"at"`
	Status       string    `json:"status"`
	Action       string    `json:"action"`
	RunID        string    `json:"run_id"`
	TemplateID   string    `json:"template_id"`
	TemplateName string    `json:"template_name"`
	EventName    string    `json:"event_name"`
	Source       string    `json:"source"`
	Key          string    `json:"idempotency_key"`
	Reason       string    `json:"reason"`
	ReasonClass  string    `json:"reason_class"`
	ReasonCode   string    `json:"reason_code"`
	RetryAdvice  string    `json:"retry_advice"`
	Duplicate    bool      `json:"duplicate"`
}

// Summary reads what became of the events of a month ("2026-01", in UTC), with
// so many of the newest, 1 to 200; 0 is 20.
func (c WorkflowEvents) Summary(ctx context.Context, month string, recent int) (*WorkflowSummary, error) {
	query := url.Values{"ym": {month}}
	if recent != 0 {
		query.Set("recent_limit", strconv.Itoa(recent))
	}
	s := new(WorkflowSummary)
	if err := c.exchange(ctx, call{
		method: http.MethodGet, path: "/api/workflow-events/summary", query: query,
		event: true,
	}, s); err != nil {
		return nil, err
	}
	return s, nil
}

// Template is what a workflow event starts.
type Template struct {
	Name       string         `json:"name"`
	Year       int            `json:"year,omitempty"`
	Month      int            `json:"month,omitempty"`
	MFCloudURL string         `json:"mfcloud_url,omitempty"`
	Notes      string         `json:"notes,omitempty"`
	Steps      []TemplateStep `json:"steps"`
}

// TemplateStep is one step of a template: a Task in the queue of its action.
type TemplateStep struct {
	Action      string `json:"action"`
	TriggerKind string `json:"trigger_kind"` // external_event (the first only), after_previous or manual
	Title       string `json:"title,omitempty"`
	Timeout     string `json:"timeout,omitempty"`
	Retry       *Retry `json:"retry,omitempty"`
}

// StoredTemplate is a template as the server keeps it.
type StoredTemplate struct {
	ID string `json:"id"`
	Template
	GraphVersion int       `json:"graph_version"`
	CreatedAt    time.Time `json:"created_at"`
	UpdatedAt    time.Time `json:"updated_at"`
}

const templatesPath = "/api/workflow-templates"

// Put stores a template. created says that there was none with this id.
func (c Templates) Put(ctx context.Context, id string, t Template) (stored *StoredTemplate, created bool, err error) {
	body, err := json.Marshal(t)
	if err != nil {
		return nil, false, err
	}
	return c.PutSource(ctx, id, body)
}

// PutSource stores a template that is JSON already.
func (c Templates) PutSource(
	ctx context.Context, id string, source []byte) (stored *StoredTemplate, created bool, err error,
) {
	r, err := c.do(ctx, call{
		method: http.MethodPut, path: templatesPath + "/" + url.PathEscape(id), body: source,
		event: true,
	})
	if err != nil {
		return nil, false, err
	}
	stored = new(StoredTemplate)
	if err := json.Unmarshal(r.body, stored); err != nil {
		return nil, false, err
	}
	return stored, r.status == http.StatusCreated, nil
}

// Get reads a template.
func (c Templates) Get(ctx context.Context, id string) (*StoredTemplate, error) {
	t := new(StoredTemplate)
	if err := c.exchange(ctx, call{method: http.MethodGet, path: templatesPath + "/" + url.PathEscape(id), event: true},
		t); err != nil {
		return nil, err
	}
	return t, nil
}

// List reads a page of the templates, by id.
func (c Templates) List(ctx context.Context, at Paging) (*Page[StoredTemplate], error) {
	page := new(Page[StoredTemplate])
	if err := c.exchange(ctx, call{
		method: http.MethodGet, path: templatesPath, query: at.query(url.Values{}),
		event: true,
	}, page); err != nil {
		return nil, err
	}
	return page, nil
}

// All reads all templates, by id.
func (c Templates) All(ctx context.Context) iter.Seq2[StoredTemplate, error] {
	return every(1, func(at Paging) (*Page[StoredTemplate], error) { return c.List(ctx, at) })
}

// Delete deletes a template; its runs go on.
func (c Templates) Delete(ctx context.Context, id string) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, path: templatesPath + "/" + url.PathEscape(id), event: true})
	return err
}
