package approval

import (
	"cmp"
	"slices"
	"strings"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/rest"
)

// The codes of refusals.
const (
	CodeNotFound    = "APPROVAL_NOT_FOUND"
	CodeNoProcess   = "NO_APPROVAL_PROCESS"
	CodeManyProcess = "APPROVAL_PROCESS_UNCLEAR"
	CodeNoApprover  = "NO_APPROVER"
	CodePending     = "APPROVAL_PENDING"
	CodeEnded       = "APPROVAL_ENDED"
	CodeStage       = "APPROVAL_STAGE_PASSED"
	CodeNotApprover = "NOT_AN_APPROVER"
	CodeVoted       = "ALREADY_DECIDED"
	CodeSettling    = "APPROVAL_SETTLING"
)

// choose finds the process that takes a record: the one that is named, or the only one
// whose condition the record meets.
func choose(j *model.Judge, m *model.Model, r *model.Record, id string) (*model.ApprovalProcess, error) {
	var fit []*model.ApprovalProcess
	for _, v := range m.All(model.KindApprovalProcess) {
		p := v.(*model.ApprovalProcess)
		if p.Object != r.Object || !p.IsActive || id != "" && p.ID != id {
			continue
		}
		ok, err := meets(j, m, p.Condition, r)
		switch {
		case err != nil:
			return nil, model.Costly(err, "approval process", p.Name, p.ID)
		case ok:
			fit = append(fit, p)
		case id != "":
			return nil, fault.New(fault.Conflict, CodeNoProcess,
				"the record does not meet the condition of the approval process %s", p.Name)
		}
	}
	switch {
	case len(fit) == 1:
		return fit[0], nil
	case len(fit) > 1:
		names := make([]string, len(fit))
		for i, p := range fit {
			names[i] = p.ID
		}
		return nil, fault.New(fault.Conflict, CodeManyProcess,
			"%d approval processes take the record; name one as processId", len(fit)).
			With(map[string]any{"field": "processId", "processIds": names})
	case id != "":
		return nil, fault.New(fault.Invalid, CodeNoProcess,
			"processId must be the id of an active approval process of %s", r.Object).
			With(map[string]string{"field": "processId"})
	}
	return nil, fault.New(fault.Conflict, CodeNoProcess, "no active approval process of %s takes the record", r.Object)
}

// meets reports whether a condition is true of a record. One that fails is not. An error says
// that it was not evaluated.
func meets(j *model.Judge, m *model.Model, condition string, r *model.Record) (bool, error) {
	if condition == "" {
		return true, nil
	}
	o := m.Object(r.Object)
	if o == nil {
		return false, nil
	}
	return j.OfRecord(o, r).Holds(condition)
}

// stagesOf are the steps of a process that a record goes through. Whose manager decides is
// known from here on; who that manager is, is worked out whenever somebody asks.
func stagesOf(j *model.Judge, m *model.Model, p *model.ApprovalProcess, r *model.Record, submitter string) (
	[]stage, error,
) {
	var all []stage
	for i := range p.Steps {
		s := &p.Steps[i]
		ok, err := meets(j, m, s.Condition, r)
		if err != nil {
			return nil, model.Costly(err, "approval process", p.Name, p.ID)
		}
		if ok {
			all = append(all, stage{Name: s.Name, Approvers: approversOf(s, r.OwnerID, submitter), Decide: s.Decide})
		}
	}
	if len(all) == 0 {
		return nil, fault.New(fault.Conflict, CodeNoProcess,
			"no step of the approval process %s applies to the record: there is nothing to approve", p.Name)
	}
	return all, nil
}

// approversOf are whom a step names, with the users whose managers are meant.
func approversOf(s *model.ApprovalStep, owner, submitter string) []model.Member {
	all := slices.Clone(s.Approvers)
	for i := range all {
		switch {
		case all[i].Type != model.TypeManager:
		case all[i].ID == model.OfOwner:
			all[i].ID = owner
		default:
			all[i].ID = submitter
		}
	}
	return all
}

// slot is the place of an approver in a stage.
type slot struct {
	approver string
	via      []model.Member // what of the step stands for the approver
	deputy   *deputy        // nil: the approver decides itself
	vote     *vote          // nil: nobody has decided yet
}

// holder is who decides.
func (s *slot) holder() string {
	if s.deputy != nil {
		return s.deputy.user
	}
	return s.approver
}

// eligible reports whether somebody may decide about an approval at all: an active user
// who reads the object, and not the one who submitted it.
func eligible(m *model.Model, a *instance, user string) bool {
	u := m.User(user)
	return u != nil && u.IsActive && user != a.submittedBy && m.Can(user, a.object, model.ReadOp)
}

