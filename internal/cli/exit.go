package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/client"
	"renga.dev/renga/internal/platform/fault"
)

// The exit codes; description explains them.
const (
	exitOK          = 0
	exitFailure     = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitRefused     = 4
	exitUnavailable = 5
	exitDenied      = 6
	exitFailed      = 10 // of an execution
	exitCanceled    = 11
	exitActive      = 12
	exitDuplicate   = 13 // of an event
	exitInterrupted = 130
)

// ended is an exit code that the command has explained already.
type ended int

func (e ended) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

func codeOf(status string) error {
	switch status {
	case "COMPLETED":
		return nil
	case "FAILED":
		return ended(exitFailed)
	case "CANCELED":
		return ended(exitCanceled)
	}
	return ended(exitActive)
}

// usage is an error about what was typed.
func usage(format string, args ...any) error {
	return fault.New(fault.Invalid, "INVALID_INPUT", format, args...)
}

// report prints an error, with -o json as the server answers errors, and gives the exit code.
func (a *App) report(err error) int {
	var code ended
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &code):
		return int(code)
	}
	p := a.explain(err)
	if a.Output == "json" {
		_ = writeJSON(a.Err, map[string]any{"error": &p.problem})
		return p.exit
	}
	fmt.Fprintln(a.Err, a.notice.paint(red, "renga:"), strings.TrimSpace(clean(p.Message)))
	for _, line := range p.hints {
		fmt.Fprintln(a.Err, "  "+clean(line))
	}
	return p.exit
}

// problem is an error as scripts see it: in the form of the server's errors.
type problem struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Details any    `json:"details,omitzero"`
}

// explained is a problem, what to do about it, and how the program ends.
type explained struct {
	problem
	hints []string
	exit  int
}

// explain takes an error of any origin.
func (a *App) explain(err error) explained {
	out := explained{problem: problem{Code: "FAILED", Message: err.Error()}, exit: exitFailure}
	var failure *client.Error
	if errors.As(err, &failure) && failure.Status != 0 {
		return a.explainAnswer(failure)
	}
	if errors.Is(err, client.ErrUnavailable) {
		return a.explainSilence(err)
	}
	e, ok := fault.As(err)
	if !ok || e.Message == "" {
		return out
	}
	switch e.Kind {
	case fault.Invalid, fault.TooLarge, fault.Unsupported:
		out.exit = exitUsage
	case fault.NotFound:
		out.exit = exitNotFound
	}
	out.problem = problem{e.Code, e.Message, e.Details}
	if e.Err != nil {
		out.Message += ": " + e.Err.Error()
	}
	return out
}

// explainAnswer explains a refusal of the server.
func (a *App) explainAnswer(e *client.Error) explained {
	out := explained{problem: problem{Code: e.Code, Message: e.Message}, exit: exitFailure}
	if e.Details != nil {
		out.Details = jsontext.Value(e.Details)
	}
	if out.Code == "" {
		out.Code = "HTTP_" + strconv.Itoa(e.Status)
		out.Message = fmt.Sprintf("%s answered %d %s, and not as a Renga server does", a.shownServer(), e.Status,
			e.Message)
		out.hint("look whether --server names a Renga server, or a proxy in front of one")
	}
	switch {
	case errors.Is(e, client.ErrRefused):
		out.exit = exitRefused
		if e.Guard != "" {
			out.hint("guard %s: %s", e.Guard, guardWords[e.Guard])
		}
		if e.ExecutionID != "" {
			out.hint("renga execution show %s shows the one that has it", e.ExecutionID)
		}
		if e.Cause != nil {
			out.hint("because of event %d %s at %s", e.Cause.Seq, e.Cause.Type, instant(e.Cause.OccurredAt))
		}
		if e.CancelSeq > 0 {
			out.hint("cancel won at event %d; renga execution why tells who and when", e.CancelSeq)
		}
		if e.LateResultKept {
			out.hint("the result was kept as evidence: renga execution show lists it")
		}
		if e.NewKey {
			out.hint("advice %s: %s", e.RetryAdvice, adviceWords[e.RetryAdvice])
			if a.ownKey {
				out.hint("the next try needs another --idempotency-key: this one remembers the refusal")
			}
		}
	case errors.Is(e, client.ErrVersion):
		out.exit = exitRefused
	case errors.Is(e, client.ErrKeyConflict):
		out.exit = exitRefused
		out.hintConflict(e)
	case errors.Is(e, client.ErrNotFound):
		out.exit = exitNotFound
		if hint := whatExists[e.Code]; hint != "" {
			out.hints = append(out.hints, hint)
		}
	case errors.Is(e, client.ErrInvalid):
		out.exit = exitUsage
	case errors.Is(e, client.ErrUnauthorized):
		out.exit = exitDenied
		if e.ReasonCode != "" {
			out.hint("give the token of workflow events with AX_WORKFLOW_EVENT_TOKEN or --event-token")
			break
		}
		out.hint("give a token with RENGA_TOKEN, --token-file or --token; renga token makes one for development")
	case errors.Is(e, client.ErrForbidden):
		out.exit = exitDenied
	case errors.Is(e, client.ErrRateLimited), errors.Is(e, client.ErrUnavailable):
		out.exit = exitUnavailable
		if e.ReasonCode == "" {
			safely := ""
			if a.keyed { // without a key it changes nothing the second time
				safely = "; a repetition is safe with the same --idempotency-key"
			}
			out.hint("try again%s", safely)
		}
	}
	if e.ReasonCode != "" {
		out.Details = map[string]string{
			"reasonClass": e.ReasonClass, "reasonCode": e.ReasonCode, "retryAdvice": e.RetryAdvice,
		}
		out.hint("advice %s: %s", e.RetryAdvice, adviceWords[e.RetryAdvice])
		out.hint("reason %s, %s", e.ReasonClass, e.ReasonCode)
	}
	if e.Status >= 500 && e.CorrelationID != "" {
		out.hint("the server's log has more under correlation id %s", e.CorrelationID)
	}
	return out
}

