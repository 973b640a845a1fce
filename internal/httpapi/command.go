package httpapi

import (
	"path"
	"strings"

	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/workflow/flow"
)

// Named maxima of a request. Texts are counted in code points, as the contract does.
const (
	MaxBody      = 1 << 20 // bytes of one command's body
	MaxBatchBody = 8 << 20 // bytes of a POST /commands
	MaxGraphBody = 8 << 20 // bytes of a graph
	MaxCommands  = 500     // in a POST /commands
	MaxWatched   = 100_000 // executions that all task watches look at

	MaxCallerWatched = 20_000 // of them, those of one caller

	maxWorker    = 128
	maxReason    = 1024
	maxMessage   = 4096
	maxErrorCode = flow.MaxErrorCode
	maxAttempt   = 1<<31 - 1
	maxVersion   = 1<<31 - 1 // of a graph
	maxQueues    = 100
	maxTasks     = 100
	maxHeld      = 1000 // tasks in a POST /tasks/watch
	maxWait      = 30   // seconds that a claim or a watch may wait
	maxLease     = 3600 // seconds of a lease
	defaultLease = 60
	maxProgress  = 100
	defaultTasks = 1
)

// command is one command on the wire: where it is sent, who may send it, which
// members its body may have, and what they make.
type command struct {
	operation string // of the contract, from which action, onNode and scope come
	name      string
	action    string // last segment of its endpoint; "": it creates its execution
	onNode    bool
	scope     string
	may       memberSet
	build     func(b *body, node string) flow.Command
}

// commands are all commands that a caller may send.
var commands = contracted([]command{
	{
		operation: "createExecution", name: flow.Create{}.Name(),
		may: set(mGraphID, mGraphVersion, mInput, mBusinessKey, mLabels, mRerunOf, mStart, mClaim),
		build: func(b *body, _ string) flow.Command {
			return flow.Create{
				Input: b.object(mInput), BusinessKey: b.businessKey(), Labels: b.labels(), RerunOf: b.id(mRerunOf),
			}
		},
	},
	{
		operation: "startExecution", name: flow.Start{}.Name(),
		build: func(*body, string) flow.Command { return flow.Start{} },
	},
	{
		operation: "cancelExecution", name: flow.Cancel{}.Name(), may: set(mReason),
		build: func(b *body, _ string) flow.Command { return flow.Cancel{Reason: b.text(mReason, 0, maxReason)} },
	},
	{
		operation: "archiveExecution", name: flow.Archive{}.Name(), may: set(mReason),
		build: func(b *body, _ string) flow.Command { return flow.Archive{Reason: b.text(mReason, 0, maxReason)} },
	},
	{
		operation: "startNode", name: flow.StartNode{}.Name(), may: set(mAttempt, mWorkerID),
		build: func(b *body, node string) flow.Command {
			b.require(mAttempt)
			return flow.StartNode{Node: node, Attempt: b.attempt(), Worker: b.worker()}
		},
	},
	{
		operation: "reportNodeProgress", name: flow.Progress{}.Name(),
		may: set(mProgress, mMessage, mMetrics, mAttempt, mWorkerID),
		build: func(b *body, node string) flow.Command {
			return flow.Progress{
				Node: node, Attempt: b.attempt(), Worker: b.worker(),
				Progress: b.number(mProgress, 0, maxProgress), Message: b.text(mMessage, 0, maxMessage),
				Metrics: b.object(mMetrics),
			}
		},
	},
	{
		operation: "putNodeWaiting", name: flow.Wait{}.Name(),
		may: set(mWaitKey, mPrompt, mAttempt, mWorkerID),
		build: func(b *body, node string) flow.Command {
			return flow.Wait{
				Node: node, Attempt: b.attempt(), Worker: b.worker(),
				WaitKey: b.text(mWaitKey, 1, flow.MaxWaitKey), Prompt: b.object(mPrompt),
			}
		},
	},
	{
		operation: "resumeNode", name: flow.Resume{}.Name(), may: set(mResumeKey, mOutput),
		build: func(b *body, node string) flow.Command {
			return flow.Resume{Node: node, ResumeKey: b.text(mResumeKey, 1, flow.MaxWaitKey), Output: b.object(mOutput)}
		},
	},
	{
		operation: "succeedNode", name: flow.Succeed{}.Name(),
		may: set(mOutput, mAttempt, mWorkerID, mNext),
		build: func(b *body, node string) flow.Command {
			return flow.Succeed{
				Node: node, Attempt: b.attempt(), Worker: b.worker(), Output: b.object(mOutput), Next: b.flag(mNext),
			}
		},
	},
	{
		operation: "failNode", name: flow.Fail{}.Name(),
		may: set(mError, mAttempt, mWorkerID, mNext),
		build: func(b *body, node string) flow.Command {
			return flow.Fail{
				Node: node, Attempt: b.attempt(), Worker: b.worker(), Error: b.failure(mError), Next: b.flag(mNext),
			}
		},
	},
	{
		operation: "cancelNode", name: flow.CancelNode{}.Name(), may: set(mReason),
		build: func(b *body, node string) flow.Command {
			return flow.CancelNode{Node: node, Reason: b.text(mReason, 0, maxReason)}
		},
	},
})

// contracted fills in what the contract says of the operations of commands.
func contracted(all []command) []command {
	for i := range all {
		c := &all[i]
		route := gate.FromContract([]gate.Route{{Operation: c.operation}})[0]
		c.scope, c.onNode = route.Scope, strings.Contains(route.Pattern, "{nodeId}")
		if _, below, ok := strings.Cut(route.Pattern, "{executionId}"); ok {
			c.action = path.Base(below)
		}
	}
	return all
}

// find looks a command up by its name in quotes, as it stands in a body.
func find(quoted []byte) *command {
	for i := range commands {
		if n := len(commands[i].name); len(quoted) == n+2 && string(quoted[1:n+1]) == commands[i].name {
			return &commands[i]
		}
	}
	return nil
}

// creates reports whether the command makes its execution.
func (cmd *command) creates() bool { return cmd.action == "" }

// works reports whether the command is one of those of workers.
func (cmd *command) works() bool { return cmd.scope == scopeWork }

// endpoint is what a key of the command is scoped to: method and path of its own
// endpoint, in one spelling.
func (cmd *command) endpoint(execution, node string) string {
	switch {
	case cmd.creates():
		return "POST /executions"
	case cmd.onNode:
		return "POST /executions/" + execution + "/nodes/" + node + "/" + cmd.action
	}
	return "POST /executions/" + execution + "/" + cmd.action
}
