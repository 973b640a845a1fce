package recheck

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/platform/canonical"
)

// Named maxima of a request.
const (
	MaxNamed     = 50       // strategies that a request names
	MaxTotal     = 5000     // strategies that a filter may match
	MaxLookback  = 180      // days
	MaxReason    = 64       // characters
	MaxTrace     = 128      // characters of a trace_id
	MaxParams    = 16 << 10 // bytes of the canonical form
	MaxBatch     = 100      // strategies that are checked at a time
	DefaultBatch = 25
)

// Identity says what of a request's body makes it the same request: all but its trace.
var Identity = canonical.Options{Omit: []string{"trace_id"}}

// Order is what somebody asks to be checked again.
type Order struct {
	named     []string // strategies, in the order given; nil: those of the filter
	filter    Query
	dryRun    bool
	batchSize int
	brief
}

// brief is what checkers get, as it is stored with the request.
type brief struct {
	Window  window         `json:"window"`
	Reason  string         `json:"reason"`
	Params  jsontext.Value `json:"params"` // an object
	TraceID string         `json:"trace_id,omitempty"`
}

// window is the time that a check looks at: so many days back, or from one instant to
// another.
type window struct {
	LookbackDays *int    `json:"lookback_days,omitempty"`
	From         *moment `json:"from,omitempty"`
	To           *moment `json:"to,omitempty"`
}

// orderDoc is an order as it is written.
type orderDoc struct {
	Window    *windowDoc     `json:"window"`
	Reason    *string        `json:"reason"`
	DryRun    bool           `json:"dry_run"`
	Params    jsontext.Value `json:"params"`
	BatchSize *int           `json:"batch_size"`
	TraceID   *string        `json:"trace_id"`
}

type windowDoc struct {
	LookbackDays *int    `json:"lookback_days"`
	From         *string `json:"from"`
	To           *string `json:"to"`
}

type filterDoc struct {
	TagsAny []string `json:"tags_any"`
	Health  []Health `json:"health"`
	Text    *string  `json:"q"`
}

// ParseOrder reads an order that names its strategies, strictly. Texts are taken in
// Normalization Form C. The error is fault.Invalid, and its message names the member.
func ParseOrder(body []byte) (Order, error) {
	var doc struct {
		Strategies []string `json:"strategies"`
		orderDoc
	}
	if err := decodeCanonical(body, &doc); err != nil {
		return Order{}, err
	}
	o, err := doc.order()
	if err == nil {
		o.named, err = named(doc.Strategies)
	}
	return o, err
}

// ParseOrderAll reads an order whose strategies are those of a filter, strictly.
func ParseOrderAll(body []byte) (Order, error) {
	var doc struct {
		Filter *filterDoc `json:"filter"`
		orderDoc
	}
	if err := decodeCanonical(body, &doc); err != nil {
		return Order{}, err
	}
	o, err := doc.order()
	switch {
	case err != nil:
		return Order{}, err
	case doc.Filter == nil:
		return Order{}, unfit("filter is missing; {} stands for all strategies")
	}
	o.filter, err = doc.Filter.query()
	return o, err
}

// decodeCanonical reads a body in its canonical form.
func decodeCanonical(body []byte, into any) error {
	if len(body) == 0 {
		return unfit("the body must be a JSON object")
	}
	plain, err := canonical.Canonical(nil, body, canonical.Options{})
	if err != nil {
		return err
	}
	return canonical.Decode(plain, into)
}

func named(ids []string) ([]string, error) {
	if len(ids) < 1 || len(ids) > MaxNamed {
		return nil, unfit("strategies must be 1 to %d ids", MaxNamed)
	}
	for i, id := range ids {
		if !ValidID(id) {
			return nil, unfit("strategies[%d] must be 1 to %d of a-z 0-9 . _ -", i, canonical.MaxName)
		}
		if slices.Contains(ids[:i], id) {
			return nil, unfit("strategies[%d] is there twice", i)
		}
	}
	return ids, nil
}

