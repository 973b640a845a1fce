package flow

import (
	"bufio"
	"bytes"
	"errors"
	"io/fs"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// examples has one event of each type, with every member set.
func examples() []Event {
	at := scriptZero
	progress := 42.5
	ann, system := &Actor{Kind: KindUser, ID: "ann"}, &Actor{Kind: KindSystem}
	failure := &Error{Code: "ERR_TIMEOUT", Message: "timeout", Detail: Data(`{"after":"5s"}`)}
	payloads := []Payload{
		&ExecutionCreated{
			GraphID: "order", Input: Data(`{"orderId":"o-1","total":12.50}`), GraphVersion: 3,
			GraphDigest: "sha256:00ff",
		},
		&ExecutionStarted{StartedBy: ann},
		&ExecutionCompleted{Result: Data(`{"ok":true}`)},
		&ExecutionArchived{Reason: "filed"},
		&ExecutionCancelRequested{Reason: "客の都合", RequestedBy: ann},
		&ExecutionCanceled{Reason: "客の都合", CanceledAt: at},
		&ExecutionFailRequested{Reason: "node pay failed", RequestedBy: system},
		&ExecutionFailed{Reason: "node pay failed", FailedNodeID: "pay", Error: failure},
		&NodeCreated{NodeID: "pay", NodeType: TaskKind, Meta: Data(`{"title":"Pay"}`)},
		&NodeReady{NodeID: "pay", Attempt: 2},
		&NodeStarted{
			NodeID: "pay", Attempt: 2, WorkerID: "worker-1", Lease: 60, LeaseUntil: at.Add(60e9),
			TimeoutAt: at.Add(300e9),
		},
		&NodeProgressReported{
			NodeID: "pay", Progress: &progress, Message: "processing...", Metrics: Data(`{"rows":7}`),
			LeaseUntil: at.Add(90e9),
		},
		&NodeWaiting{
			NodeID: "approve", WaitKey: "approval-123", Prompt: Data(`{"ask":"ok?"}`),
			WaitUntil: at.Add(3600e9),
		},
		&NodeResumeRequested{NodeID: "approve", ResumeKey: "approval-123", RequestedBy: ann},
		&NodeResumed{NodeID: "approve", LeaseUntil: at.Add(60e9), TimeoutAt: at.Add(120e9)},
		&NodeSucceeded{NodeID: "pay", Output: Data(`{"receipt":"r-1"}`)},
		&NodeFailReported{NodeID: "pay", Error: failure, Attempt: 1, RetryAt: at.Add(2e9)},
		&NodeFailed{NodeID: "pay", Error: failure},
		&NodeCancelRequested{NodeID: "ship", Reason: "join both was passed"},
		&NodeCanceled{NodeID: "ship", Reason: "join both was passed", ByExecution: false},
		&NodeInterruptRequested{NodeID: "ship", WorkerID: "worker-2", Reason: "join both was passed"},
		&ForkOpened{NodeID: "split", BranchIDs: []string{"pay", "ship"}},
		&JoinGateUpdated{
			NodeID: "both", Expected: []string{"pay", "ship"}, Completed: []string{"pay"}, Failed: []string{},
			Canceled: []string{"ship"}, Policy: AllDone, Passable: true,
		},
		&JoinPassed{NodeID: "both"},
	}
	events := make([]Event, len(payloads))
	for i, p := range payloads {
		events[i] = Event{
			ID: testID(1, i), Execution: testID(2, 0), Seq: uint64(i + 1), Type: p.Type(), At: at.Add(1e6 * 7),
			Actor: Actor{Kind: KindExternal, ID: "worker-1"}, CorrelationID: "order-1", Payload: p,
		}
		if i > 0 {
			events[i].CausationID = events[i-1].ID
		}
	}
	return events
}

// A published event is never edited: what was written once must be read for ever,
// and be written the same.
func TestPublishedEventsAreReadAndWrittenAsTheyWere(t *testing.T) {
	const file = "testdata/events.golden.jsonl"
	var lines []byte
	for _, ev := range examples() {
		line, err := AppendEnvelope(nil, &ev)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(append(lines, line...), '\n')
	}
	golden, err := testdata.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) && *update {
		if err := os.WriteFile(file, lines, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(golden), string(lines)); diff != "" {
		t.Errorf("events are written otherwise than they were published (-published +now):\n%s", diff)
	}
	want := examples()
	scan := bufio.NewScanner(bytes.NewReader(golden))
	for i := 0; scan.Scan(); i++ {
		got, err := UnmarshalEvent(scan.Bytes())
		if err != nil {
			t.Fatalf("event %d: %v", i+1, err)
		}
		if diff := cmp.Diff(want[i], got); diff != "" {
			t.Errorf("event %d is read otherwise than it was meant (-want +got):\n%s", i+1, diff)
		}
	}
}

func TestThereAreExactly24Types(t *testing.T) {
	all := examples()
	if got := len(Types()); got != 24 || len(all) != 24 {
		t.Fatalf("got %d types and %d examples, want 24", got, len(all))
	}
	for i, typ := range Types() {
		if all[i].Type != typ || kinds[typ].make().Type() != typ {
			t.Errorf("type %d: got %s and %s, want %s", i+1, all[i].Type, kinds[typ].make().Type(), typ)
		}
	}
	if _, err := typeEnd.MarshalText(); err == nil {
		t.Error("a 25th type can be written")
	}
	if err := new(Type).UnmarshalText([]byte("NODE_SKIPPED")); err == nil {
		t.Error("a 25th type can be read")
	}
}
