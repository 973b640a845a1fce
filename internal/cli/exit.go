package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/fault"
)

// The exit codes; description tells users of them.
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
	exitInterrupted = 130
)

// ended is an exit code that the command has explained already.
type ended int

func (e ended) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// codeOf is the exit code for an execution's status.
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

// report tells of an error on standard error and gives the exit code. With -o
// json it is the body that the server answers errors with.
func (a *App) report(err error) int {
	var code ended
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &code):
		return int(code)
	}
	p := explain(err)
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
	Code    string         `json:"code"`
	Message string         `json:"message"`
	Details jsontext.Value `json:"details,omitzero"`
}

// explained is a problem, what to do about it, and how the program ends.
type explained struct {
	problem
	hints []string
	exit  int
}

// exits maps kinds of failure to exit codes.
var exits = map[fault.Kind]int{
	fault.Invalid: exitUsage, fault.TooLarge: exitUsage, fault.Unsupported: exitUsage, fault.MethodNotAllowed: exitFailure,
	fault.Unauthorized: exitDenied, fault.Forbidden: exitDenied, fault.NotFound: exitNotFound, fault.Conflict: exitRefused,
	fault.RateLimited: exitUnavailable, fault.Unavailable: exitUnavailable, fault.Internal: exitFailure,
}

// explain turns an error of any origin into one to tell of.
func explain(err error) explained {
	out := explained{problem: problem{Code: "FAILED", Message: err.Error()}, exit: exitFailure}
	e, ok := fault.As(err)
	if !ok || e.Message == "" {
		return out
	}
	out.exit = exits[e.Kind]
	out.Code, out.Message = e.Code, e.Message
	if e.Err != nil {
		out.Message += ": " + e.Err.Error()
	}
	if e.Details != nil {
		if raw, err := json.Marshal(e.Details, json.Deterministic(true)); err == nil {
			out.Details = raw
		}
	}
	return out
}
