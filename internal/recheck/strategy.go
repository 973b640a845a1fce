package recheck

import (
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
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
	ID            string           `json:"id"`
	Name          string           `json:"name"`
	Tags          []string         `json:"tags"` // a set, in the order of code points
	Health        Health           `json:"health"`
	LastCheckedAt *canonical.Stamp `json:"last_checked_at"` // nil: never
	Metrics       jsontext.Value   `json:"metrics"`         // an object
}

// Draft is what somebody says of a strategy. What checks find out stays where the draft says nothing
// of it.
type Draft struct {
	ID            *string        `json:"id"`
	Name          *string        `json:"name"`
	Tags          []string       `json:"tags"`
	Health        *Health        `json:"health"`
	LastCheckedAt jsontext.Value `json:"last_checked_at"`
	Metrics       jsontext.Value `json:"metrics"`

	checked *canonical.Stamp // LastCheckedAt; nil: as it was; 0: never
}

var strategyID = regexp.MustCompile(`^[a-z0-9._-]{1,128}$`)

// ValidID reports whether a text can be the id of a strategy.
func ValidID(id string) bool { return strategyID.MatchString(id) }

// ParseDraft reads a draft, strictly. Texts are taken in Normalization Form C. The error
// is fault.Invalid, and its message names the member.
func ParseDraft(body []byte) (d Draft, err error) {
	if err = decodeCanonical(body, &d); err != nil {
		return d, err
	}
	switch {
	case d.ID != nil && !ValidID(*d.ID):
		return d, unfit("id must be 1 to %d of a-z 0-9 . _ -", canonical.MaxName)
	case d.Name == nil:
		return d, unfit("name is missing")
	case !canonical.OneLine(*d.Name, 1, MaxName):
		return d, unfit("name must be 1 to %d characters on one line", MaxName)
	case d.Health != nil && !slices.Contains(Healths, *d.Health):
		return d, unfit("health must be healthy, degraded or unknown")
	case len(d.Tags) > MaxTags:
		return d, unfit("tags must be at most %d", MaxTags)
	}
	if err = checkTags("tags", d.Tags); err != nil {
		return d, err
	}
	slices.Sort(d.Tags)
	d.Tags = slices.Compact(d.Tags)
	if d.checked, err = lastChecked(d.LastCheckedAt); err != nil {
		return d, err
	}
	return d, checkObject("metrics", d.Metrics, MaxMetrics)
}

// checkTags says which of some tags cannot be one.
func checkTags(field string, tags []string) error {
	for i, tag := range tags {
		if !ValidTag(tag) {
			return unfit("%s[%d] must be 1 to %d characters on one line, without commas or blanks around it",
				field, i, MaxTag)
		}
	}
	return nil
}

// ValidTag reports whether a text can be a tag: no filter, in which commas separate
// tags, may take it for another.
func ValidTag(tag string) bool {
	return canonical.OneLine(tag, 1, MaxTag) && !strings.Contains(tag, ",") && strings.TrimSpace(tag) == tag
}

// lastChecked reads last_checked_at: nil when it is not there, 0 for null.
func lastChecked(raw jsontext.Value) (*canonical.Stamp, error) {
	at := new(canonical.Stamp)
	switch raw.Kind() {
	case jsontext.KindInvalid: // not there
		return nil, nil
	case jsontext.KindNull:
		return at, nil
	case jsontext.KindString:
		text, err := jsontext.AppendUnquote(nil, raw)
		if err == nil && at.UnmarshalText(text) == nil {
			return at, nil
		}
	}
	return nil, unfit("last_checked_at must be an RFC 3339 time, such as 2026-01-05T09:00:00Z, or null")
}

// checkObject says what is wrong with a member that is an object of bounded size, if it is there.
func checkObject(field string, raw jsontext.Value, limit int) error {
	switch {
	case raw == nil:
		return nil
	case raw.Kind() != jsontext.KindBeginObject:
		return unfit("%s must be an object", field)
	case len(raw) > limit:
		return unfit("%s are larger than %d bytes", field, limit)
	}
	return nil
}

// over is the strategy after the draft, was before it; nil: there was none.
func (d *Draft) over(id string, was *Strategy) Strategy {
	s := Strategy{ID: id, Health: Unknown, Metrics: jsontext.Value("{}")}
	if was != nil {
		s = *was
	}
	if s.Name, s.Tags = *d.Name, d.Tags; s.Tags == nil {
		s.Tags = []string{}
	}
	if d.Health != nil {
		s.Health = *d.Health
	}
	if d.Metrics != nil {
		s.Metrics = d.Metrics
	}
	if d.checked != nil {
		if s.LastCheckedAt = d.checked; *d.checked == 0 {
			s.LastCheckedAt = nil
		}
	}
	return s
}

func unfit(format string, args ...any) *fault.Error {
	return fault.New(fault.Invalid, canonical.CodeInvalid, format, args...)
}
