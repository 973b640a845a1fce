package flow_test

import (
	"maps"
	"slices"
	"testing"

	"renga.dev/renga/internal/workflow/flow"
)

// seldom is how often everything must have been seen at least. The seeds are fixed,
// so a run that falls below it was changed, not unlucky.
const seldom = 20

// checkCoverage fails a run that applied too little stress.
func checkCoverage(t *testing.T, seen map[string]int) {
	t.Helper()
	for _, what := range mustBeSeen() {
		if seen[what] < seldom {
			t.Errorf("%q was seen %d times, want at least %d", what, seen[what], seldom)
		}
	}
	if t.Failed() {
		for _, what := range slices.Sorted(maps.Keys(seen)) {
			t.Logf("%7d %s", seen[what], what)
		}
	}
}

// mustBeSeen is what a run has to come across: every event, every guard, every way
// a Join can go, and a cancel in every phase.
func mustBeSeen() []string {
	all := []string{
		"cancel before start", "cancel while READY", "cancel while RUNNING", "cancel while WAITING",
		"cancel while retry pending", "cancel while a fork is open", "cancel again", "cleanup started",
		"cancel refused after COMPLETED", "cancel refused after FAILED",
		"reached Canceled", "reached Failed from SUCCEEDED", "reached Failed from FAILED",
		"reached Failed from CANCELED",
		"reached a node that was cancelled before", "reached a Join that was cancelled before",
		"Join cancelled with its gate open",
		"Join cancelled in a fork that an outer Join has closed",
		"join CUSTOM broken", "join decided while its fork opened",
		"branch completed", "branch failed", "branch canceled", "live node ended by a failure",
		"attempt timed out", "lease ran out", "Wait timed out", "timer fired", "timeout edge taken",
		"reminded", "reminded no more",
		"deadline without effect",
		"retried", "retry became ready", "no retry after E1", "no retry after ERR_TIMEOUT",
		"no retry after a final error", "next started", "next found nothing", "no such node", "data held by reference",
		"failed with E1", "failed with ERR_TIMEOUT", "failed with ERR_EXPRESSION", "failed with NO_EDGE",
		"failed with JOIN_NOT_PASSABLE", "cause of a Join in a Join",
		"an earlier failure is remembered", "a Task declares its input", "the input of a Task failed",
		"a Wait shows fields", "the prompt of a Wait failed", "output does not fit",
		"failure edge taken", "failure edge taken after a node was cancelled",
		"expression of a failure edge failed", "expression of a failure edge failed after a node was cancelled",
	}
	for _, typ := range flow.Types() {
		all = append(all, "event "+typ.String())
	}
	for _, guard := range []flow.Guard{
		flow.GuardCancelFence, flow.GuardActive, flow.GuardNotStarted, flow.GuardStarted, flow.GuardEnded,
		flow.GuardNotArchived, flow.GuardNodeTask, flow.GuardNodeReady, flow.GuardNodeRunning, flow.GuardNodeWaiting,
		flow.GuardNodeLive, flow.GuardRetry, flow.GuardAttempt, flow.GuardWorker, flow.GuardResumeKey,
		flow.GuardAssignee,
	} {
		all = append(all, "guard "+string(guard))
	}
	for _, policy := range []flow.Policy{flow.AllSuccess, flow.AnySuccess, flow.AllDone, flow.Custom} {
		all = append(all, "join "+string(policy)+" open", "join "+string(policy)+" passed")
		if policy != flow.AllDone { // it can always pass in the end
			all = append(all, "join "+string(policy)+" impossible", "live branch closed by "+string(policy))
		}
	}
	for _, status := range []string{"CREATED", "READY", "RUNNING", "WAITING"} {
		all = append(all, "node cancelled while "+status+" in a fork", "node cancelled while "+status+" outside")
	}
	return all
}
