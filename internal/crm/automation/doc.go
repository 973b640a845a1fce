// Package automation carries out the rules and jobs that tenants define.
//
// Validation rules, and workflow rules that act before a save, are a part of the decision
// about a record: Rules answers records within its transaction, from the model alone.
//
// Workflow rules that act after a save are carried out by the event of the change. A rule
// sees the record as that change left it, and as it was before. Notes, tasks and changes of
// the record are written in the transaction that handles the event; graphs are started by
// Run. An action is a row of automation_run, keyed by event, rule, action and record, and is
// not done again.
//
// A change that an action makes is published like any other, and rules may act on it. Its row
// in automation_cause has the actions that led to it, so that rules which trigger each other
// end as a dead letter that shows the chain.
//
// Jobs come at the times of their cron lines. One process fires a job for one time, and works
// through its records in chunks; its progress is written with what it did.
//
// The invariant: an effect and the row that says it happened are one transaction.
//
// The package changes records through a port.
package automation
