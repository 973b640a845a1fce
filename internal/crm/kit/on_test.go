package kit_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
)

func TestAConsumerGivesEachEventToTheHandlerOfItsType(t *testing.T) {
	var got []string
	c := kit.Consumer("s",
		kit.On("RecordCreated", func(_ context.Context, _ *sqldb.Tx, _ *events.Event, p kit.Record) error {
			got = append(got, p.ObjectName+" "+p.RecordID)
			return nil
		}),
		kit.Ignore("MetadataChanged"))
	if diff := cmp.Diff([]string{"RecordCreated", "MetadataChanged"}, c.Types); diff != "" {
		t.Errorf("types (-want +got):\n%s", diff)
	}
	for _, tt := range []struct {
		event, payload string
		fails          bool
	}{
		{"RecordCreated", `{"objectName":"Lead","recordId":"1"}`, false},
		{"MetadataChanged", `{}`, false},
		{"RecordCreated", `{"objectName":1}`, true},
		{"RecordDeleted", `{}`, true},
	} {
		err := c.Handle(t.Context(), nil, &events.Event{Type: tt.event, Payload: []byte(tt.payload)})
		if (err != nil) != tt.fails {
			t.Errorf("%s %s: got %v, want failure %t", tt.event, tt.payload, err, tt.fails)
		}
	}
	if diff := cmp.Diff([]string{"Lead 1"}, got); diff != "" {
		t.Errorf("handled (-want +got):\n%s", diff)
	}
}

func TestRecordsAreGroupedInOneOrder(t *testing.T) {
	batch := []*events.Event{
		{Tenant: "b", Type: "Lead", ID: "1"},
		{Tenant: "a", Type: "Lead", ID: "2"},
		{Tenant: "a", Type: "", ID: "3"},
		{Tenant: "a", Type: "Account", ID: "4"},
		{Tenant: "a", Type: "Lead", ID: "5"},
	}
	groups, others, err := kit.GroupRecords(batch, func(e *events.Event) (object, id string, ok bool, err error) {
		return e.Type, e.ID, e.Type != "", nil
	})
	want := []kit.Group[string]{
		{"a", "Account", []string{"4"}}, {"a", "Lead", []string{"2", "5"}}, {"b", "Lead", []string{"1"}},
	}
	if diff := cmp.Diff(want, groups); err != nil || diff != "" || len(others) != 1 || others[0].ID != "3" {
		t.Errorf("got %v, %v, groups (-want +got):\n%s", others, err, diff)
	}
	bad := errors.New("bad")
	_, _, err = kit.GroupRecords(batch, func(*events.Event) (object, id string, ok bool, err error) {
		return "", "", true, bad
	})
	if !errors.Is(err, bad) {
		t.Errorf("got %v, want %v", err, bad)
	}
}
