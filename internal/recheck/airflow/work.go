package airflow

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// The codes with which a check ends badly.
const (
	codeRunFailed   = "AIRFLOW_RUN_FAILED"    // the run ended as failed; final
	codeBadResult   = "AIRFLOW_BAD_RESULT"    // what the run returned cannot be read; final
	codeNoDAG       = "AIRFLOW_DAG_NOT_FOUND" // Airflow does not have the DAG, or not yet
	codeRunRefused  = "AIRFLOW_RUN_REFUSED"   // Airflow answers and says no
	codeRunGone     = "AIRFLOW_RUN_NOT_FOUND" // the run vanishes again and again
	codeServerFault = "AIRFLOW_SERVER_FAULT"  // Airflow answers 500 again and again about this run
)

const (
	maxFaults   = 10              // answers 500 about one run, in a row; an outage opens the circuit before
	maxRefusals = 5               // tries of something that Airflow says no to
	maxVanished = 3               // times that a run is triggered that was there before
	maxOutput   = 1 << 20         // bytes of an output that the engine takes
	patience    = 5 * time.Second // for results that the engine must still get when the process ends
)

// work does what is due about a job and puts it in line again, or drops it.
func (a *Adapter) work(ctx context.Context, j *job) {
	ctx = under(ctx, j.check.TraceID, j.check.RequestID)
	pause, done := a.step(ctx, j)
	if done {
		a.line.drop(j)
		return
	}
	a.line.back(j, pause)
}

// step does the next thing about a run, and says how long to wait for the one after.
func (a *Adapter) step(ctx context.Context, j *job) (pause time.Duration, done bool) {
	switch j.phase {
	case triggering:
		return a.trigger(ctx, j)
	case polling:
		return a.poll(ctx, j)
	}
	return a.end(ctx, j)
}

func (a *Adapter) trigger(ctx context.Context, j *job) (time.Duration, bool) {
	parameters := conf{j.check, j.tenant, j.task.Execution, j.task.Node}
	got, err := a.client.trigger(ctx, j.id, parameters)
	switch outcomeOf(err) {
	case ok:
		j.phase, j.tries, j.faults = polling, 0, 0
		a.note(ctx, j, got.State)
		return a.pollPause(j), false
	case conflict: // found, not doubled
		j.phase, j.tries, j.faults = polling, 0, 0
		return 0, false
	case notFound:
		return a.fail(ctx, j, codeNoDAG, "Airflow has no DAG "+a.cfg.DAG+", or has not read it yet.")
	}
	return a.later(ctx, j, err)
}

func (a *Adapter) poll(ctx context.Context, j *job) (time.Duration, bool) {
	got, err := a.client.run(ctx, j.id)
	if o := outcomeOf(err); o == notFound {
		// Airflow 2 says conflict also when another run has the same instant; or
		// somebody has deleted the run. The task is to be done all the same.
		if j.vanished++; j.vanished > maxVanished {
			return a.fail(ctx, j, codeRunGone, fmt.Sprintf("The run %s is not there after it was triggered.", j.id))
		}
		j.phase, j.state = triggering, ""
		return a.pollPause(j), false
	} else if o != ok {
		return a.later(ctx, j, err)
	}
	switch got.State {
	case runSucceeded:
		return a.finish(ctx, j)
	case runFailed:
		return a.failed(ctx, j, codeRunFailed,
			fmt.Sprintf("The DAG run %s ended as failed; Airflow's log of it says why.", j.id))
	}
	j.tries, j.faults = 0, 0
	a.note(ctx, j, got.State)
	return a.pollPause(j), false
}

// finish succeeds a task with what its run returned.
func (a *Adapter) finish(ctx context.Context, j *job) (time.Duration, bool) {
	output, err := a.client.result(ctx, j.id)
	switch o := outcomeOf(err); {
	case o == tooLarge || o == ok && len(output) > maxOutput:
		return a.failed(ctx, j, codeBadResult,
			fmt.Sprintf("The result of the run %s is too large: an output has at most %d bytes.", j.id, maxOutput))
	case o == unreadable && j.tries < maxRefusals:
		return a.retryPause(j), false
	case o == unreadable:
		return a.failed(ctx, j, codeBadResult, fmt.Sprintf("The result of the run %s is not JSON.", j.id))
	case o != ok:
		return a.later(ctx, j, err)
	}
	if output != nil {
		if err := canonical.Check(output); err != nil {
			return a.failed(ctx, j, codeBadResult, fmt.Sprintf("The result of the run %s cannot be taken: %s", j.id,
				cut(err.Error())))
		}
	}
	return a.succeed(ctx, j, output)
}

// failed ends a task with an error that is the check's answer and is not tried again.
func (a *Adapter) failed(ctx context.Context, j *job, code, message string) (time.Duration, bool) {
	output, err := json.Marshal(map[string]any{
		"error": map[string]string{"code": code, "message": message},
		"airflow": map[string]string{
			"dag_id": a.cfg.DAG, "dag_run_id": j.id,
			"reason_class": string(fault.ReasonInfra), "retry_advice": string(fault.RetryAfterFix),
		},
	}, json.Deterministic(true))
	if err != nil {
		return a.fail(ctx, j, code, message)
	}
	r := a.submit(ctx, j, a.success(j, output))
	if notTaken(r) { // not even that
		return a.fail(ctx, j, code, message)
	}
	return a.ended(ctx, j, r)
}

