package approval

import (
	"context"
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
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
func (s *Approvals) Submit(ctx context.Context, c Caller, o Order, key *wire.Once) (
	answer []byte, replay bool, err error,
) {
	r := &submitting{request: request{Approvals: s, call: c, key: key}, order: o, id: uuid.Must(uuid.NewV7()).String()}
	return r.do(ctx, "approval.submit", r.look, r.unit)
}

// submitting is an order on its way to be an approval.
type submitting struct {
	request
	order Order
	id    string
	n     int // stages that it will have
}

func (r *submitting) look(ctx context.Context, w *session) error {
	a, _, err := r.draft(ctx, w, false)
	if err == nil {
		r.n = len(a.stages)
	}
	return err
}

// draft is the approval that the order leads to, as the transaction sees it.
func (r *submitting) draft(ctx context.Context, w *session, hold bool) (*instance, *model.Record, error) {
	o := &r.order
	record, edit, err := w.cfg.Core.Find(ctx, w.tx, w.viewer(), o.Object, o.RecordID, hold)
	if err != nil {
		return nil, nil, err
	}
	if !edit {
		return nil, nil, fault.New(fault.Forbidden, CodeDenied,
			"you may read the %s %s, but not edit it, so you cannot submit it", o.Object, o.RecordID)
	}
	var pending string
	err = w.tx.Row(ctx, selectPending, w.tenant, record.Object, record.ID).Scan(&pending)
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
	p, err := choose(judgeOf(w.tx), w.model, &record, o.ProcessID)
	if err != nil {
		return nil, nil, err
	}
	stages, err := stagesOf(judgeOf(w.tx), w.model, p, &record, w.user)
	if err != nil {
		return nil, nil, err
	}
	a := &instance{
		id: r.id, object: record.Object, recordID: record.ID, processID: p.ID, processName: p.Name, stages: stages,
		locked: p.LockedFields, outcomes: p.Outcomes,
		submittedBy: w.user, submittedAt: w.now, comment: o.Comment, recordVersion: record.Version, meets: true,
		correlationID: w.correlationID, version: w.now,
	}
	if len(slots(w.model, a, 0)) == 0 {
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
	held, err := w.cfg.Locks.Held(ctx, w.tx, w.tenant, r.Object, r.ID)
	if err != nil || held == "" {
		return err
	}
	why, err := stuckAt(ctx, w.tx, w.tenant, held)
	if err != nil {
		return err
	}
	if why.letter != "" {
		return fault.New(fault.Unavailable, CodeSettling,
			"the approval %s was decided, and its outcome cannot be written into the record: %s; nothing was done",
			held, why.help).
			With(map[string]string{"approvalInstanceId": held, "deadLetterId": why.letter})
	}
	return fault.New(fault.Unavailable, CodeSettling,
		"the approval %s was decided, and its outcome is not in the record yet; nothing was done, send it again", held).
		With(map[string]string{"approvalInstanceId": held})
}

// errand is the input of an approval's execution.
type errand struct {
	ApprovalID string `json:"approvalInstanceId"`
	Object     string `json:"objectName"`
	RecordID   string `json:"recordId"`
}

func (r *submitting) unit(ctx context.Context) (engine.Unit, error) {
	version, err := r.version(ctx, r.call.Tenant, r.n)
	if err != nil {
		return engine.Unit{}, err
	}
	input, err := json.Marshal(errand{r.id, r.order.Object, r.order.RecordID})
	return engine.Unit{
		Commands: []engine.Request{{
			Tenant: r.call.Tenant, GraphID: graphID(r.n), GraphVersion: version, Start: true,
			Command: flow.Create{Input: input}, Actor: r.call.actor(), CorrelationID: r.call.CorrelationID,
		}},
		After: func(ctx context.Context, tx *sqldb.Tx, results []engine.Result) error {
			if refused := results[0].Answer.Refused; refused != nil {
				return refused
			}
			return r.idempotent(ctx, tx, func(w *session) ([]byte, error) {
				return r.save(ctx, w, results[0].Answer.Execution.String())
			})
		},
	}, err
}

// save stores the approval, locks what it locks and tells of it.
func (r *submitting) save(ctx context.Context, w *session, execution string) ([]byte, error) {
	a, record, err := r.draft(ctx, w, true)
	if err != nil {
		return nil, err
	}
	if len(a.stages) != r.n {
		return nil, errMoved
	}
	a.execution = execution
	stmts, err := a.insert(w.tenant)
	if err != nil {
		return nil, err
	}
	if err := w.tx.Batch(ctx, stmts...); err != nil {
		return nil, err
	}
	if err := w.cfg.Locks.Lock(ctx, w.tx, w.tenant, a.lock()); err != nil {
		return nil, err
	}
	if err := w.announce(ctx, a, submittedEvent(a)); err != nil {
		return nil, err
	}
	return w.show(ctx, a, record)
}
