package client

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"strings"
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

// Send delivers an event. However often it is sent under one key, one run
// starts, and every answer names it. One that is refused is an *Error, whose
// RetryAdvice says whether sending it again can help.
func (c WorkflowEvents) Send(ctx context.Context, e WorkflowEvent) (WorkflowAnswer, error) {
	body, err := e.body()
	if err != nil {
		return WorkflowAnswer{}, err
	}
	q := call{method: http.MethodPost, path: "/api/workflow-events", key: cmp.Or(e.Key, newKey()), event: true}
	a, _, err := exchange[WorkflowAnswer](ctx, c.transport, q, body)
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

// Summary reads what became of the events of a month ("2026-01", in UTC), with
// so many of the newest, 1 to 200; 0 is 20.
func (c WorkflowEvents) Summary(ctx context.Context, month string, recent int) (*WorkflowSummary, error) {
	query := given(map[string]string{"recent_limit": number(recent)})
	query.Set("ym", month)
	q := call{method: http.MethodGet, path: "/api/workflow-events/summary", query: query, event: true}
	return pointer(exchange[WorkflowSummary](ctx, c.transport, q, nil))
}

// Put stores a template. created says that there was none with this id.
func (c Templates) Put(ctx context.Context, id string, t Template) (stored *StoredTemplate, created bool, err error) {
	return c.put(ctx, id, t)
}

// PutSource stores a template that is JSON already.
func (c Templates) PutSource(
	ctx context.Context, id string, source []byte,
) (stored *StoredTemplate, created bool, err error) {
	return c.put(ctx, id, source)
}

func (c Templates) put(ctx context.Context, id string, body any) (*StoredTemplate, bool, error) {
	v, r, err := exchange[StoredTemplate](ctx, c.transport, c.call(http.MethodPut, id), body)
	stored, err := pointer(v, r, err)
	return stored, r.status == http.StatusCreated, err
}

// call is one about a template.
func (c Templates) call(method, id string) call {
	return call{method: method, path: pathOf("/api/workflow-templates/{id}", id), event: true}
}

// Get reads a template.
func (c Templates) Get(ctx context.Context, id string) (*StoredTemplate, error) {
	return pointer(exchange[StoredTemplate](ctx, c.transport, c.call(http.MethodGet, id), nil))
}

// List reads a page of the templates, by id.
func (c Templates) List(ctx context.Context, at Paging) (*Page[StoredTemplate], error) {
	q := call{method: http.MethodGet, path: "/api/workflow-templates", query: at.query(nil), event: true}
	return pointer(exchange[Page[StoredTemplate]](ctx, c.transport, q, nil))
}

// All reads all templates, by id.
func (c Templates) All(ctx context.Context) iter.Seq2[StoredTemplate, error] {
	return every(1, func(at Paging) (*Page[StoredTemplate], error) { return c.List(ctx, at) })
}

// Delete deletes a template; its runs go on.
func (c Templates) Delete(ctx context.Context, id string) error {
	_, err := c.do(ctx, c.call(http.MethodDelete, id))
	return err
}