// whatExists says, by the code of an error, where to look for what does exist.
var whatExists = map[string]string{
	"EXECUTION_NOT_FOUND": "renga execution list shows those that exist; --tenant and the token say whose",
	"GRAPH_NOT_FOUND":     "renga graph list shows those that exist, renga graph apply FILE registers one",
	"BULK_NOT_FOUND": "renga bulk list, or renga dlq bulk list, shows those that exist; --tenant and the " +
		"token say whose",
	"DEAD_LETTER_NOT_FOUND": "renga dlq list shows those that exist; --tenant and the token say whose",
	"REPLAY_NOT_FOUND":      "renga events replays shows those that exist; --tenant and the token say whose",
	"CONSUMER_NOT_FOUND":    "renga events consumers shows those that exist",
	"EVENT_TYPE_UNKNOWN":    "renga events schemas lists all event types",
	"NODE_NOT_FOUND":        "renga execution show lists the nodes",
	"HTTP_404":              "renga template list shows the templates that exist; --tenant says whose",
}

func (e *explained) hint(format string, args ...any) {
	e.hints = append(e.hints, fmt.Sprintf(format, args...))
}

// hintConflict says what is known of the first use of a key.
func (e *explained) hintConflict(failure *client.Error) {
	var first struct {
		Differs     []string  `json:"differs"`
		FirstUsedAt time.Time `json:"firstUsedAt"`
		ExpiresAt   time.Time `json:"expiresAt"`
	}
	if json.Unmarshal(failure.Details, &first) != nil {
		return // -o json shows them as they are
	}
	if len(first.Differs) > 0 {
		e.hint("what differs: %s", strings.Join(first.Differs, ", "))
	}
	if !first.FirstUsedAt.IsZero() {
		e.hint("first used at %s, remembered until %s", instant(first.FirstUsedAt), instant(first.ExpiresAt))
	}
}

func (a *App) explainSilence(err error) explained {
	out := explained{exit: exitUnavailable}
	out.Code, out.Message = "UNAVAILABLE", fmt.Sprintf("no server answers at %s: %v", a.shownServer(), innermost(err))
	out.hints = []string{"look whether --server (or RENGA_SERVER) is right and can be reached from here"}
	if errors.Is(err, syscall.ECONNREFUSED) {
		out.hints = []string{"start one with: renga serve", "or name another with --server or RENGA_SERVER"}
	}
	return out
}

// innermost is the error at the bottom; of several the last.
func innermost(err error) error {
	for {
		switch e := err.(type) {
		case interface{ Unwrap() error }:
			if inner := e.Unwrap(); inner != nil {
				err = inner
				continue
			}
		case interface{ Unwrap() []error }:
			if inner := e.Unwrap(); len(inner) > 0 {
				err = inner[len(inner)-1]
				continue
			}
		}
		return err
	}
}

// guardWords say what a guard asks for.
var guardWords = map[string]string{
	"business_key": "no active execution of the graph may have the business key",
	"cancel_fence": "no cancel may have been requested", "execution_active": "the execution must not have ended",
	"not_started": "the execution must not have been started before", "started": "the execution must have been started",
	"execution_terminal": "the execution must have ended", "not_archived": "it must not have been archived before",
	"retry_pending": "the node must not be between two attempts", "node_task": "the node must be a Task",
	"node_ready": "the node must be READY", "node_running": "the node must be RUNNING",
	"node_waiting":      "the node must be WAITING",
	"node_not_terminal": "the node must not have ended",
	"attempt_due":       "the attempt must be the one that is due or running",
	"lease_owner":       "the worker must be the one that runs the attempt",
	"resume_key":        "the resume key must be the wait key",
	"assignee":          "only assignees may resume the node",
	"message":           "the node must wait for the message and take its payload",
	"dead_letter_open":  "nobody may have decided about it before",
	"place_free":        "no other event may hold its place in the order of its key",
	"key_order":         "no older event of its key may be open or wait; renga dlq list --key shows them",
	"replay_running":    "it must not have ended",
	"bulk_frozen":       "its set must be frozen", "bulk_not_ended": "it must not have ended",
	"bulk_started": "it must have been started",
}