// end ends a run that nobody waits for, if it has not ended.
func (a *Adapter) end(ctx context.Context, j *job) (time.Duration, bool) {
	got, err := a.client.run(ctx, j.id)
	if err == nil && !got.ended() {
		if err = a.client.cancel(ctx, j.id); err == nil {
			a.log.Info("run cancelled in Airflow", "dagRunId", j.id, "executionId", j.task.Execution, "nodeId",
				j.task.Node)
		}
	}
	switch outcomeOf(err) {
	case ok, notFound:
		return 0, true
	case conflict, refused:
		if j.tries >= maxRefusals {
			a.trouble("a run cannot be cancelled in Airflow", err)
			return 0, true
		}
	}
	a.gone(ctx, "a run cannot be cancelled in Airflow yet", err)
	return a.retryPause(j), false
}

// note tells the engine of the state of a run, when it is another.
func (a *Adapter) note(ctx context.Context, j *job, state string) {
	if j.state == state {
		return
	}
	j.state, j.polls = state, 0
	at := time.Now()
	r := a.submit(ctx, j, flow.Progress{
		Node: j.task.Node, Attempt: j.task.Attempt, Worker: a.ports.Worker,
		Message: "Airflow: " + cut(state),
	})
	if r.Err == nil && r.Answer.Refused == nil {
		a.line.renewed(j, at)
	}
}

// later decides about a call that came to nothing. An outage is waited for, however
// long; a no, or a fault that comes only with this run, fails the attempt in the end.
func (a *Adapter) later(ctx context.Context, j *job, err error) (time.Duration, bool) {
	if ctx.Err() != nil {
		return time.Second, false
	}
	if err == errOpen {
		return a.cfg.retryFirst, false
	}
	refusal, _ := err.(*callError)
	switch {
	case refusal == nil:
	case refusal.outcome == refused && refusal.status != 429 && j.tries >= maxRefusals:
		return a.fail(ctx, j, codeRunRefused, refusal.Error())
	case refusal.status == 500:
		if j.faults++; j.faults >= maxFaults {
			return a.fail(ctx, j, codeServerFault, refusal.Error())
		}
	}
	a.trouble("Airflow cannot be asked", err)
	return a.retryPause(j), false
}

// succeed ends a task well. An output that the engine does not take will not be taken
// the next time either.
func (a *Adapter) succeed(ctx context.Context, j *job, output jsontext.Value) (time.Duration, bool) {
	r := a.submit(ctx, j, a.success(j, output))
	if notTaken(r) {
		refusal, _ := fault.As(r.Err)
		return a.failed(ctx, j, codeBadResult, "The result cannot be taken: "+cut(refusal.Message))
	}
	return a.ended(ctx, j, r)
}

func (a *Adapter) success(j *job, output jsontext.Value) flow.Succeed {
	return flow.Succeed{Node: j.task.Node, Attempt: j.task.Attempt, Worker: a.ports.Worker, Output: output}
}

// notTaken says that the engine refuses the data of a command.
func notTaken(r engine.Result) bool {
	kind := fault.KindOf(r.Err)
	return r.Err != nil && (kind == fault.Invalid || kind == fault.TooLarge)
}

// fail fails the attempt; the retry policy of the task decides what follows.
func (a *Adapter) fail(ctx context.Context, j *job, code, message string) (time.Duration, bool) {
	detail, _ := json.Marshal(map[string]string{ // texts can be written
		"dagId": a.cfg.DAG, "dagRunId": j.id,
		"reasonClass": string(fault.ReasonInfra), "retryAdvice": string(fault.RetryWithBackoff),
	}, json.Deterministic(true))
	return a.ended(ctx, j, a.submit(ctx, j, flow.Fail{
		Node: j.task.Node, Attempt: j.task.Attempt, Worker: a.ports.Worker,
		Error: &flow.Error{Code: code, Message: message, Detail: detail},
	}))
}

// ended takes the engine's answer to the end of a task. What could not be delivered is
// tried again from the run's state on; a refusal means that the task is not ours any more.
func (a *Adapter) ended(ctx context.Context, j *job, r engine.Result) (time.Duration, bool) {
	switch {
	case r.Err != nil && fault.KindOf(r.Err) == fault.NotFound:
		return 0, true
	case r.Err != nil:
		a.gone(ctx, "a result cannot be delivered to the engine yet", r.Err)
		return a.retryPause(j), false
	case r.Answer.Refused == nil:
		return 0, true
	}
	if err := a.look(ctx, []*job{j}); err != nil {
		a.gone(ctx, "held tasks cannot be looked after", err)
	}
	return a.retryPause(j), false // the verdict says what becomes of it
}

// submit tells the engine something, also when the process is about to end.
func (a *Adapter) submit(ctx context.Context, j *job, c flow.Command) engine.Result {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	return a.ports.Engine.Submit(ctx, []engine.Request{a.request(j, c)})[0]
}

// pollPause is how long to wait for a run: longer the longer it stays as it is.
func (a *Adapter) pollPause(j *job) time.Duration {
	pause := grow(a.cfg.pollFirst, a.cfg.pollMost, 1.5, j.polls)
	j.polls++
	return spread(pause, rand.Float64())
}

// retryPause is how long to wait after something failed.
func (a *Adapter) retryPause(j *job) time.Duration {
	pause := grow(a.cfg.retryFirst, a.cfg.retryMost, 2, j.tries)
	j.tries++
	return spread(pause, rand.Float64())
}

// grow is first × factor^n, at most most.
func grow(first, most time.Duration, factor float64, n int) time.Duration {
	pause := float64(first) * math.Pow(factor, float64(n))
	if !(pause < float64(most)) {
		return most
	}
	return time.Duration(pause)
}
