package events

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
)

func TestPayloadsAreDecodedWhateverTheirSpelling(t *testing.T) {
	e := Event{
		Type: "ApprovalDecided",
		Payload: []byte(
			`{"finalStageIndex":1.0e1,"comment":null,"target":{"recordId":"r","objectName":"Quote","later":[]},
		"decision":"APPROVED","decidedAt":"2026-01-11T00:00:00+09:00","later":{"a":1}}`,
		),
	}
	got, err := DecodePayload[ApprovalDecided](&e)
	want := ApprovalDecided{
		Target: ApprovalTarget{ObjectName: "Quote", RecordID: "r"}, Decision: "APPROVED",
		DecidedAt: stampOf(t, "2026-01-10T15:00:00Z"), FinalStageIndex: 10,
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
}

func stampOf(t *testing.T, text string) canonical.Stamp {
	t.Helper()
	s, err := canonical.ParseStamp(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestPayloadsOfAnotherFormAreRefusedWithTheirPlace(t *testing.T) {
	for payload, want := range map[string]string{
		`{"comment":7}`:             "/payload/comment",
		`{"finalStageIndex":1.5}`:   "/payload/finalStageIndex",
		`{"target":{"recordId":1}}`: "/payload/target/recordId",
		`{"decidedAt":"today"}`:     "/payload/decidedAt",
		`{`:                         "/payload",
	} {
		_, err := DecodePayload[ApprovalDecided](&Event{Type: "ApprovalDecided", Payload: []byte(payload)})
		failure, _ := fault.As(err)
		if failure == nil || failure.Kind != fault.Invalid || failure.Code != CodeEventInvalid ||
			!strings.HasPrefix(failure.Message, want+" ") {
			t.Errorf("%s: got %v, want %s", payload, err, want)
		}
	}
}

func TestPayloadsAreWrittenTheSameEveryTime(t *testing.T) {
	created := RecordCreated{Fields: map[string]jsontext.Value{}, RecordVersion: 1}
	for _, name := range []string{"a", "b", "c", "d", "金額"} {
		created.Fields[name] = jsontext.Value("1")
	}
	const want = `"fields":{"a":1,"b":1,"c":1,"d":1,"金額":1}`
	for range 20 {
		if got, err := NewPayload(created); err != nil || !strings.Contains(string(got), want) {
			t.Fatalf("got %s, %v, want %s in it", got, err, want)
		}
	}
}

func TestPayloadsThatCannotBeWrittenAreRefused(t *testing.T) {
	for name, p := range map[string]Payload{
		"a time that is none": RecordDeleted{Deleted: true},
		"a value that is not JSON": RecordCreated{RecordVersion: 1, Fields: map[string]jsontext.Value{
			"a": jsontext.Value("{"),
		}},
		"a text that is not Unicode": RecordDeleted{ObjectName: "\xff", RecordVersion: 1},
	} {
		if _, err := NewPayload(p); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
