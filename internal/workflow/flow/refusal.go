package flow

import "fmt"

// Guard is the rule that refused a command.
type Guard string

// The guards, in the order in which they are asked.
const (
	GuardBusinessKey Guard = "business_key"       // no active execution of the graph has the business key
	GuardCancelFence Guard = "cancel_fence"       // no cancel was requested
	GuardActive      Guard = "execution_active"   // the execution has not ended
	GuardNotStarted  Guard = "not_started"        // the execution was not started before
	GuardStarted     Guard = "started"            // the execution was started
	GuardEnded       Guard = "execution_terminal" // the execution has ended
	GuardNotArchived Guard = "not_archived"
	GuardRetry       Guard = "retry_pending" // the node does not wait for its next attempt
	GuardNodeTask    Guard = "node_task"     // the node is a Task
	GuardNodeReady   Guard = "node_ready"    // the node is READY
	GuardNodeRunning Guard = "node_running"  // the node is RUNNING
	GuardNodeWaiting Guard = "node_waiting"  // the node is WAITING
	GuardNodeLive    Guard = "node_not_terminal"
	GuardAttempt     Guard = "attempt_due" // the attempt is the one that is due or running
	GuardWorker      Guard = "lease_owner" // the worker is the one that runs the attempt
	GuardResumeKey   Guard = "resume_key"
	GuardAssignee    Guard = "assignee" // who resumes the Wait is one of its assignees
	GuardMessage     Guard = "message"  // the node asks for the message, and takes its payload
)

// Refusal is a command that the state refused: which rule said no, what it saw, and the event that
// made it so. Its JSON is that of a record in the log, which has the command and the node itself.
type Refusal struct {
	Command    string     `json:"-"`
	Guard      Guard      `json:"g"`
	Reason     string     `json:"r"` // why, after "<command> rejected because "
	Execution  Status     `json:"e,omitzero"`
	Node       string     `json:"-"`
	NodeStatus NodeStatus `json:"n,omitzero"`
	Attempt    int        `json:"a,omitzero"` // of the node; 0 when the refusal is not about one
	Cause      EventRef   `json:"c"`
	Fence      uint64     `json:"f,omitzero"`  // the seq where cancel won, 0 when there was no cancel
	Holder     ID         `json:"h,omitzero"`  // the execution that has the business key
	Needs      *Assignees `json:"p,omitempty"` // of whom one is needed
}

func (r *Refusal) Error() string { return fmt.Sprintf("%s rejected because %s", r.Command, r.Reason) }

// Need asks for data that the state holds by reference: put the data of these events into
// Facts.Outputs and ask again.
type Need []uint64

func (n Need) Error() string { return fmt.Sprintf("flow: needs the data of events %v", []uint64(n)) }
