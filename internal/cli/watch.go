package cli

import (
	"cmp"
	"context"
	"errors"
	"time"

	"renga.dev/renga/client"
	"renga.dev/renga/internal/workflow/flow"
)

// watchPatience is how long a server may be away while somebody watches.
const watchPatience = time.Minute

type executionWatchCmd struct {
	executionArg
	Timeout time.Duration `placeholder:"DURATION" help:"Stop watching after so long, with exit code 12."`
}

func (executionWatchCmd) Help() string {
	return `On a terminal the graph is drawn with the states of its nodes, and drawn again whenever something happens.
Elsewhere every event is printed on a line as it comes, with -o json as JSON. It ends with the execution, and the exit
code tells how: 0 COMPLETED, 10 FAILED, 11 CANCELED, 12 still ACTIVE after --timeout.

Examples:
  renga execution watch 01a1e1d8-5dbe-7903-b04c-6ebbf6615a27
  renga execution watch $id --timeout 5m && echo done
  renga execution watch $id -o json | jq -r .type`
}

func (c *executionWatchCmd) Run(ctx context.Context, r *remote) error {
	if err := c.find(ctx, r); err != nil {
		return err
	}
	watching := ctx
	if c.Timeout > 0 {
		var stop context.CancelFunc
		watching, stop = context.WithTimeout(ctx, c.Timeout)
		defer stop()
	}
	show := r.printEvent
	if r.Output == "table" && r.screen.terminal {
		live, err := r.openLive(watching, c.ID)
		if err != nil {
			return err
		}
		defer live.close()
		show = live.apply
	}
	status, err := r.follow(watching, c.ID, 0, show)
	switch {
	case err == nil:
		return codeOf(status)
	case ctx.Err() == nil && errors.Is(watching.Err(), context.DeadlineExceeded):
		return ended(exitActive)
	}
	return err
}

// follow hands over the events of an execution after a place in the log, and gives the status that it ended with.
func (r *remote) follow(ctx context.Context, id string, after uint64, show func(*client.Event) error) (string, error) {
	status := ""
	for ev, err := range r.patient().Executions.Stream(ctx, id, after) {
		if err != nil {
			return status, err
		}
		status = cmp.Or(endings[ev.Type], status)
		if err := show(&ev); err != nil {
			return status, err
		}
	}
	if status != "" {
		return status, nil
	}
	e, err := r.Executions.Get(ctx, id) // it had ended before the place
	if err != nil {
		return "", err
	}
	return string(e.Status), nil
}

// endings are the events that end an execution.
var endings = map[string]string{
	flow.ExecutionCompletedType.String(): "COMPLETED",
	flow.ExecutionFailedType.String():    "FAILED",
	flow.ExecutionCanceledType.String():  "CANCELED",
}
