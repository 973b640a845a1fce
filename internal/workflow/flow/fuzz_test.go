package flow

import (
	"fmt"
	"testing"
)

// FuzzApply feeds any list of events, three bytes each, to the reducer: it must
// not panic, CANCELED must be final, and the state must survive a snapshot.
func FuzzApply(f *testing.F) {
	var all []byte
	for t := range byte(typeEnd) {
		all = append(all, t, t%5, t*7)
	}
	f.Add(all)
	f.Add([]byte{9, 1, 0, 10, 1, 0, 11, 1, 1, 5, 0, 0, 3, 0, 0, 16, 1, 3, 6, 0, 0, 8, 0, 0})
	f.Add([]byte{6, 0, 0, 3, 0, 0, 24, 2, 0, 22, 2, 1, 23, 2, 7})
	f.Fuzz(func(t *testing.T, data []byte) {
		var s State
		canceled := false
		for i := 0; i+2 < len(data); i += 3 {
			ev := fuzzEvent(uint64(i/3+1), data[i], data[i+1], data[i+2])
			before := s.Status
			s = Apply(s, ev)
			if canceled = canceled || ev.Type == ExecutionCanceledType; canceled && s.Status != Canceled {
				t.Fatalf("after a cancel, %s makes the execution %s", ev.Type, s.Status)
			}
			if before.Terminal() && s.Status != before && s.Status != Canceled {
				t.Fatalf("%s makes a %s execution %s", ev.Type, before, s.Status)
			}
		}
		text := encode(t, &s)
		again, err := ParseState(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := encode(t, &again); string(got) != string(text) {
			t.Fatalf("the snapshot\n%s\nis read as\n%s", text, got)
		}
		if due, next := s.Due(1<<60), s.NextDeadline(); (next == 0) != (len(due) == 0) {
			t.Fatalf("the next deadline is %d, due are %+v", next, due)
		}
	})
}

// fuzzEvent makes an event of three bytes: its type, its node, and what it says.
func fuzzEvent(seq uint64, typ, node, say byte) Event {
	ev := Event{
		ID: testID(1, int(seq)), Execution: testID(2, 0), Seq: seq, Type: Type(typ), At: Time(1 + int64(say)),
		Actor: Actor{Kind: KindSystem},
	}
	if !ev.Type.Valid() {
		return ev
	}
	p := kinds[ev.Type].make()
	id, at, n := fmt.Sprintf("n%d", node), Time(say), int(say%4)
	data := Data(fmt.Sprintf(`{"x":%d}`, say))
	switch p := p.(type) {
	case *ExecutionCreated:
		p.GraphID, p.Input, p.BusinessKey, p.Labels = id, data, id, Labels{{id, id}}
		p.RerunOf = ID{say}
	case *ExecutionCompleted:
		p.Result = data
	case *ExecutionFailed:
		p.FailedNodeID, p.Error = id, &Error{Code: id}
	case *NodeCreated:
		p.NodeID, p.NodeType = id, Kind(1+say%byte(kindEnd-1))
	case *NodeReady:
		p.NodeID, p.Attempt = id, n
	case *NodeStarted:
		p.NodeID, p.Attempt, p.Lease, p.LeaseUntil, p.TimeoutAt = id, n, n, at, at*2
	case *NodeProgressReported:
		p.NodeID, p.Metrics, p.LeaseUntil = id, data, at
	case *NodeWaiting:
		p.NodeID, p.Prompt, p.WaitUntil, p.Reminder, p.RemindAt = id, data, at, n, at/2
	case *NodeResumeRequested:
		p.NodeID = id
	case *NodeResumed:
		p.NodeID, p.LeaseUntil, p.TimeoutAt = id, at, at
	case *NodeSucceeded:
		p.NodeID, p.Output = id, data
	case *NodeFailReported:
		p.NodeID, p.Error, p.RetryAt = id, &Error{}, at
	case *NodeFailed:
		p.NodeID = id
	case *NodeCancelRequested:
		p.NodeID = id
	case *NodeCanceled:
		p.NodeID, p.ByExecution = id, say%2 == 0
	case *NodeInterruptRequested:
		p.NodeID = id
	case *ForkOpened:
		p.NodeID, p.BranchIDs = id, []string{id}
	case *JoinGateUpdated:
		p.NodeID, p.Expected, p.Completed, p.Passable = id, []string{id}, []string{}, say%2 == 0
	case *JoinPassed:
		p.NodeID = id
	}
	ev.Payload = p
	return ev
}