// slots are the places of a stage as the model says now, by approver.
func slots(m *model.Model, a *instance, at int) []slot {
	var all []slot
	for _, member := range a.stages[at].Approvers {
		for _, user := range m.Resolve(member) {
			if !eligible(m, a, user) {
				continue
			}
			i, found := slices.BinarySearchFunc(all, user, func(s slot, user string) int {
				return cmp.Compare(s.approver, user)
			})
			if !found {
				all = slices.Insert(all, i, slot{approver: user})
			}
			all[i].via = append(all[i].via, member)
		}
	}
	for i := range all {
		for k := range a.deputies {
			if d := &a.deputies[k]; d.stage == at && d.approver == all[i].approver && eligible(m, a, d.user) {
				all[i].deputy = d
			}
		}
		for k := range a.votes {
			if v := &a.votes[k]; v.stage == at && v.approver == all[i].approver {
				all[i].vote = v
			}
		}
	}
	return all
}

// Ballot is what somebody says in a stage.
type Ballot struct {
	Decision Status // Approved, Rejected
	Comment  string
	Stage    *int // that the caller has seen; nil: the one that is open
}

// verdict is what a ballot leads to.
type verdict struct {
	votes []vote
	ends  Status // of the stage; Pending: it waits for others
}

// cast decides about a ballot.
func cast(m *model.Model, a *instance, user string, b *Ballot, now canonical.Stamp) (verdict, error) {
	if err := a.waits(b.Stage); err != nil {
		return verdict{}, err
	}
	all := slots(m, a, a.at)
	mine, over, err := places(m, a, all, user)
	if err != nil {
		return verdict{}, err
	}
	out := verdict{}
	v := vote{stage: a.at, approver: user, user: user, decision: b.Decision, comment: b.Comment, at: now}
	for _, s := range mine {
		v.approver, s.vote = s.approver, &v
		out.votes = append(out.votes, v)
	}
	if len(mine) == 0 { // nobody is left to decide in the place of
		out.votes = []vote{v}
	}
	if b.Decision == Rejected || over || a.open().Decide == model.ByAny || complete(all) {
		out.ends = b.Decision
	}
	return out, nil
}

// places are those that somebody decides in, none of which has a decision: its own, or,
// of somebody who may modify all records and has none, all of them (over).
func places(m *model.Model, a *instance, all []slot, user string) (mine []*slot, over bool, err error) {
	voted := false
	for i := range all {
		s := &all[i]
		switch {
		case s.vote != nil:
			voted = voted || s.vote.user == user
		case s.holder() == user:
			mine = append(mine, s)
		}
	}
	switch {
	case len(mine) > 0:
		return mine, false, nil
	case voted:
		return nil, false, fault.New(fault.Conflict, CodeVoted,
			"you have decided in this stage already; it waits for others")
	case !m.ModifyAll(user):
		return nil, false, fault.New(fault.Forbidden, CodeNotApprover, "the stage %s does not wait for your decision",
			a.open().Name)
	}
	for i := range all {
		if all[i].vote == nil {
			mine = append(mine, &all[i])
		}
	}
	return mine, true, nil
}

// complete reports whether everybody has approved.
func complete(all []slot) bool {
	return len(all) > 0 && !slices.ContainsFunc(all, func(s slot) bool { return s.vote == nil })
}

// waits refuses what comes after an approval, or the stage that the caller means, has
// passed.
func (a *instance) waits(seen *int) error {
	switch {
	case a.status != Pending:
		return fault.New(fault.Conflict, CodeEnded, "the approval was %s at %s and stays so",
			strings.ToLower(a.status.String()), a.decidedAt).
			With(map[string]string{"status": a.status.String()})
	case seen != nil && *seen != a.at:
		return fault.New(fault.Conflict, CodeStage,
			"the approval is in stage %d by now; read it again and decide on that", a.at).
			With(map[string]any{"field": "stageIndex", "currentStageIndex": a.at})
	}
	return nil
}

// hand decides about giving the places that somebody holds, and has not decided in, to
// another.
func hand(m *model.Model, a *instance, from, to string, now canonical.Stamp, comment string) ([]deputy, error) {
	if err := a.waits(nil); err != nil {
		return nil, err
	}
	if !eligible(m, a, to) {
		return nil, rest.Invalid("userId",
			"userId must be an active user who may read records of %s and did not submit this one", a.object)
	}
	all := slots(m, a, a.at)
	mine, _, err := places(m, a, all, from)
	if err != nil {
		return nil, err
	}
	var given []deputy
	for _, s := range mine {
		if s.holder() != to {
			given = append(given, deputy{a.at, s.approver, to, from, comment, now})
		}
	}
	if len(given) == 0 {
		return nil, rest.Invalid("userId", "userId must be somebody whom the stage does not wait for already")
	}
	return given, nil
}
