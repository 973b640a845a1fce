package recheck

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/wire"
)

// Named maxima of a strategy. A page of 100 of the largest is about a mebibyte.
const (
	MaxName       = 200     // characters of a name
	MaxTags       = 16      // of a strategy, and of a filter
	MaxTag        = 64      // characters
	MaxMetrics    = 4 << 10 // bytes of the canonical form
	MaxStrategies = 500_000 // of a tenant
)

// Health is how well a strategy did when it was last checked.
type Health string

// The healths, in the order in which they are sorted.
const (
	Degraded Health = "degraded"
	Healthy  Health = "healthy"
	Unknown  Health = "unknown"
)

// Healths are all of them, in their order.
var Healths = []Health{Degraded, Healthy, Unknown}

// Strategy is something that is checked again and again.
type Strategy struct {
	ID            string         `json:"id"`
	Name          string         `json:"name"`
	Tags          []string       `json:"tags"` // a set, in the order of code points
	Health        Health         `json:"health"`
	LastCheckedAt *wire.Stamp    `json:"last_checked_at"` // nil: never
	Metrics       jsontext.Value `json:"metrics"`         // an object
}

// Draft is what somebody says of a strategy. What checks find out is kept where the
// draft says nothing of it.
type Draft struct {
	id      string // "": not said
	name    string
	tags    []string
	health  Health         // "": as it was
	checked *wire.Stamp    // nil: as it was; 0: never
	metrics jsontext.Value // nil: as they were
}

// draftDoc is a draft as it is written.
type draftDoc struct {
	ID            *string        `json:"id"`
	Name          *string        `json:"name"`
	Tags          []string       `json:"tags"`
	Health        *Health        `json:"health"`
	LastCheckedAt jsontext.Value `json:"last_checked_at"`
	Metrics       jsontext.Value `json:"metrics"`
}

var strategyID = regexp.MustCompile(`^[a-z0-9._-]{1,128}$`)

// ValidID reports whether a text can be the id of a strategy.
func ValidID(id string) bool { return strategyID.MatchString(id) }

// ParseDraft reads a draft, strictly. Texts are taken in Normalization Form C. The error
// is fault.Invalid, and its message names the member.
func ParseDraft(body []byte) (Draft, error) {
	if len(body) == 0 {
		return Draft{}, unfit("the body must be a JSON object")
	}
	plain, err := wire.Canonical(nil, body, wire.Options{})
	if err != nil {
		return Draft{}, err
	}
	var doc draftDoc
	if err := wire.Decode(plain, &doc); err != nil {
		return Draft{}, err
	}
	d := Draft{}
	for _, step := range []func(*draftDoc) error{d.takeWords, d.takeTags, d.takeChecked, d.takeMetrics} {
		if err := step(&doc); err != nil {
			return Draft{}, err
		}
	}
	return d, nil
}

func (d *Draft) takeWords(doc *draftDoc) error {
	if doc.ID != nil {
		if d.id = *doc.ID; !ValidID(d.id) {
			return unfit("id must be 1 to %d of a-z 0-9 . _ -", wire.MaxName)
		}
	}
	if doc.Name == nil {
		return unfit("name is missing")
	}
	if d.name = *doc.Name; !oneLine(d.name, MaxName) {
		return unfit("name must be 1 to %d characters on one line", MaxName)
	}
	if doc.Health != nil {
		if d.health = *doc.Health; !slices.Contains(Healths, d.health) {
			return unfit("health must be healthy, degraded or unknown")
		}
	}
	return nil
}

func (d *Draft) takeTags(doc *draftDoc) error {
	if len(doc.Tags) > MaxTags {
		return unfit("tags must be at most %d", MaxTags)
	}
	for i, tag := range doc.Tags {
		if !ValidTag(tag) {
			return unfit("tags[%d] must be 1 to %d characters on one line, without commas or blanks around it", i,
				MaxTag)
		}
	}
	slices.Sort(doc.Tags)
	d.tags = slices.Compact(doc.Tags)
	return nil
}

// ValidTag reports whether a text can be a tag: no filter, in which commas separate
// tags, may take it for another.
func ValidTag(tag string) bool {
	return oneLine(tag, MaxTag) && !strings.Contains(tag, ",") && strings.TrimSpace(tag) == tag
}

func (d *Draft) takeChecked(doc *draftDoc) error {
	switch doc.LastCheckedAt.Kind() {
	case jsontext.KindInvalid: // not there
		return nil
	case jsontext.KindNull:
		d.checked = new(wire.Stamp)
		return nil
	case jsontext.KindString:
		text, err := jsontext.AppendUnquote(nil, doc.LastCheckedAt)
		if err == nil {
			var at wire.Stamp
			if err = at.UnmarshalText(text); err == nil {
				d.checked = &at
				return nil
			}
		}
	}
	return unfit("last_checked_at must be an RFC 3339 time, such as 2026-01-05T09:00:00Z, or null")
}

func (d *Draft) takeMetrics(doc *draftDoc) error {
	switch {
	case doc.Metrics == nil:
		return nil
	case doc.Metrics.Kind() != jsontext.KindBeginObject:
		return unfit("metrics must be an object")
	case len(doc.Metrics) > MaxMetrics:
		return unfit("metrics are larger than %d bytes", MaxMetrics)
	}
	d.metrics = doc.Metrics
	return nil
}

// over is the strategy after the draft, was before it; nil: there was none.
func (d *Draft) over(id string, was *Strategy) Strategy {
	s := Strategy{ID: id, Health: Unknown, Metrics: jsontext.Value("{}")}
	if was != nil {
		s = *was
	}
	if s.Name, s.Tags = d.name, d.tags; s.Tags == nil {
		s.Tags = []string{}
	}
	if d.health != "" {
		s.Health = d.health
	}
	if d.metrics != nil {
		s.Metrics = d.metrics
	}
	if d.checked != nil {
		if s.LastCheckedAt = d.checked; *d.checked == 0 {
			s.LastCheckedAt = nil
		}
	}
	return s
}

// oneLine reports whether a text is 1..limit characters on one line.
func oneLine(s string, limit int) bool {
	return s != "" && utf8.RuneCountInString(s) <= limit && strings.IndexFunc(s, func(r rune) bool {
		return unicode.IsControl(r) || r == '\u2028' || r == '\u2029'
	}) < 0
}

func unfit(format string, args ...any) *fault.Error {
	return fault.New(fault.Invalid, wire.CodeInvalid, format, args...)
}
