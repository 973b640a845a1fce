// Package schedules starts executions of graphs at the times of cron lines, and keeps a ledger in which every due
// instant of a schedule has an outcome: started, skipped with a reason, missed, or queued.
//
// The decision is a pure function: decide says what becomes of the instants that are due, by the schedule, the time
// and the execution that it started last. The loop around it claims some due schedules of one tenant after the other
// for a few seconds, so that processes do not decide about the same ones, and asks the engine to start what is to be
// started. The rows of the ledger, the schedule's place and the starts are one transaction, which begins by asking
// whether somebody else changed the schedule meanwhile.
//
// A backfill lets past instants without an execution wait: rows of the ledger with another origin, which the same loop
// starts one after the other.
//
// The invariant: between since and next_at every due instant of a schedule is in exactly one row of the ledger, and a
// row that says STARTED names the one execution that was started for it.
package schedules
