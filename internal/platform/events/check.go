package events

import (
	"strings"
	"unicode/utf8"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
)

// The codes of events that are refused.
const (
	CodeEventType     = "EVENT_TYPE_UNKNOWN"
	CodeEventInvalid  = "EVENT_INVALID"
	CodeEventTooLarge = "EVENT_TOO_LARGE"
)

// The longest texts of an envelope, in characters.
const (
	MaxPartitionKey = 255
	MaxCorrelation  = 128
	MaxProducer     = 128 // of either part
)

// maxEnvelope is more than an envelope takes without its payload, in bytes.
const maxEnvelope = 16 << 10

// CheckPublished holds an event that is to be sent against its schema, strictly:
// members that the schema does not have are refused, and so is a key that is not that
// of the record in the payload. The error names the JSON pointer.
func (e *Event) CheckPublished() error { return e.check(true) }

// CheckReceived holds an event that came in against its schema. Unknown members are accepted, since a
// later version of a type may have them, and any key.
func (e *Event) CheckReceived() error { return e.check(false) }

func (e *Event) check(strict bool) error {
	s := schemas()[e.Type]
	if s == nil {
		return fault.New(fault.Invalid, CodeEventType, "there is no event type %s", canonical.Quote([]byte(e.Type)))
	}
	if size := len(e.Payload); size > MaxEvent-maxEnvelope {
		if size <= MaxEvent {
			size = len(e.AppendJSON(nil))
		}
		if size > MaxEvent {
			return tooLarge(size)
		}
	}
	if what := e.misfit(); what != "" {
		return fault.New(fault.Invalid, CodeEventInvalid, "%s", what)
	}
	if len(e.Payload) == 0 {
		return fault.New(fault.Invalid, CodeEventInvalid, "/payload is missing")
	}
	w := walker{strict: strict}
	if err := w.walk(e.Payload, s.payload, 1); err != nil {
		return refused("payload", err)
	}
	if s.version && w.stamp(noteVersion) != e.Version {
		return fault.New(fault.Invalid, CodeEventInvalid,
			"/payload/recordVersion must be the same instant as /sequence/recordVersion")
	}
	if strict && s.about != nil {
		if what := s.about.misses(&w, e.Key); what != "" {
			return fault.New(fault.Invalid, CodeEventInvalid, "%s", what)
		}
	}
	return nil
}

// misfit says what is wrong with the envelope, "" when nothing is. It is what the
// schemas say of the envelope, which is the same in all of them, and what they
// cannot say: whose the key is.
func (e *Event) misfit() string {
	switch {
	case !isUUID(e.ID):
		return wants("/eventId", e.ID, "must be a UUID")
	case e.SchemaVersion != SchemaVersion:
		return "/schemaVersion must be 1"
	case e.OccurredAt == 0:
		return "/occurredAt is missing"
	case e.OccurredAt < canonical.FirstStamp || e.OccurredAt > canonical.LastStamp:
		return "/occurredAt must be an instant with four digits for the year"
	case !isUUID(e.Tenant):
		return wants("/tenantId", e.Tenant, "must be a UUID")
	case !isLabel(e.Producer.Service, MaxProducer):
		return wants("/producer/service", e.Producer.Service,
			"must have 1 to 128 characters, no control characters among them")
	case !isLabel(e.Producer.Instance, MaxProducer):
		return wants("/producer/instanceId", e.Producer.Instance,
			"must have 1 to 128 characters, no control characters among them")
	case !isLabel(e.CorrelationID, MaxCorrelation):
		return wants("/correlationId", e.CorrelationID,
			"must have 1 to 128 characters, no control characters among them")
	case !e.hasKey():
		return wants("/sequence/partitionKey", e.Key,
			"must be {Object}:{tenantId}:{recordId}, without spaces, in 255 characters at most")
	case e.Version == 0:
		return "/sequence/recordVersion is missing"
	case e.Version < 0 || e.Version > canonical.LastStamp: // one before 1970 would be older than a key without events
		return "/sequence/recordVersion must be an instant from 1970 to 9999"
	case e.Index < 0:
		return "/sequence/index must not be negative"
	case e.Index > MaxWhole:
		return "/sequence/index must not be larger than 9007199254740991"
	}
	return ""
}

func wants(pointer, value, what string) string {
	if value == "" {
		what = "is missing"
	}
	return pointer + " " + what
}

// isLabel reports whether a text has 1 to limit characters, none of them a control
// character: it is safe in a header and in a line of a log.
func isLabel(text string, limit int) bool {
	if text == "" || len(text) > limit && utf8.RuneCountInString(text) > limit {
		return false
	}
	ascii := true
	for i := range len(text) {
		if text[i] < ' ' || text[i] == 0x7f {
			return false
		}
		ascii = ascii && text[i] < utf8.RuneSelf
	}
	return ascii || utf8.ValidString(text)
}

// hasKey reports whether the partition key has three parts, the middle one its tenant.
func (e *Event) hasKey() bool {
	kind, rest, _ := strings.Cut(e.Key, ":")
	tenant, id, _ := strings.Cut(rest, ":")
	return kind != "" && tenant == e.Tenant && id != "" && strings.IndexByte(id, ':') < 0 &&
		strings.IndexByte(e.Key, ' ') < 0 && isLabel(e.Key, MaxPartitionKey)
}
