package cli

import (
	"context"
	"maps"
	"slices"
	"strings"

	"renga.dev/renga/client"
)

type approvalCmd struct {
	Submit   approvalSubmitCmd   `cmd:"" help:"Submit a record for approval."`
	List     approvalListCmd     `cmd:"" help:"List approvals, such as those that wait for you."`
	Show     approvalShowCmd     `cmd:"" help:"Show the stages of an approval, who may decide and why."`
	Decide   approvalDecideCmd   `cmd:"" help:"Approve or reject."`
	Delegate approvalDelegateCmd `cmd:"" help:"Let another user decide instead."`
	Recall   approvalRecallCmd   `cmd:"" help:"Recall a submission."`
}

type approvalComment struct {
	Comment string `placeholder:"TEXT" help:"What the others should know."`
}

func printApproval(p *printer, one *client.Approval) {
	pairs := []any{
		"ID", one.ID, "Record",
		phrase{one.Object, " ", named(one.RecordID)},
		"Process", one.ProcessName, "Status", one.Status,
		"Submitted",
		phrase{one.SubmittedAt, " by ", named(one.SubmittedBy), with(": ", one.Comment)},
	}
	if d := one.Decision; d != nil {
		pairs = append(pairs, "Decided", phrase{d.DecidedAt, " by ", named(d.DecidedBy), with(": ", d.Comment)})
	}
	if o := one.Outcome; o != nil {
		pairs = append(pairs, "Outcome", outcomeText(o))
	}
	pairs = append(append(pairs, fieldPairs(one.Record)...), "Execution", one.ExecutionID)
	p.pairs(pairs...)
	var rows [][]any
	for i := range one.Stages {
		rows = append(rows, stageRows(i, &one.Stages[i])...)
	}
	p.grid("STAGE, NAME, STATUS, USER, WHAT", rows)
}

// outcomeText is what an approval writes into its record, in words.
func outcomeText(o *client.ApprovalOutcome) string {
	var fields []string
	for _, name := range slices.Sorted(maps.Keys(o.Fields)) {
		fields = append(fields, name+" = "+shortly(o.Fields[name]))
	}
	return strings.Join(fields, ", ") + " (" + strings.ToLower(o.Status) + with(": ", o.Message) + ")"
}

// stageRows are the lines of a stage: what was decided, and whom it waits for.
func stageRows(i int, s *client.ApprovalStage) (rows [][]any) {
	row := func(user string, what phrase) {
		rows = append(rows, []any{i, s.Name, s.Status, named(user), what})
	}
	for _, d := range s.Decisions {
		what := phrase{d.Decision, " at ", d.DecidedAt, with(": ", d.Comment)}
		if d.ApproverID != d.UserID {
			what = append(what, ", in the place of ", named(d.ApproverID))
		}
		row(d.UserID, what)
	}
	for _, who := range s.Approvers {
		if who.Decided {
			continue
		}
		what := phrase{"may decide"}
		lead := ", as "
		for _, m := range who.Via {
			of := " "
			if m.Type == "Manager" {
				of = " of "
			}
			what = append(what, lead, strings.ToLower(m.Type), of, named(m.ID))
			lead = ", "
		}
		if who.DelegateID != "" {
			what = append(what, "; delegated to ", named(who.DelegateID))
		}
		row(who.UserID, what)
	}
	if len(rows) == 0 {
		row("", nil)
	}
	return rows
}

type approvalSubmitCmd struct {
	recordName
	Process string `placeholder:"UUID" help:"Approval process; the default is the one that takes the record."`
	approvalComment
}

func (approvalSubmitCmd) Help() string {
	return `Until it is decided, the locked fields of the process cannot be changed.

Examples:
  renga approval submit Quote 0199c1a5-0000-7000-8000-0000000000b1 --comment "20 % for a large customer"`
}

func (c *approvalSubmitCmd) Run(ctx context.Context, r *remote) error {
	return show(r, printApproval)(r.Approvals.Submit(ctx, client.Submission{
		Object: c.Object, RecordID: c.ID, ProcessID: c.Process, Comment: c.Comment,
	}))
}

