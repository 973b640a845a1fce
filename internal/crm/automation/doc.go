// Package automation carries out the rules and jobs that tenants define.
//
// Validation rules, and workflow rules that act before a save, are a part of the decision
// about a record: Rules answers records within its transaction, from the model alone.
//
// Workflow rules that act after a save are carried out by the event of the change. What a
// rule sees is the record as that change left it, and as it was before, whatever happened to
// it since. Notes in an inbox, tasks and changes of the record are written in the
// transaction that takes the event; a graph is noted there and started by Run, together with
// the note that it was. An action is a row of automation_run, keyed by event, rule, action
// and record: what is there is not done again.
//
// A change that an action makes is told as any other, and rules may act on it. Its row in
// automation_cause says how it came about, so that rules which set each other off end as a
// dead letter that shows the chain.
//
// Jobs come at the times of their cron lines. Whichever process comes first fires a job for
// one time, and works through its records in chunks; the place it got to is written with what
// it did.
//
// The invariant: an effect and the row that says it happened are one transaction.
//
// The package changes records through a port, and knows nothing of HTTP.
package automation