func (doc *filterDoc) query() (q Query, err error) {
	if doc.TagsAny != nil {
		if len(doc.TagsAny) < 1 || len(doc.TagsAny) > MaxTags {
			return q, unfit("filter.tags_any must be 1 to %d tags", MaxTags)
		}
		if err := checkTags("filter.tags_any", doc.TagsAny); err != nil {
			return q, err
		}
	}
	if doc.Health != nil {
		if len(doc.Health) < 1 || len(doc.Health) > len(Healths) {
			return q, unfit("filter.health must be 1 to %d of healthy, degraded, unknown", len(Healths))
		}
		for i, h := range doc.Health {
			if !slices.Contains(Healths, h) {
				return q, unfit("filter.health[%d] must be healthy, degraded or unknown", i)
			}
		}
	}
	q = Query{TagsAny: doc.TagsAny, Health: doc.Health}
	if doc.Text != nil {
		if q.Text, err = ParseText(*doc.Text); err != nil {
			return q, unfit("filter.q must be at most %d characters on one line", MaxSearch)
		}
	}
	return q, nil
}

// order reads what both kinds of orders have.
func (doc *orderDoc) order() (o Order, err error) {
	o = Order{dryRun: doc.DryRun, batchSize: DefaultBatch, brief: brief{Params: jsontext.Value("{}")}}
	if doc.Window == nil {
		return o, unfit("window is missing")
	}
	if o.Window, err = doc.Window.window(); err != nil {
		return o, err
	}
	if o.Reason, err = phrase("reason", doc.Reason, MaxReason); err != nil {
		return o, err
	}
	if doc.Reason == nil {
		return o, unfit("reason is missing")
	}
	if o.TraceID, err = phrase("trace_id", doc.TraceID, MaxTrace); err != nil {
		return o, err
	}
	if doc.BatchSize != nil {
		if o.batchSize = *doc.BatchSize; o.batchSize < 1 || o.batchSize > MaxBatch {
			return o, unfit("batch_size must be a whole number between 1 and %d", MaxBatch)
		}
	}
	if doc.Params != nil {
		o.Params = doc.Params
	}
	return o, checkObject("params", doc.Params, MaxParams)
}

func (doc *windowDoc) window() (w window, err error) {
	switch {
	case doc.LookbackDays != nil && (doc.From != nil || doc.To != nil):
		return w, unfit("window must have either lookback_days or from and to, not both")
	case doc.LookbackDays != nil:
		if *doc.LookbackDays < 1 || *doc.LookbackDays > MaxLookback {
			return w, unfit("window.lookback_days must be a whole number between 1 and %d", MaxLookback)
		}
		return window{LookbackDays: doc.LookbackDays}, nil
	case doc.From == nil && doc.To == nil:
		return w, unfit("window must have lookback_days, or from and to")
	}
	if w.From, err = instant("window.from", doc.From); err != nil {
		return w, err
	}
	if w.To, err = instant("window.to", doc.To); err != nil {
		return w, err
	}
	if *w.From > *w.To {
		return w, unfit("window.from must not be after window.to")
	}
	return w, nil
}

func instant(field string, text *string) (*moment, error) {
	if text == nil {
		return nil, unfit("%s is missing", field)
	}
	var at moment
	if err := at.UnmarshalText([]byte(*text)); err != nil {
		return nil, unfit("%s must be an RFC 3339 time, such as 2026-01-05T09:00:00Z", field)
	}
	return &at, nil
}

// phrase is a text of 1..limit characters without control characters, "" when it is not
// given.
func phrase(field string, text *string, limit int) (string, error) {
	if text == nil {
		return "", nil
	}
	if n := utf8.RuneCountInString(*text); n < 1 || n > limit || strings.IndexFunc(*text, unicode.IsControl) >= 0 {
		return "", unfit("%s must be 1 to %d characters without control characters", field, limit)
	}
	return *text, nil
}
