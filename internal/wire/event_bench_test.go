package wire

import "testing"

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
	var dst []byte
	for _, bm := range []struct {
		name string
		do   func()
	}{
		{"CheckPublished", func() { check(e.CheckPublished()) }},
		{"CheckReceived", func() { check(e.CheckReceived()) }},
		{"Parse", func() { _, err := ParseEvent(text); check(err) }},
		{"Append", func() { dst = e.AppendJSON(dst[:0]) }},
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
