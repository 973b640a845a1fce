package events

import (
	"bytes"

	"renga.dev/renga/internal/platform/canonical"
)

// MaxWhole is the largest whole number of an event, the last one that every reader of
// JSON takes exactly.
const MaxWhole = 1<<53 - 1

// envelope is what ParseEvent asks of a body: the types of its members.
var envelope = func() *rule {
	member := func(note note, name string, r rule) ruled {
		r.note = note
		return ruled{name, &r}
	}
	text, instant := rule{kinds: kindString}, rule{kinds: kindString, format: formatTime}
	number := rule{kinds: kindInteger, low: -MaxWhole, high: MaxWhole}
	object := func(members ...ruled) rule { return rule{kinds: kindObject, members: members, others: anything} }
	r := object(
		member(noteID, "eventId", text),
		member(noteSchema, "schemaVersion", number),
		member(noteType, "eventType", text),
		member(noteOccurred, "occurredAt", instant),
		member(noteTenant, "tenantId", text),
		member(noteNone, "producer", object(member(noteService, "service", text), member(noteInstance, "instanceId",
			text))),
		member(noteCorrelation, "correlationId", text),
		member(noteNone, "sequence", object(member(noteKey, "partitionKey", text), member(noteVersion, "recordVersion",
			instant), member(notePlace, "index", number))),
		member(notePayload, "payload", object()),
	)
	return &r
}()

// ParseEvent reads an envelope, strictly as JSON and by the types of its members. Unknown members are
// passed over and missing ones stay empty: CheckReceived judges them. The payload is a part of body,
// which must not change any more. An event that is refused has what could be read of it.
func ParseEvent(body []byte) (Event, error) {
	if len(body) > MaxEvent {
		return Event{}, tooLarge(len(body))
	}
	var w walker
	err := w.walk(body, envelope, 0)
	if err != nil {
		err = refused("", err)
	}
	e := Event{
		SchemaVersion: w.whole(noteSchema),
		OccurredAt:    w.stamp(noteOccurred),
		Version:       w.stamp(noteVersion),
		Index:         w.whole(notePlace),
		Payload:       w.noted(notePayload),
	}
	w.texts(&e)
	return e, err
}

// noted is the text of a value that was found, nil if it was not.
func (w *walker) noted(n note) []byte {
	at := w.notes[n]
	if at.to == 0 {
		return nil
	}
	return w.In[at.from:at.to:at.to]
}

// inside is the text of a string that was found.
func (w *walker) inside(n note) []byte {
	raw := w.noted(n)
	if raw == nil {
		return nil
	}
	raw = raw[1 : len(raw)-1]
	if bytes.IndexByte(raw, '\\') >= 0 {
		return canonical.Decoded(raw)
	}
	return raw
}

func (w *walker) stamp(n note) canonical.Stamp {
	var s canonical.Stamp
	if s.UnmarshalText(w.inside(n)) != nil {
		return 0
	}
	return s
}

func (w *walker) whole(n note) int {
	v, _ := canonical.ParseInt(w.noted(n))
	return int(v)
}

// texts sets the strings of an event. They share one allocation; the type is a
// string that exists already.
func (w *walker) texts(e *Event) {
	var room [512]byte
	all, ends := room[:0], [...]struct {
		note note
		into *string
		end  int
	}{
		{note: noteID, into: &e.ID},
		{note: noteTenant, into: &e.Tenant},
		{note: noteService, into: &e.Producer.Service},
		{note: noteInstance, into: &e.Producer.Instance},
		{note: noteCorrelation, into: &e.CorrelationID},
		{note: noteKey, into: &e.Key},
	}
	for i := range ends {
		all = append(all, w.inside(ends[i].note)...)
		ends[i].end = len(all)
	}
	text, from := string(all), 0
	for _, part := range ends {
		*part.into = text[from:part.end]
		from = part.end
	}
	typ := w.inside(noteType)
	if s := schemas()[string(typ)]; s != nil {
		e.Type = s.typ
	} else {
		e.Type = string(typ)
	}
}
