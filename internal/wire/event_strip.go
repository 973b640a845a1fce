package wire

// stripped is where the payloads that hold values of fields have them.
var stripped = map[string]*rule{
	"RecordCreated": valuesIn("fields"),
	"RecordUpdated": valuesIn("fieldChanges"),
}

func valuesIn(name string) *rule {
	return &rule{kinds: kindObject, others: anything, members: []ruled{
		{"objectName", &rule{kinds: kindString, note: noteObject}},
		{name, &rule{kinds: kindObject, others: anything, note: noteValues}},
	}}
}

// HasFields reports whether events of this type carry values of fields, which Strip
// takes out.
func (e *Event) HasFields() bool { return stripped[e.Type] != nil }

// Strip takes the values of sensitive fields out of the payload; their names stay in
// changedFields. A field is asked for by its name as it is written and in NFC. The
// payload that it had is not changed but replaced. A payload that CheckPublished would
// refuse may stay as it is.
func (e *Event) Strip(sensitive func(object, field string) bool) {
	r := stripped[e.Type]
	if r == nil {
		return
	}
	var w walker
	if w.walk(e.Payload, r, 1) != nil {
		return
	}
	values, object := w.notes[noteValues], string(w.inside(noteObject))
	kept, dropped := without(w.noted(noteValues), func(name []byte) bool {
		return sensitive(object, string(name)) || sensitive(object, string(nfc(name)))
	})
	if !dropped {
		return
	}
	payload := make([]byte, 0, len(e.Payload))
	payload = append(append(payload, e.Payload[:values.from]...), kept...)
	e.Payload = append(payload, e.Payload[values.to:]...)
}

// without copies an object, which was read before, without some of its members.
func without(object []byte, drop func(name []byte) bool) (kept []byte, dropped bool) {
	if object == nil {
		return nil, false
	}
	w := walker{scanner: scanner{in: object}}
	kept = append(kept, '{')
	for more := w.enter('}'); more; {
		from := w.pos
		name, err := w.name()
		if err == nil {
			err = w.value(anything, 0)
		}
		to := w.pos
		if err == nil {
			more, err = w.comma('}', "")
		}
		switch {
		case err != nil:
			return nil, false
		case drop(name):
			dropped = true
			continue
		case len(kept) > 1:
			kept = append(kept, ',')
		}
		kept = append(kept, object[from:to]...)
	}
	return append(kept, '}'), dropped
}
