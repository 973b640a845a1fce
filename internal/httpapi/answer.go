package httpapi

import (
	"context"
	"net/http"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/rest"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// Answers are written by hand: they are the larger part of what the server says
// under load, and a replay must be equal byte for byte.

// appendAnswer writes the body of an answer and gives its status.
func appendAnswer(dst []byte, ans *engine.Answer) (status int, _ []byte) {
	return statusOf(ans), appendMembers(append(dst, '{'), ans)
}

// appendResult writes a result of POST /commands: the status of the command's own
// endpoint and the members of its body.
func (a *API) appendResult(ctx context.Context, dst []byte, r *engine.Result) []byte {
	dst = append(dst, `{"status":`...)
	if r.Err != nil {
		return rest.AppendFailure(ctx, a.cfg.Log, dst, r.Err)
	}
	dst = strconv.AppendInt(dst, int64(statusOf(&r.Answer)), 10)
	return appendMembers(append(dst, ','), &r.Answer)
}

func statusOf(ans *engine.Answer) int {
	switch {
	case ans.Refused != nil && ans.Refused.Guard == flow.GuardAssignee:
		return http.StatusForbidden
	case ans.Refused != nil:
		return http.StatusConflict
	case ans.Replay:
		return http.StatusOK
	}
	return http.StatusAccepted
}

// appendMembers writes the members of an answer and the closing bracket.
func appendMembers(dst []byte, ans *engine.Answer) []byte {
	if ans.Refused != nil {
		return appendRefusal(dst, ans.Refused, ans.Late)
	}
	dst = append(dst, `"executionId":"`...)
	dst = appendID(dst, ans.Execution)
	dst = append(dst, `","command":"`...)
	dst = append(dst, ans.Command...)
	dst = append(dst, `","accepted":true,"correlationId":`...)
	dst = appendText(dst, ans.CorrelationID)
	dst = append(dst, `,"idempotencyKey":`...)
	dst = appendText(dst, ans.Key)
	if ans.CancelSeq > 0 {
		dst = append(dst, `,"cancelSeq":`...)
		dst = strconv.AppendUint(dst, ans.CancelSeq, 10)
	}
	if ans.Task != nil {
		dst = append(dst, `,"task":`...)
		dst = appendTask(dst, ans.Task)
	}
	if ans.Tasks != nil {
		dst = appendTasks(append(dst, ','), ans.Tasks)
	}
	return append(dst, '}')
}

// appendTasks writes the member tasks.
func appendTasks(dst []byte, tasks []engine.Task) []byte {
	dst = append(dst, `"tasks":[`...)
	for i := range tasks {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendTask(dst, &tasks[i])
	}
	return append(dst, ']')
}

func appendTask(dst []byte, t *engine.Task) []byte {
	dst = append(dst, `{"executionId":"`...)
	dst = appendID(dst, t.Execution)
	dst = append(dst, `","nodeId":`...)
	dst = appendText(dst, t.Node)
	dst = append(dst, `,"attempt":`...)
	dst = strconv.AppendInt(dst, int64(t.Attempt), 10)
	dst = append(dst, `,"graphId":`...)
	dst = appendText(dst, t.GraphID)
	dst = append(dst, `,"queue":`...)
	dst = appendText(dst, t.Queue)
	dst = append(dst, `,"correlationId":`...)
	dst = appendText(dst, t.Corr)
	dst = append(dst, `,"input":`...)
	if len(t.Input) > 0 {
		dst = append(dst, t.Input...)
	} else {
		dst = append(dst, "{}"...) // an execution that was created without one
	}
	if t.Error != nil {
		dst = appendError(append(dst, `,"error":`...), t.Error)
	}
	dst = appendByNode(append(dst, `,"outputs":`...), t.Outputs, func(dst []byte, output flow.Data) []byte {
		return append(dst, output...)
	})
	if len(t.OutputRefs) > 0 {
		dst = appendByNode(append(dst, `,"outputRefs":`...), t.OutputRefs, appendRef)
	}
	if t.LeaseUntil != 0 {
		dst = append(dst, `,"leaseUntil":"`...)
		dst = append(append(dst, t.LeaseUntil.String()...), '"')
	}
	return append(dst, '}')
}

func appendRef(dst []byte, ref engine.OutputRef) []byte {
	dst = strconv.AppendUint(append(dst, `{"seq":`...), ref.Seq, 10)
	return append(strconv.AppendInt(append(dst, `,"size":`...), int64(ref.Size), 10), '}')
}

// appendByNode writes an object with a member for each node, in order: a replay must be equal.
func appendByNode[V any](dst []byte, of map[string]V, value func(dst []byte, v V) []byte) []byte {
	var few [8]string
	nodes := few[:0]
	for node := range of {
		nodes = append(nodes, node)
	}
	slices.Sort(nodes)
	dst = append(dst, '{')
	for i, node := range nodes {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = value(append(appendText(dst, node), ':'), of[node])
	}
	return append(dst, '}')
}

// appendError writes why a node failed.
func appendError(dst []byte, e *flow.Error) []byte {
	dst = appendText(append(dst, `{"code":`...), e.Code)
	dst = appendText(append(dst, `,"message":`...), e.Message)
	if e.Detail != nil {
		dst = append(append(dst, `,"detail":`...), e.Detail...)
	}
	if e.Final {
		dst = append(dst, `,"final":true`...)
	}
	return append(dst, '}')
}

// appendRefusal writes why the state refused a command: the guard, what it saw,
// and the event that made it so.
func appendRefusal(dst []byte, r *flow.Refusal, late bool) []byte {
	dst = append(dst, `"error":{"code":"COMMAND_REJECTED","message":`...)
	dst = appendText(dst, r.Error())
	dst = append(dst, `,"details":{"guard":"`...)
	dst = append(dst, r.Guard...)
	dst = append(dst, `","state":{"execution":"`...)
	dst = append(append(dst, r.Execution.String()...), '"')
	if r.Node != "" {
		dst = append(dst, `,"node":`...)
		dst = appendText(dst, r.Node)
		dst = append(dst, `,"nodeStatus":"`...)
		dst = append(dst, r.NodeStatus.String()...)
		dst = append(dst, `","attempt":`...)
		dst = strconv.AppendInt(dst, int64(r.Attempt), 10)
	}
	dst = append(dst, '}')
	if !r.Holder.IsZero() {
		dst = append(dst, `,"executionId":"`...)
		dst = append(appendID(dst, r.Holder), '"')
	}
	if r.Needs != nil {
		dst = appendAssignees(append(dst, `,"assignees":`...), r.Needs)
	}
	dst = append(dst, `,"cause":{"eventId":"`...)
	dst = appendID(dst, r.Cause.ID)
	dst = append(dst, `","type":"`...)
	dst = append(dst, r.Cause.Type.String()...)
	dst = append(dst, `","seq":`...)
	dst = strconv.AppendUint(dst, r.Cause.Seq, 10)
	dst = append(dst, `,"occurredAt":"`...)
	dst = append(dst, r.Cause.At.String()...)
	dst = append(dst, `"}`...)
	if r.Fence > 0 {
		dst = append(dst, `,"cancelSeq":`...)
		dst = strconv.AppendUint(dst, r.Fence, 10)
	}
	dst = append(dst, `,"lateResultKept":`...)
	dst = strconv.AppendBool(dst, late)
	class, advice := adviceOn(r)
	dst = append(dst, `,"reasonClass":"`...)
	dst = append(dst, class...)
	dst = append(dst, `","retryAdvice":"`...)
	dst = append(append(dst, advice...), '"')
	if newKey(advice) {
		dst = append(dst, `,"newKey":true`...)
	}
	return append(dst, `}}}`...)
}

func appendAssignees(dst []byte, a *flow.Assignees) []byte {
	raw, _ := json.Marshal(a) // texts alone
	return append(dst, raw...)
}

// adviceOn says whether the same command, under another key, can be accepted
// later: some guards look at what still changes by itself, some at what the
// caller can change.
func adviceOn(r *flow.Refusal) (fault.ReasonClass, fault.RetryAdvice) {
	switch r.Guard {
	case flow.GuardAssignee:
		return fault.ReasonAuth, fault.RetryAfterFix
	case flow.GuardResumeKey, flow.GuardNodeTask:
		return fault.ReasonValidation, fault.RetryAfterFix
	case flow.GuardBusinessKey: // until its execution has ended
		return fault.ReasonRunConflict, fault.RetryWithBackoff
	case flow.GuardRetry, flow.GuardNodeReady, flow.GuardNodeRunning, flow.GuardNodeWaiting, flow.GuardStarted,
		flow.GuardEnded:
		if !r.Execution.Terminal() && !r.NodeStatus.Terminal() && !attemptOver(r) {
			return fault.ReasonRunConflict, fault.RetryWithBackoff
		}
	}
	return fault.ReasonRunConflict, fault.DoNotRetry
}

// newKey reports whether the advice on a refusal that its key remembers can be followed under another key only.
func newKey(a fault.RetryAdvice) bool { return a != fault.DoNotRetry }

// attemptOver reports that a worker spoke of an attempt that has ended: the node waits
// for the next one, of which this result must not decide.
func attemptOver(r *flow.Refusal) bool {
	switch r.Command {
	case flow.Succeed{}.Name(), flow.Fail{}.Name(), flow.Progress{}.Name(), flow.Wait{}.Name():
		return r.Attempt > 0 && (r.NodeStatus == flow.NodeIsReady || r.Guard == flow.GuardRetry)
	}
	return false
}

func appendID(dst []byte, id flow.ID) []byte {
	dst, _ = id.AppendText(dst) // never fails
	return dst
}

// appendText writes a JSON string.
func appendText(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			dst, _ = jsontext.AppendQuote(dst, s) // bad UTF-8 was refused on the way in
			return dst
		}
	}
	dst = append(dst, '"')
	return append(append(dst, s...), '"')
}
