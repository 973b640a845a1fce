package test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// judge holds the answers of a race against the log: whoever was accepted is there
// and whoever was refused is not, and the end is what the order says.
func (l *lane) judge(id string, cancel, rival *request) {
	if l.t.Failed() {
		return
	}
	log := l.rival.events(id)
	v, _ := l.rival.view(id)
	status := checkLog(l.t, id, log)
	if v.Status != status || !v.ended() {
		l.t.Errorf("execution %s is %s, its log says %s", id, v.Status, status)
	}
	rivalWon := l.pairing.effect.in(log)
	if l.pairing.effect.kind == "" {
		rivalWon = l.judgeTwo(log, cancel, rival)
	}
	l.judgeCancel(&v, log, cancel, rivalWon)
	if l.pairing.due > 0 {
		if rival.status != http.StatusAccepted {
			l.t.Errorf("%s, which sets the deadline: %d %s", rival.path(), rival.status, rival.answer)
		}
	} else if l.pairing.effect.kind != "" {
		l.judgeRival(&v, cancel, rival, rivalWon)
	}
	l.afterwards(&v, cancel)
	l.steer(!rivalWon, id, outcome{status, uint64(len(log))})
}

// judgeCancel checks the answer of the cancel and the end of the execution.
func (l *lane) judgeCancel(v *view, log []event, cancel *request, rivalWon bool) {
	a := cancel.reply()
	if rivalWon && l.pairing.ends != "" {
		if cancel.status != http.StatusConflict || a.Error.Details.Guard != "execution_active" ||
			v.Status != l.pairing.ends {
			l.t.Errorf("execution %s came to %s, then its cancel was answered %d %s", v.ExecutionID, v.Status,
				cancel.status, cancel.answer)
		}
		return
	}
	if cancel.status != http.StatusAccepted || v.Status != "CANCELED" {
		l.t.Errorf("execution %s is %s, its cancel was answered %d %s", v.ExecutionID, v.Status, cancel.status,
			cancel.answer)
		return
	}
	if v.Cancel == nil || v.Cancel.Seq != a.CancelSeq || uint64(len(log)) < a.CancelSeq ||
		log[a.CancelSeq-1].Type != "EXECUTION_CANCEL_REQUESTED" {
		l.t.Errorf("execution %s: the cancel was answered %s, its view says %+v", v.ExecutionID, cancel.answer,
			v.Cancel)
	}
}

// judgeRival checks the answer of a rival command: accepted before the cancel, or
// refused at the fence, and then kept when it was a result.
func (l *lane) judgeRival(v *view, cancel, rival *request, won bool) {
	if won {
		if rival.status != http.StatusAccepted {
			l.t.Errorf("%s took effect and was answered %d %s", rival.path(), rival.status, rival.answer)
		}
		return
	}
	checkFence(l.t, rival, cancel.reply().CancelSeq)
	late := rival.reply().Error.Details.Late
	if late != l.pairing.late || len(v.Late) != 0 != late {
		l.t.Errorf("%s was answered %s; late results: %+v", rival.path(), rival.answer, v.Late)
		return
	}
	if !late {
		return
	}
	kept := v.Late[0]
	if len(v.Late) != 1 || kept.Command != rival.command || kept.NodeID != rival.node || kept.Attempt != 1 ||
		kept.Guard != "cancel_fence" || kept.Output.By+kept.Error.Message != "rival" {
		l.t.Errorf("execution %s: %s %s was kept as %+v", v.ExecutionID, rival.command, rival.members, v.Late)
	}
}

// checkFence checks that a command was refused because a cancel had won.
func checkFence(t testing.TB, r *request, fence uint64) {
	t.Helper()
	e := r.reply().Error
	want := r.command + " rejected because execution is cancel-requested"
	if r.status != http.StatusConflict || e.Details.Guard != "cancel_fence" || e.Details.Fence != fence ||
		e.Message != want {
		t.Errorf("%s after the cancel at event %d was answered %d %s", r.path(), fence, r.status, r.answer)
	}
}

// judgeTwo checks two cancels: both accepted, one of them is in the log.
func (l *lane) judgeTwo(log []event, first, second *request) (secondWon bool) {
	a, b := first.reply(), second.reply()
	if first.status != http.StatusAccepted || second.status != http.StatusAccepted || a.CancelSeq != b.CancelSeq ||
		a.CancelSeq == 0 {
		l.t.Errorf("two cancels were answered %d %s and %d %s", first.status, first.answer, second.status,
			second.answer)
		return false
	}
	won := log[a.CancelSeq-1]
	for _, r := range []*request{first, second} {
		if won.CorrelationID == r.corr && !strings.Contains(r.members, `"`+won.Payload.Reason+`"`) {
			l.t.Errorf("the cancel with key %s won, the log has the reason %q", r.key, won.Payload.Reason)
		}
	}
	return won.CorrelationID == second.corr
}

// afterwards tries to move an execution that was canceled, and repeats the cancel.
func (l *lane) afterwards(v *view, cancel *request) {
	if err := l.canceler.repeat(l.t.Context(), cancel); err != nil {
		l.t.Error(err)
	}
	if v.Status != "CANCELED" {
		return
	}
	for _, s := range l.pairing.before {
		again := l.rival.request(s.command, v.ExecutionID, s.node, s.members)
		l.do(l.rival, again)
		checkFence(l.t, again, v.Cancel.Seq)
	}
	again := l.canceler.request("CancelExecution", v.ExecutionID, "", "")
	l.do(l.canceler, again)
	if a := again.reply(); again.status != http.StatusAccepted || a.CancelSeq != v.Cancel.Seq {
		l.t.Errorf("another cancel of %s, canceled at %d: %d %s", v.ExecutionID, v.Cancel.Seq, again.status,
			again.answer)
	}
}

// spans are measured times, for percentiles.
type spans []time.Duration

func (s spans) at(percent int) time.Duration {
	sorted := slices.Sorted(slices.Values(s))
	return sorted[(len(sorted)-1)*percent/100]
}

func round(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }
