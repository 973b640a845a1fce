package approval

import (
	"context"
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// MaxComment is how many characters a comment has.
const MaxComment = 4000

// Order is what somebody submits.
type Order struct {
	Object    string
	RecordID  string
	ProcessID string // "": the one that takes the record
	Comment   string
}

// Submit submits a record and gives the approval (View), as JSON; replay says that it was
// given before. The execution, the rows, the lock and the event are one transaction.
func (s *Approvals) Submit(ctx context.Context, c Caller, o Order, key *canonical.IdempotencyKey) (
	answer []byte, replay bool, err error,
) {
	id := uuid.Must(uuid.NewV7()).String()
	n := 0 // stages
	return s.do(ctx, &request{
		op: "submit", caller: c, key: key,
		look: func(ctx context.Context, w *session) error {
			a, _, err := w.draft(ctx, id, &o, false)
			if err == nil {
				n = len(a.stages)
			}
			return err
		},
		commands: func(ctx context.Context) ([]engine.Request, error) {
			version, err := s.version(ctx, c.Tenant, n)
			if err != nil {
				return nil, err
			}
			input, err := json.Marshal(errand{id, o.Object, o.RecordID})
			return []engine.Request{{
				Tenant: c.Tenant, GraphID: graphID(n), GraphVersion: version, Start: true,
				Command: flow.Create{Input: input}, Actor: actorOf(c), CorrelationID: c.CorrelationID,
			}}, err
		},
		save: func(ctx context.Context, w *session, results []engine.Result) ([]byte, error) {
			if refused := results[0].Answer.Refused; refused != nil {
				return nil, refused
			}
			a, record, err := w.draft(ctx, id, &o, true)
			if err != nil {
				return nil, err
			}
			if len(a.stages) != n {
				return nil, errMoved
			}
			a.execution = results[0].Answer.Execution.String()
			if err := w.store(ctx, a); err != nil {
				return nil, err
			}
			return w.show(ctx, a, record)
		},
	})
}

// errand is the input of an approval's execution.
type errand struct {
	ApprovalID string `json:"approvalInstanceId"`
	Object     string `json:"objectName"`
	RecordID   string `json:"recordId"`
}

// store stores an approval, locks what it locks and publishes its event.
func (w *session) store(ctx context.Context, a *instance) error {
	stmts, err := a.insert(w.Caller.Tenant)
	if err != nil {
		return err
	}
	if err := w.Tx.Batch(ctx, stmts...); err != nil {
		return err
	}
	if err := w.cfg.Locks.Lock(ctx, w.Tx, w.Caller.Tenant, a.lock()); err != nil {
		return err
	}
	return w.publish(ctx, a, submittedEvent(a))
}

// draft is the approval that an order leads to, as the transaction sees it.
func (w *session) draft(ctx context.Context, id string, o *Order, hold bool) (*instance, *model.Record, error) {
	record, edit, err := w.cfg.Core.Find(ctx, w.Tx, w.viewer(), o.Object, o.RecordID, hold)
	if err != nil {
		return nil, nil, err
	}
	if !edit {
		return nil, nil, fault.New(fault.Forbidden, kit.CodeAccessDenied,
			"you may read the %s %s, but not edit it, so you cannot submit it", o.Object, o.RecordID)
	}
	var pending string
	err = w.Tx.Row(ctx, selectPending, w.Caller.Tenant, record.Object, record.ID).Scan(&pending)
	if err == nil {
		return nil, nil, fault.New(fault.Conflict, CodePending,
			"the record was submitted before, and the approval %s is not decided yet", pending).
			With(map[string]string{"approvalInstanceId": pending})
	}
	if !errors.Is(err, sqldb.ErrNoRow) {
		return nil, nil, err
	}
	if err := w.settled(ctx, &record); err != nil {
		return nil, nil, err
	}
	judge := kit.JudgeOf(w.Tx)
	p, err := choose(judge, w.Model, &record, o.ProcessID)
	if err != nil {
		return nil, nil, err
	}
	stages, err := stagesOf(judge, w.Model, p, &record, w.User)
	if err != nil {
		return nil, nil, err
	}
	a := &instance{
		id: id, object: record.Object, recordID: record.ID, processID: p.ID, processName: p.Name, stages: stages,
		locked: p.LockedFields, outcomes: p.Outcomes, submittedBy: w.User, submittedAt: w.now,
		comment: o.Comment, recordVersion: record.Version, meets: true, correlationID: w.Caller.CorrelationID,
		version: w.now,
	}
	if len(slots(w.Model, a, 0)) == 0 {
		return nil, nil, fault.New(fault.Conflict, CodeNoApprover,
			"nobody can decide the step %s: its approvers must be active, read %s and not submit themselves",
			stages[0].Name, a.object)
	}
	return a, &record, nil
}

// settled refuses a record into which the outcome of an approval that has ended is still
// to be written: what is submitted is the record with it. It is a matter of a moment, unless
// the event is a dead letter, which is named then.
func (w *session) settled(ctx context.Context, r *model.Record) error {
	held, err := w.cfg.Locks.Held(ctx, w.Tx, w.Caller.Tenant, r.Object, r.ID)
	if err != nil || held == "" {
		return err
	}
	about := map[string]string{"approvalInstanceId": held}
	why, err := stuckAt(ctx, w.Tx, w.Caller.Tenant, held)
	if err != nil {
		return err
	}
	if why.letter != "" {
		about["deadLetterId"] = why.letter
		return fault.New(fault.Unavailable, CodeSettling,
			"the approval %s was decided, and its outcome cannot be written into the record: %s; nothing was done",
			held, why.help).With(about)
	}
	return fault.New(
		fault.Unavailable,
		CodeSettling,
		"the approval %s was decided, and its outcome is not in the record yet; nothing was done, send it again",
		held,
	).
		With(about)
}
