// Package approval lets records be approved: somebody submits one, others decide stage by
// stage, and until then some of its fields stay as they are.
//
// An approval is an execution of the engine with one Wait node a stage. That a record is
// submitted, that a stage passes and that an approval ends are each one transaction: the
// rows here, the command to the execution, the lock in the record and the event. So of two who
// decide at once one comes first and the other is refused; and a cancel of the execution, by
// a recall or by an operator, wins over every decision after it.
//
// Who may decide is worked out of the tenant's model whenever somebody asks: the step
// names users, roles and groups, and whoever these are now are the approvers. What was
// submitted keeps the steps of its process as they were.
//
// The invariants: a record has at most one pending approval; its fields are locked exactly
// as long as that is pending, and until records has written the outcome, if there is one; an
// approval ends once, with one ApprovalDecided.
//
// The package reads and locks records through a port and never changes them.
package approval
