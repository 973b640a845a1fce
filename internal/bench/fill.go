package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"renga.dev/renga/internal/app"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
	"renga.dev/renga/internal/workflow/store"
)

const tenant = "00000000-0000-0000-0000-000000000000"

// fill stores executions as if they had run: one of each kind is run by a real
// engine, and its rows are written again under new ids.
func fill(ctx context.Context, dir string, finished, waiting, tasks int) error {
	return app.WithDB(ctx, app.Place{DataDir: dir}, func(db *sqldb.DB) error {
		st := store.New(db, store.Config{})
		eng := engine.New(st, systemClock{}, engine.Config{Exclusive: true})
		runCtx, stop := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() { ended <- eng.Run(runCtx) }()
		done, err := runOne(ctx, eng, "bench", sequential(tasks))
		var held flow.ID
		if err == nil {
			held, err = runOne(ctx, eng, "bench-wait", []byte(waitGraph))
		}
		stop()
		if late := <-ended; err == nil {
			err = late
		}
		if err != nil {
			return err
		}
		if err := copies(ctx, st, done, finished, "finished"); err != nil {
			return err
		}
		return copies(ctx, st, held, waiting, "waiting")
	})
}

const waitGraph = `{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"approve","type":"Wait","timeout":"720h"},
{"nodeId":"end","type":"Success"}],"edges":[{"from":"start","to":"approve"},{"from":"approve","to":"end"}]}`

// runOne creates, starts and works one execution until no task of it is left.
func runOne(ctx context.Context, eng *engine.Engine, graph string, body []byte) (flow.ID, error) {
	g, err := flow.ParseGraph(body, false)
	if err != nil {
		return flow.ID{}, err
	}
	if _, _, err := eng.PutGraph(ctx, tenant, graph, g); err != nil {
		return flow.ID{}, err
	}
	key := 0
	submit := func(id flow.ID, cmd flow.Command) (engine.Answer, error) {
		key++
		r := eng.Submit(ctx, []engine.Request{{
			Tenant: tenant, Execution: id, GraphID: graph, Command: cmd, CorrelationID: uuid.NewString(),
			Actor: flow.Actor{Kind: flow.KindUser}, Idempotency: canonical.IdempotencyKey{
				Key:      fmt.Sprintf("%s-%d", graph, key),
				Endpoint: "bench",
			},
		}})[0]
		if r.Err == nil && r.Answer.Refused != nil {
			return r.Answer, r.Answer.Refused
		}
		return r.Answer, r.Err
	}
	made, err := submit(flow.ID{}, flow.Create{Input: flow.Data("{}")})
	if err != nil {
		return flow.ID{}, err
	}
	if _, err := submit(made.Execution, flow.Start{}); err != nil {
		return flow.ID{}, err
	}
	got, err := eng.Claim(ctx, engine.ClaimRequest{
		Tenant: tenant, Worker: "bench", Queues: []string{"default"}, Max: 1, Lease: 60,
		Idempotency: canonical.IdempotencyKey{Key: graph, Endpoint: "bench"},
	})
	if err != nil {
		return flow.ID{}, err
	}
	var task *engine.Task
	if len(got.Tasks) > 0 {
		task = &got.Tasks[0]
	}
	for task != nil {
		ans, err := submit(made.Execution, flow.Succeed{
			Node: task.Node, Attempt: task.Attempt, Worker: "bench", Output: flow.Data("{}"), Next: true,
		})
		if err != nil {
			return flow.ID{}, err
		}
		task = ans.Task
	}
	return made.Execution, nil
}

// copies writes the rows of one execution n times, each under its own id and
// with a key of its own.
func copies(ctx context.Context, st engine.Store, id flow.ID, n int, what string) error {
	h, err := st.History(ctx, tenant, id, 0)
	if err != nil {
		return err
	}
	const chunk = 500
	began := time.Now()
	for at := 0; at < n; at += chunk {
		count := min(chunk, n-at)
		err := st.Commit(ctx, func(ctx context.Context, tx engine.Tx) error {
			first, err := tx.Number(ctx, count)
			if err != nil {
				return err
			}
			return tx.Write(ctx, clones(&h, first, count))
		})
		if err != nil {
			return err
		}
		if at/chunk%200 == 199 || at+count == n {
			fmt.Printf("\rstored %d of %d %s executions (%.0f/s) ", at+count, n, what,
				float64(at+count)/time.Since(began).Seconds())
		}
	}
	fmt.Println()
	return nil
}

func clones(h *engine.History, first int64, count int) *engine.Batch {
	var b engine.Batch
	for i := range count {
		head := h.Head
		head.ID, head.Num = flow.ID(uuid.Must(uuid.NewV7())), first+int64(i)
		b.Create = append(b.Create, head)
		for _, row := range h.Rows {
			row.Execution = head.Num
			b.Log = append(b.Log, row)
		}
		b.Keys = append(b.Keys, engine.KeyRow{
			KeyRef: engine.KeyRef{Tenant: tenant, Endpoint: "POST /executions", Key: head.ID.String()},
			At:     head.CreatedAt, Body: []byte(`{"e":"` + head.ID.String() + `"}`),
		})
	}
	return &b
}

// systemClock is the time of the machine.
type systemClock struct{}

// Now is the time.
func (systemClock) Now() time.Time { return time.Now() }
