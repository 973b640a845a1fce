package webhooks

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/expr"
)

// The maxima of a webhook.
const (
	MaxID          = 64   // characters of its id
	MaxWebhooks    = 1000 // of a tenant
	MaxDescription = 255  // characters
	MaxHeaders     = 20   // that its requests have in addition
	MaxHeader      = 1024 // characters of the value of one
)

// How deliveries are sent.
const (
	Ordered  = "ordered"  // one of a key at a time, in order
	Parallel = "parallel" // each by itself
)

// Any stands for all event types.
const Any = "*"

// Definition is a webhook as its author wrote it, with defaults.
type Definition struct {
	URL         string   `json:"url"`
	Events      []string `json:"events"`
	Filter      string   `json:"filter,omitempty"` // "": every event
	Delivery    string   `json:"delivery"`
	Description string   `json:"description,omitempty"`
}

// Headers are what requests have in addition. They may hold credentials, so nothing shows their values.
type Headers struct {
	Given bool // else they stay as they are
	By    map[string]string
}

// ParseDefinition reads a definition strictly and fills in defaults. The error is fault.Invalid, and its details name
// the member.
func (a *Allowed) ParseDefinition(body []byte) (d Definition, h Headers, err error) {
	doc := struct {
		Definition
		Headers jsontext.Value `json:"headers"`
	}{Definition: Definition{Delivery: Ordered}}
	if err := canonical.Decode(body, &doc); err != nil {
		return d, h, err
	}
	if h, err = parseHeaders(doc.Headers); err != nil {
		return d, h, err
	}
	slices.Sort(doc.Events)
	return doc.Definition, h, doc.check(a)
}

func (d *Definition) check(a *Allowed) error {
	if err := a.checkURL(d.URL); err != nil {
		return err
	}
	if !canonical.OneLine(d.Description, 0, MaxDescription) {
		return invalid("description", "description must be at most %d characters on one line", MaxDescription)
	}
	if err := d.checkEvents(); err != nil {
		return err
	}
	if d.Delivery != Ordered && d.Delivery != Parallel {
		return invalid("delivery", "delivery must be %s or %s", Ordered, Parallel)
	}
	if d.Filter != "" {
		if _, err := expr.EventFilter(d.Filter); err != nil {
			return invalid("filter", "filter: %s (an expression sees the event as event, such as "+
				"event.eventType or event.payload.objectName)", messageOf(err))
		}
	}
	return nil
}

func (d *Definition) checkEvents() error {
	types := events.EventTypes()
	if len(d.Events) == 0 {
		return invalid("events", "events is missing: the types of the events that are sent, or %q for all", Any)
	}
	for i, typ := range d.Events {
		switch {
		case typ == Any && len(d.Events) > 1:
			return invalid("events", "events has %q and more; %q is all types", Any, Any)
		case typ != Any && !slices.Contains(types, typ):
			return invalid("events", "events has %.64q; the types are %s", typ, strings.Join(types, ", "))
		case i > 0 && typ == d.Events[i-1]:
			return invalid("events", "events has %s twice", typ)
		}
	}
	return nil
}

// wants reports whether a webhook asks for events of a type.
func (d *Definition) wants(typ string) bool {
	return d.Events[0] == Any || slices.Contains(d.Events, typ)
}

func (d *Definition) ordered() bool { return d.Delivery == Ordered }

// ours are the headers that a webhook may not choose.
var ours = []string{
	"Accept-Encoding", "Connection", "Content-Encoding", "Content-Length", "Content-Type", "Expect", "Host",
	"Keep-Alive", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
	"User-Agent",
}

func parseHeaders(raw jsontext.Value) (h Headers, err error) {
	bad := func(format string, args ...any) error { return invalid("headers", "headers "+format, args...) }
	switch {
	case raw == nil:
		return h, nil
	case json.Unmarshal(raw, &h.By) != nil:
		return h, bad("must be an object of texts")
	case len(h.By) > MaxHeaders:
		return h, bad("has %d members and may have %d", len(h.By), MaxHeaders)
	}
	h.Given = true
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(h.By)) {
		value, key := h.By[name], http.CanonicalHeaderKey(name)
		switch {
		case !isHeaderName(name):
			return h, bad("has %.64q; the name of a header is 1 to 64 of A-Z a-z 0-9 - _", name)
		case slices.Contains(ours, key) || strings.HasPrefix(key, "Webhook-"):
			return h, bad("has %s, which every request has already", key)
		case !canonical.Printable(value, MaxHeader) || strings.TrimSpace(value) != value:
			return h, bad("has a value of %s that is not 1 to %d printable ASCII characters without a space at either "+
				"end", key, MaxHeader)
		case seen[key]:
			return h, bad("has %s twice", key)
		}
		seen[key] = true
	}
	return h, nil
}

// isHeaderName reports whether a text can be the name of a header that a webhook chooses.
func isHeaderName(name string) bool {
	return name != "" && len(name) <= 64 && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_'
	})
}

// ValidID reports whether a text can be the id of a webhook.
func ValidID(id string) bool { return canonical.Name(id) && len(id) <= MaxID }

// messageOf is what a caller is told about an error.
func messageOf(err error) string {
	if failure, ok := fault.As(err); ok && failure.Message != "" && failure.Kind != fault.Internal {
		return failure.Message
	}
	return "internal error"
}
