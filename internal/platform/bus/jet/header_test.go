package jet

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/events"
)

func TestHeadersAreThoseOfCloudEvents(t *testing.T) {
	m := bus.Message{
		ID: "018f3f9e-1111-7000-8000-000000000001", Tenant: "7b0f4a10-1111-4222-8333-444455556666", Part: 3,
		Type: "StageChanged",
		Key:  "商談:7b0f:10 %", OccurredAt: 1767225600789, Service: "records", Relay: bus.Relay{
			Epoch: 7,
			At:    1767225601000, Source: 42,
		},
	}
	got := newWriter().of(&m)
	want := nats.Header{
		"ce-specversion":     {"1.0"},
		"ce-id":              {m.ID},
		"ce-source":          {"/renga/records"},
		"ce-type":            {"StageChanged"},
		"ce-time":            {"2026-01-01T00:00:00.789Z"},
		"ce-subject":         {"%E5%95%86%E8%AB%87:7b0f:10%20%25"},
		"ce-datacontenttype": {"application/json"},
		"content-type":       {"application/json"},
		"ce-tenantid":        {m.Tenant},
		"Nats-Msg-Id":        {m.ID + ".7"},
		"Renga-Relay":        {"7 1767225601000 42"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAMessageSurvivesItsHeaders(t *testing.T) {
	w := newWriter()
	for _, s := range []events.Stream{events.Events, events.Executions} {
		for _, key := range []string{
			"", "a", " a ", "商談:t:é", `100% "sure"`, "%41", "%", "a:b: c",
			strings.Repeat("𠮷", 255),
		} {
			m := bus.Message{
				Stream: s, Seq: 9, ID: "id %", Tenant: "東京", Part: 2, Type: "型", Key: key, OccurredAt: 1,
				Service: "a b",
				Body:    []byte("{}"), Relay: bus.Relay{Epoch: 1, At: 2, Source: 3, Behind: 4, BehindID: "id 5"},
			}
			header := w.of(&m)
			if size := headerSize(t, header); size > MaxHeader {
				t.Errorf("%q: the headers have %d bytes", key, size)
			}
			got, ours := read(s, 9, events.Subject(s, m.Tenant, m.Part, m.Type), header, m.Body)
			if diff := cmp.Diff(m, got); diff != "" || !ours {
				t.Errorf("%q: ours %t\n%s", key, ours, diff)
			}
		}
	}
}

func headerSize(t *testing.T, h nats.Header) int {
	t.Helper()
	var b bytes.Buffer
	for k, vs := range h {
		b.WriteString(k + ": " + vs[0] + "\r\n")
	}
	return b.Len()
}

func TestMessagesOfOthersAreNotOurs(t *testing.T) {
	sound := bus.Message{
		ID: "i", Tenant: "t", Part: 1, Type: "T", Key: "k", OccurredAt: 1, Service: "s",
		Relay: bus.Relay{Epoch: 1},
	}
	for name, spoil := range map[string]func(h nats.Header) string{
		"no relay":              func(h nats.Header) string { h.Del(relayed); return "renga.event.t.1.T" },
		"half a relay":          func(h nats.Header) string { h.Set(relayed, "1 2"); return "renga.event.t.1.T" },
		"half a message behind": func(h nats.Header) string { h.Set(relayed, "1 2 3 4"); return "renga.event.t.1.T" },
		"no place behind":       func(h nats.Header) string { h.Set(relayed, "1 2 3 x y"); return "renga.event.t.1.T" },
		"no id":                 func(h nats.Header) string { h.Del(ceID); return "renga.event.t.1.T" },
		"another tenant":        func(nats.Header) string { return "renga.event.u.1.T" },
		"another type":          func(nats.Header) string { return "renga.event.t.1.U" },
		"no partition":          func(nats.Header) string { return "renga.event.t.x.T" },
		"a partition too far":   func(nats.Header) string { return "renga.event.t.9.T" },
		"a short subject":       func(nats.Header) string { return "renga.event" },
	} {
		h := newWriter().of(&sound)
		subject := spoil(h)
		if m, ours := read(events.Events, 1, subject, h, nil); ours {
			t.Errorf("%s: %+v was taken for ours", name, m)
		}
	}
	if m, ours := read(events.Events, 1, "renga.event.t.1.T", newWriter().of(&sound), nil); !ours {
		t.Errorf("the sound one was not: %+v", m)
	}
}