type approvalListCmd struct {
	Assigned    bool   `help:"Those that wait for your decision."`
	Status      string `placeholder:"STATUS" help:"PENDING, APPROVED, REJECTED or RECALLED."`
	Object      string `placeholder:"NAME" help:"Of records of this object."`
	Record      string `placeholder:"UUID" help:"Of this record."`
	SubmittedBy string `placeholder:"USER" help:"That this user has submitted, by id or subject."`
	paging
}

func (approvalListCmd) Help() string {
	return `Examples:
  renga approval list --assigned
  renga approval list --status PENDING --object Quote -o json | jq -r '.items[].id'`
}

func (c *approvalListCmd) Run(ctx context.Context, r *remote) error {
	by, err := r.userID(ctx, "--submitted-by", c.SubmittedBy)
	if err != nil {
		return err
	}
	const head = "ID, STATUS, STAGE, RECORD, SUBMITTED, BY"
	return tabulate(r, &c.paging, columns(head, func(one *client.ApprovalSummary) []any {
		at := ""
		if one.CurrentStageIndex < len(one.StageNames) {
			at = one.StageNames[one.CurrentStageIndex]
		}
		return []any{
			one.ID, one.Status, at,
			phrase{one.Object, " ", named(one.RecordID)},
			one.SubmittedAt,
			named(one.SubmittedBy),
		}
	}))(r.Approvals.List(ctx, client.ApprovalQuery{
		Assigned: c.Assigned, Status: c.Status, Object: c.Object, RecordID: c.Record, SubmittedBy: by,
		Paging: c.at(),
	}))
}

type approvalShowCmd struct {
	ID string `arg:"" help:"Id of the approval."`
}

func (approvalShowCmd) Help() string {
	return `Examples:
  renga approval show 0199c1a6-0000-7000-8000-000000000001`
}

func (c *approvalShowCmd) Run(ctx context.Context, r *remote) error {
	return show(r, printApproval)(r.Approvals.Get(ctx, c.ID))
}

type approvalDecideCmd struct {
	ID       string `arg:"" help:"Id of the approval."`
	Decision string `arg:"" enum:"approve,reject" help:"What you think of it: ${enum}."`
	Stage    *int   `placeholder:"N"`
	approvalComment
}

func (approvalDecideCmd) Help() string {
	return `Examples:
  renga approval decide 0199c1a6-0000-7000-8000-000000000001 approve --comment OK
  renga approval decide 0199c1a6-0000-7000-8000-000000000001 reject --comment "15 % at most"`
}

func (c *approvalDecideCmd) Run(ctx context.Context, r *remote) error {
	decision := client.Approve
	if c.Decision == "reject" {
		decision = client.Reject
	}
	return show(r, printApproval)(r.Approvals.Decide(ctx, c.ID, client.Ballot{
		Decision: decision, Comment: c.Comment, Stage: c.Stage,
	}))
}

type approvalDelegateCmd struct {
	ID string `arg:"" help:"Id of the approval."`
	To string `required:"" placeholder:"USER" help:"User who decides instead, by id or subject."`
	approvalComment
}

func (approvalDelegateCmd) Help() string {
	return `The other one can give it on, or back.

Examples:
  renga approval delegate 0199c1a6-0000-7000-8000-000000000001 --to mika`
}

func (c *approvalDelegateCmd) Run(ctx context.Context, r *remote) error {
	to, err := r.userID(ctx, "--to", c.To)
	if err != nil {
		return err
	}
	return show(r, printApproval)(r.Approvals.Delegate(ctx, c.ID, to, c.Comment))
}

type approvalRecallCmd struct {
	ID string `arg:"" help:"Id of the approval."`
	approvalComment
}

func (approvalRecallCmd) Help() string {
	return `For who has submitted, and for who may modify all records. Decisions that come later are refused.

Examples:
  renga approval recall 0199c1a6-0000-7000-8000-000000000001 --comment "the customer wants more"`
}

func (c *approvalRecallCmd) Run(ctx context.Context, r *remote) error {
	return show(r, printApproval)(r.Approvals.Recall(ctx, c.ID, c.Comment))
}
