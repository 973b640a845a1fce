package events

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

func BenchmarkEvent(b *testing.B) {
	text := golden(b, "RecordUpdated")
	e, err := ParseEvent(text)
	if err != nil {
		b.Fatal(err)
	}
	check := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	updated, err := DecodePayload[RecordUpdated](&e)
	check(err)
	wide := wideEvent(b, 60)
	var dst []byte
	for _, bm := range []struct {
		name string
		do   func()
	}{
		{"CheckPublished", func() { check(e.CheckPublished()) }},
		{"CheckReceived", func() { check(e.CheckReceived()) }},
		{"Parse", func() { _, err := ParseEvent(text); check(err) }},
		{"Append", func() { dst = e.AppendJSON(dst[:0]) }},
		{"CheckManyFields", func() { check(wide.CheckReceived()) }},
		{"CheckByTheLibrary", func() {
			value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
			check(err)
			check(references()["RecordUpdated"].received.Validate(value))
		}},
		{"Strip", func() { e.Strip(func(_, field string) bool { return field == "Salary" }) }},
		{"NewPayload", func() { _, err := NewPayload(updated); check(err) }},
		{"DecodePayload", func() { _, err := DecodePayload[RecordUpdated](&e); check(err) }},
	} {
		b.Run(bm.name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				bm.do()
			}
		})
	}
}

// wideEvent is a new record with so many fields.
func wideEvent(b *testing.B, fields int) *Event {
	created := RecordCreated{ObjectName: "Opportunity", Fields: map[string]jsontext.Value{}, ChangedFields: []string{}}
	for i := range fields {
		created.Fields[fmt.Sprintf("Custom_Field_%d", i)] = jsontext.Value(`"some value"`)
	}
	e := parsed(b, golden(b, "RecordCreated"))
	created.RecordID, created.OwnerID, created.RecordVersion = e.ID, e.ID, e.Version
	payload, err := NewPayload(created)
	if err != nil {
		b.Fatal(err)
	}
	e.Payload = payload
	return &e
}
