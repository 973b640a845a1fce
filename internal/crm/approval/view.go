package approval

import (
	"context"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
)

// Summary is an approval in a list, as a caller may see it.
type Summary struct {
	ID                string          `json:"id"`
	Object            string          `json:"object"`
	RecordID          string          `json:"recordId"`
	ProcessID         string          `json:"processId"`
	ProcessName       string          `json:"processName"`
	Status            Status          `json:"status"`
	CurrentStageIndex int             `json:"currentStageIndex"`
	Stages            []string        `json:"stageNames"`
	SubmittedBy       string          `json:"submittedBy"`
	SubmittedAt       canonical.Stamp `json:"submittedAt"`
	Comment           string          `json:"comment,omitzero"`
	Decision          *Decision       `json:"decision,omitzero"` // once it has ended
}

// Decision is how an approval ended.
type Decision struct {
	DecidedBy string          `json:"decidedBy"`
	DecidedAt canonical.Stamp `json:"decidedAt"`
	Comment   string          `json:"comment,omitzero"`
}

// View is an approval as a caller may see it.
type View struct {
	Summary
	LockedFields   []string    `json:"lockedFields"`   // that the caller may read
	MeetsCondition bool        `json:"meetsCondition"` // of a pending one: the process would still take the record
	ExecutionID    string      `json:"executionId"`
	StageDetails   []StageView `json:"stages"`
	// of a pending one: the name and the locked fields, as far as the caller may read them and they are not sensitive
	Record  map[string]any `json:"record,omitzero"`
	Outcome *OutcomeView   `json:"outcome,omitzero"` // of one that has ended and writes something into the record
}

// OutcomeView is what an approval writes into its record, and whether it has.
type OutcomeView struct {
	Status string `json:"status"`
	// that the caller may read and that are not sensitive
	Fields        map[string]jsontext.Value `json:"fields"`
	RecordVersion canonical.Stamp           `json:"recordVersion,omitzero"` // of the record with it
	// why it was refused, or what to do when it does not come
	Message      string `json:"message,omitzero"`
	DeadLetterID string `json:"deadLetterId,omitzero"` // that keeps core from taking the event
}

// The statuses of outcomes.
const (
	OutcomeWaiting = "WAITING" // core has not taken the event yet
	OutcomeWritten = "WRITTEN" // or the record had these values already
	OutcomeRefused = "REFUSED" // the record stays as it is
)

// StageView is a stage of an approval. The approvers of the open one are who they are now.
type StageView struct {
	Name      string         `json:"name"`
	Decide    string         `json:"decide"`
	Status    string         `json:"status"`
	Members   []model.Member `json:"members"`
	Approvers []ApproverView `json:"approvers"`
	Votes     []VoteView     `json:"decisions"`
}

// ApproverView is who may decide in the open stage, and why.
type ApproverView struct {
	UserID     string         `json:"userId"`
	Via        []model.Member `json:"via"`
	DelegateID string         `json:"delegateId,omitzero"` // who decides instead
	Decided    bool           `json:"decided"`
}

// VoteView is what somebody decided in a stage.
type VoteView struct {
	UserID     string          `json:"userId"`
	ApproverID string          `json:"approverId"` // in whose place
	Decision   Status          `json:"decision"`
	Comment    string          `json:"comment,omitzero"`
	DecidedAt  canonical.Stamp `json:"decidedAt"`
}

// The statuses of stages beside those of approvals.
const (
	stageWaiting = "WAITING" // it is not reached yet
	stageOpen    = "OPEN"
	stageSkipped = "SKIPPED" // it was not reached
)

func (a *instance) summary() Summary {
	s := Summary{
		ID: a.id, Object: a.object, RecordID: a.recordID, ProcessID: a.processID, ProcessName: a.processName,
		Status: a.status, CurrentStageIndex: a.at, Stages: make([]string, len(a.stages)),
		SubmittedBy: a.submittedBy, SubmittedAt: a.submittedAt, Comment: a.comment,
	}
	for i := range a.stages {
		s.Stages[i] = a.stages[i].Name
	}
	if a.status != Pending {
		s.Decision = &Decision{a.decidedBy, a.decidedAt, a.decision}
	}
	return s
}

// stageStatus is how far a stage is.
func (a *instance) stageStatus(i int) string {
	switch {
	case i < a.at:
		return Approved.String()
	case i > a.at && a.status == Pending:
		return stageWaiting
	case i > a.at:
		return stageSkipped
	case a.status == Pending:
		return stageOpen
	}
	return a.status.String()
}

