package httpapi

import (
	"context"
	"net/http"
	"reflect"
	"time"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fair"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// interruptedTask is a task that its worker does not hold any more; Status is that of the
// node, none when there is no such node.
type interruptedTask struct {
	engine.TaskRef
	Status string `json:"status,omitzero"`
}

// watchBody is the body of POST /tasks/watch: the tasks that a worker believes to hold.
type watchBody struct {
	Tasks       []engine.TaskRef `json:"tasks"`
	WaitSeconds int              `json:"waitSeconds"`
}

func (b *watchBody) check() error {
	if len(b.Tasks) < 1 || len(b.Tasks) > maxHeld {
		return rest.Invalid("tasks", "tasks must have %s", count(1, maxHeld, "members"))
	}
	for i := range b.Tasks {
		switch t := &b.Tasks[i]; {
		case t.Execution.IsZero():
			return rest.Invalid("executionId", "tasks[%d].executionId must be the UUID of an execution", i)
		case !canonical.Name(t.Node):
			return rest.Invalid("nodeId",
				"tasks[%d].nodeId must be 1 to %d letters, digits, dots, dashes or underscores", i, canonical.MaxName)
		case t.Attempt < 1 || t.Attempt > maxAttempt:
			return rest.Invalid("attempt", "tasks[%d].attempt must be between 1 and %d", i, maxAttempt)
		}
	}
	return within("waitSeconds", b.WaitSeconds, 0, maxWait)
}

// watchTasks answers POST /tasks/watch: the tasks of the body that are not held
// any more, as soon as there are some. It only reads, so its key is not remembered.
func (a *taskAPI) watchTasks(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	var b watchBody
	if err := c.Decode(&b); err != nil {
		return gate.Reply{}, err
	}
	if err := b.check(); err != nil {
		return gate.Reply{}, err
	}
	c.Yield()
	w := newTaskWatch(a.reads, c.Principal.Tenant, b.Tasks)
	if len(b.Tasks) > watchTurn {
		w.turn = c.Turn
	}
	if over, ok := a.watched.Enter(w.tenant, c.Caller(), len(w.executions)); !ok {
		return gate.Reply{}, overWatched(over)
	}
	defer a.watched.Leave(w.tenant, c.Caller(), len(w.executions))
	wait := time.Duration(b.WaitSeconds) * time.Second
	ctx, stop := c.Wait(ctx, wait)
	defer stop()
	interrupted, err := w.run(ctx, wait)
	if err != nil {
		return gate.Reply{}, err
	}
	return gate.Reply{Status: http.StatusOK, Body: map[string][]interruptedTask{"interrupted": interrupted}}, nil
}

// watchTurn is how many tasks of a watch are looked at without waiting for a turn.
const watchTurn = 100

// overWatched refuses a watch that is over a limit.
func overWatched(over fair.Over) error {
	if over.Who == "" {
		return fault.Overloaded("too many tasks are watched; try again later")
	}
	return fault.TooMuch(over.Limit,
		"the watches of this %s look at %d executions, and at most %d may be watched; watch fewer at a time",
		over.Who, over.Held, over.Limit)
}

// taskWatch looks after the tasks of one request, by execution.
type taskWatch struct {
	reads      Reads
	tenant     string
	executions []flow.ID
	tasks      [][]engine.TaskRef // of each execution
	turn       func(ctx context.Context, part func() error) error
}

func newTaskWatch(reads Reads, tenant string, tasks []engine.TaskRef) *taskWatch {
	w := &taskWatch{reads: reads, tenant: tenant, turn: func(_ context.Context, part func() error) error {
		return part()
	}}
	place := make(map[flow.ID]int, len(tasks))
	for _, t := range tasks {
		at, known := place[t.Execution]
		if !known {
			at = len(w.executions)
			place[t.Execution] = at
			w.executions = append(w.executions, t.Execution)
			w.tasks = append(w.tasks, nil)
		}
		w.tasks[at] = append(w.tasks[at], t)
	}
	return w
}

// run gives the tasks that are not held any more, waiting for the first; none
// when the time is up.
func (w *taskWatch) run(ctx context.Context, wait time.Duration) ([]interruptedTask, error) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	// Watch before the first look: what is committed in between wakes us.
	wakes := make([]reflect.SelectCase, len(w.executions), len(w.executions)+2)
	if wait > 0 {
		for i, id := range w.executions {
			wake, stop := w.reads.Watch(id)
			defer stop()
			wakes[i] = receive(wake)
		}
	}
	found, err := w.look(ctx, []interruptedTask{}, all(len(w.executions)))
	if wait == 0 {
		return found, err
	}
	ended, late := len(wakes), len(wakes)+1
	wakes = append(wakes, receive(ctx.Done()), receive(timer.C))
	for err == nil && len(found) == 0 {
		switch woken, _, _ := reflect.Select(wakes); woken {
		case ended:
			return nil, ctx.Err()
		case late:
			return found, nil
		default:
			found, err = w.look(ctx, found, ready(wakes[:ended], woken))
		}
	}
	return found, err
}

func receive[T any](from <-chan T) reflect.SelectCase {
	return reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(from)}
}

func all(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// ready lists the case that was chosen and those that are ready too: one cancel
// rarely comes alone.
func ready(wakes []reflect.SelectCase, chosen int) []int {
	list := []int{chosen}
	for i := range wakes {
		if _, ok := wakes[i].Chan.TryRecv(); ok && i != chosen {
			list = append(list, i)
		}
	}
	return list
}

// look asks about the tasks of some of the executions and appends what is not held
// any more.
func (w *taskWatch) look(ctx context.Context, found []interruptedTask, which []int) ([]interruptedTask, error) {
	var asked []engine.TaskRef
	for _, i := range which {
		asked = append(asked, w.tasks[i]...)
	}
	var lost []engine.LostTask
	err := w.turn(ctx, func() (err error) {
		lost, err = w.reads.Lost(ctx, w.tenant, asked)
		return err
	})
	for _, t := range lost {
		out := interruptedTask{TaskRef: t.TaskRef}
		if t.Found {
			out.Status = t.Status.String()
		}
		found = append(found, out)
	}
	return found, err
}
