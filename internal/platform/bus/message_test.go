package bus

import (
	"strings"
	"testing"

	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/fault"
)

func TestMessagesThatCannotBeCarriedAreRefused(t *testing.T) {
	sound := Message{ID: "e", Tenant: "t", Type: "RecordUpdated", Key: "商談:t:東京 %", Service: "s"}
	if err := sound.Check(); err != nil {
		t.Fatalf("the sound one: %v", err)
	}
	long := strings.Repeat("東", 255)
	for _, tt := range []struct {
		name  string
		spoil func(*Message)
		want  fault.Kind
	}{
		{"a key of 255 characters", func(m *Message) { m.Key = long[:MaxMessageKey/4*3] }, fault.Internal},
		{"a key that is too long", func(m *Message) { m.Key = long + long }, fault.Invalid},
		{"a key with a line break", func(m *Message) { m.Key = "a\r\nNats-Rollup: all" }, fault.Invalid},
		{"a key with a control character", func(m *Message) { m.Key = "a\u0085" }, fault.Invalid},
		{"a key that is no text", func(m *Message) { m.Key = "\xff" }, fault.Invalid},
		{"no key", func(m *Message) { m.Key = "" }, fault.Internal},
		{"no id", func(m *Message) { m.ID = "" }, fault.Invalid},
		{"an id that is too long", func(m *Message) { m.ID = long }, fault.Invalid},
		{"no service", func(m *Message) { m.Service = "" }, fault.Internal},
		{"a tenant in Japanese", func(m *Message) { m.Tenant = "東京" }, fault.Internal},
		{"no tenant", func(m *Message) { m.Tenant = "" }, fault.Invalid},
		{"a tenant with a dot", func(m *Message) { m.Tenant = "a.b" }, fault.Invalid},
		{"a tenant that matches all", func(m *Message) { m.Tenant = "*" }, fault.Invalid},
		{"a tenant that matches the rest", func(m *Message) { m.Tenant = ">" }, fault.Invalid},
		{"a tenant with a wide space", func(m *Message) { m.Tenant = "a\u3000b" }, fault.Invalid},
		{"a type with a dot", func(m *Message) { m.Type = "a.b" }, fault.Invalid},
		{"a partition too far", func(m *Message) { m.Part = events.Partitions }, fault.Invalid},
		{"a body that is too large", func(m *Message) { m.Body = make([]byte, events.MaxEvent+1) }, fault.TooLarge},
	} {
		m := sound
		tt.spoil(&m)
		err := m.Check()
		if fault.KindOf(err) != tt.want || (err == nil) != (tt.want == fault.Internal) {
			t.Errorf("%s: got %v, want %v", tt.name, err, tt.want)
		}
	}
}