// view is the approval as a user may see it; record is nil when it is gone.
func (a *instance) view(m *model.Model, user string, record *model.Record) View {
	v := View{
		Summary: a.summary(), LockedFields: []string{}, MeetsCondition: a.meets, ExecutionID: a.execution,
		StageDetails: make([]StageView, len(a.stages)),
	}
	for i := range a.stages {
		s := &a.stages[i]
		v.StageDetails[i] = StageView{
			Name: s.Name, Decide: s.Decide, Status: a.stageStatus(i), Members: s.Approvers, Approvers: []ApproverView{},
			Votes: []VoteView{},
		}
	}
	if a.status == Pending {
		open := &v.StageDetails[a.at]
		for _, s := range slots(m, a, a.at) {
			one := ApproverView{UserID: s.approver, Via: s.via, Decided: s.vote != nil}
			if s.deputy != nil {
				one.DelegateID = s.deputy.user
			}
			open.Approvers = append(open.Approvers, one)
		}
	}
	for _, one := range a.votes {
		at := &v.StageDetails[one.stage]
		at.Votes = append(at.Votes, VoteView{one.user, one.approver, one.decision, one.comment, one.at})
	}
	may := m.View(user, a.object)
	for _, field := range a.locked {
		if may.Reads(field) {
			v.LockedFields = append(v.LockedFields, field)
		}
	}
	if a.status == Pending && record != nil {
		v.Record = map[string]any{}
		for _, field := range append(slices.Clone(v.LockedFields), "Name") {
			if value := record.Fields[field]; value != nil && may.Shows(field) {
				v.Record[field] = value
			}
		}
	}
	return v
}

// show is the approval as the caller may see it, as JSON.
func (w *session) show(ctx context.Context, a *instance, record *model.Record) ([]byte, error) {
	v := a.view(w.Model, w.User, record)
	if len(a.outcome()) > 0 {
		got, ok, err := w.cfg.Locks.Settled(ctx, w.Tx, w.Caller.Tenant, a.id)
		if err != nil {
			return nil, err
		}
		v.Outcome = a.settled(w.Model, w.User, got, ok)
		if !ok {
			why, err := stuckAt(ctx, w.Tx, w.Caller.Tenant, a.id)
			if err != nil {
				return nil, err
			}
			v.Outcome.Message, v.Outcome.DeadLetterID = why.help, why.letter
		}
	}
	return json.Marshal(&v, json.Deterministic(true))
}

// again is the answer that is remembered with the key, without what the caller may not read
// of the record any more. What it did, and what became of the approval by it, stays.
func (s *Approvals) again(ctx context.Context, r *request, known []byte) (answer []byte, err error) {
	err = s.read(ctx, r.op, r.caller, func(ctx context.Context, w *session) error {
		var v View
		if err := json.Unmarshal(known, &v); err != nil {
			return err
		}
		_, err := w.visible(ctx, v.ID)
		gone := fault.KindOf(err) == fault.NotFound
		if err != nil && !gone {
			return err
		}
		answer = known
		if v.narrow(w.Model, w.User, gone) {
			answer, err = json.Marshal(&v, json.Deterministic(true))
			return err
		}
		return nil
	})
	return answer, err
}

// narrow takes fields out that the user may not read, and all values when the approval is gone
// for it, and reports whether there was one.
func (v *View) narrow(m *model.Model, user string, gone bool) (narrowed bool) {
	may := m.View(user, v.Object)
	hidden := func(field string) bool { return !may.Reads(field) }
	closed := func(field string) bool { return gone || !may.Shows(field) }
	names, values := len(v.LockedFields), len(v.Record)
	v.LockedFields = slices.DeleteFunc(v.LockedFields, hidden)
	maps.DeleteFunc(v.Record, func(field string, _ any) bool { return closed(field) })
	narrowed = len(v.LockedFields) < names || len(v.Record) < values
	if o := v.Outcome; o != nil {
		n := len(o.Fields)
		maps.DeleteFunc(o.Fields, func(field string, _ jsontext.Value) bool { return closed(field) })
		if len(o.Fields) < n {
			o.Message, narrowed = "", true // it may speak of them
		}
	}
	return narrowed
}

// settled is the outcome as a user may see it, without what is sensitive. Why it was refused
// is for those who are shown all of it.
func (a *instance) settled(m *model.Model, user string, got model.Settled, ok bool) *OutcomeView {
	v := &OutcomeView{Status: OutcomeWaiting, Fields: map[string]jsontext.Value{}, RecordVersion: got.Version}
	may := m.View(user, a.object)
	for name, value := range a.outcome() {
		if may.Shows(name) {
			v.Fields[name] = value
		}
	}
	switch {
	case !ok:
	case got.Version > 0:
		v.Status = OutcomeWritten
	default:
		v.Status = OutcomeRefused
		if len(v.Fields) == len(a.outcome()) {
			v.Message = got.Refused
		}
	}
	return v
}

// showNow is show with the record as it is.
func (w *session) showNow(ctx context.Context, a *instance) ([]byte, error) {
	record, ok, err := w.cfg.Records.Get(ctx, w.Tx, w.Caller.Tenant, a.object, a.recordID)
	if err != nil {
		return nil, err
	}
	if ok && !record.Deleted {
		return w.show(ctx, a, &record)
	}
	return w.show(ctx, a, nil)
}
