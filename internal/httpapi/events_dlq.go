package httpapi

import (
	"context"
	"net/http"
	"strings"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
)

// DeadLetters is where dead letters are kept. What it answers is durable; unknown ones
// are fault.NotFound.
type DeadLetters interface {
	DeadLetters(ctx context.Context, tenant string, f bus.DeadFilter, offset, limit int) ([]bus.DeadLetter, int, error)
	InspectDead(ctx context.Context, tenant, id string) (bus.Inspection, error)
	ForeseeDead(ctx context.Context, tenant string, f *bus.DeadFilter, ids []string) ([]bus.Foreseen, error)
	DecideDead(ctx context.Context, d bus.Decision, id string, key canonical.IdempotencyKey) (bus.DeadAnswer, error)
}

// reasonClasses are the words of fault.ReasonClass.
var reasonClasses = []string{
	string(fault.ReasonAuth), string(fault.ReasonValidation), string(fault.ReasonTemplateConflict),
	string(fault.ReasonRunConflict),
	string(fault.ReasonUnsupportedAction), string(fault.ReasonInfra),
}

// deadParams are the parameters of a list of dead letters.
var deadParams = []string{"status", "consumer", "eventType", "key", "reasonClass", "deadFrom", "deadTo", "foresee"}

// deadFilter selects dead letters.
func (q query) deadFilter() bus.DeadFilter {
	f := bus.DeadFilter{
		Consumer: q.name("consumer"), EventType: q.name("eventType"), Key: q.line("key", maxPartitionKey),
		DeadFrom: canonical.Stamp(q.Instant("deadFrom")), DeadTo: canonical.Stamp(q.Instant("deadTo")),
	}
	for _, word := range q.Words("status", bus.Statuses()...) {
		status, _ := bus.ParseStatus(word)
		f.Status = append(f.Status, status)
	}
	if class := q.Words("reasonClass", reasonClasses...); len(class) > 1 {
		q.Fail("reasonClass", "reasonClass must be one of %s", strings.Join(reasonClasses, ", "))
	} else if len(class) == 1 {
		f.ReasonClass = fault.ReasonClass(class[0])
	}
	return f
}

func (a *API) listDead(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q, p := rest.ReadPage(c, deadParams...)
	f, foresee := query{q}.deadFilter(), q.Bool("foresee")
	if q.Err != nil {
		return gate.Reply{}, q.Err
	}
	rows, total, err := a.cfg.DeadLetters.DeadLetters(ctx, c.Principal.Tenant, f, p.Offset(), p.Size)
	if err != nil {
		return gate.Reply{}, err
	}
	out := rest.Show(p, rows, total, showDead)
	if foresee != nil && *foresee {
		err = a.foreseeDead(ctx, c.Principal.Tenant, &f, out.Items)
	}
	return gate.Reply{Body: out}, err
}

// foreseeDead fills in what would become of dead letters if all that a filter selects
// were driven again.
func (a *API) foreseeDead(ctx context.Context, tenant string, f *bus.DeadFilter, items []deadView) error {
	ids := make([]string, len(items))
	for i := range items {
		ids[i] = items[i].DeadLetterID
	}
	seen, err := a.cfg.DeadLetters.ForeseeDead(ctx, tenant, f, ids)
	for i := range seen {
		items[i].Verdict = seen[i].Verdict
	}
	return err
}

func deadID(c *gate.Call) (string, error) {
	return pathID(c, "deadLetterId", "DEAD_LETTER_NOT_FOUND", "dead letter")
}

func (a *API) deadLetter(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	id, err := deadID(c)
	if err != nil {
		return gate.Reply{}, err
	}
	seen, err := a.cfg.DeadLetters.InspectDead(ctx, c.Principal.Tenant, id)
	return gate.Reply{Body: showInspection(&seen)}, err
}

// maxDecisionReason is how many characters the reason of a decision may have.
const maxDecisionReason = 500

func (a *API) redrive(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	id, err := deadID(c)
	if err != nil {
		return gate.Reply{}, err
	}
	var b struct {
		DryRun bool   `json:"dryRun"`
		Reason string `json:"reason"`
	}
	if err := c.Decode(&b); err != nil {
		return gate.Reply{}, err
	}
	if err := decisionReason(b.Reason, false); err != nil {
		return gate.Reply{}, err
	}
	if b.DryRun {
		return a.dryRun(ctx, c, id)
	}
	return a.decideDead(ctx, c, id, bus.Decision{Reason: b.Reason})
}

func (a *API) skip(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	id, err := deadID(c)
	if err != nil {
		return gate.Reply{}, err
	}
	var b struct {
		Reason string `json:"reason"`
	}
	if err := c.Decode(&b); err != nil {
		return gate.Reply{}, err
	}
	if err := decisionReason(b.Reason, true); err != nil {
		return gate.Reply{}, err
	}
	return a.decideDead(ctx, c, id, bus.Decision{Skip: true, Reason: b.Reason})
}

// decisionReason checks the reason of a decision, which a skip must have.
func decisionReason(reason string, skip bool) error {
	switch {
	case skip && (!canonical.OneLine(reason, 1, maxDecisionReason) || strings.TrimSpace(reason) == ""):
		return rest.Invalid("reason", "a skip needs a reason of %s on one line",
			count(1, maxDecisionReason, "characters"))
	case !canonical.OneLine(reason, 0, maxDecisionReason):
		return rest.Invalid("reason", "reason must be %s on one line", count(0, maxDecisionReason, "characters"))
	}
	return nil
}

// foreseenView is what would become of a dead letter.
type foreseenView struct {
	DeadLetterID string      `json:"deadLetterId"`
	DryRun       bool        `json:"dryRun"`
	Status       string      `json:"status"`
	Verdict      bus.Verdict `json:"verdict,omitempty"`
}

// dryRun says what a redrive would do. It changes nothing, so nothing is remembered.
func (a *API) dryRun(ctx context.Context, c *gate.Call, id string) (gate.Reply, error) {
	seen, err := a.cfg.DeadLetters.ForeseeDead(ctx, c.Principal.Tenant, nil, []string{id})
	if err != nil {
		return gate.Reply{}, err
	}
	if seen[0].ID == "" {
		return gate.Reply{}, fault.New(fault.NotFound, "DEAD_LETTER_NOT_FOUND", "there is no dead letter %.64q", id)
	}
	return gate.Reply{Body: foreseenView{
		DeadLetterID: id, DryRun: true, Status: seen[0].Status.String(), Verdict: seen[0].Verdict,
	}}, nil
}

// deadAnswer is the body of an accepted decision.
type deadAnswer struct {
	DeadLetterID   string      `json:"deadLetterId"`
	Accepted       bool        `json:"accepted"`
	Status         string      `json:"status"`
	Verdict        bus.Verdict `json:"verdict,omitempty"`
	MakesStale     int         `json:"makesStale,omitzero"`
	CorrelationID  string      `json:"correlationId"`
	IdempotencyKey string      `json:"idempotencyKey"`
}

// decideDead decides about a dead letter. The answer depends on nothing else than the
// bus's, so a replay is equal.
func (a *API) decideDead(ctx context.Context, c *gate.Call, id string, d bus.Decision) (gate.Reply, error) {
	command, action := "RedriveDeadLetter", "redrive"
	if d.Skip {
		command, action = "SkipDeadLetter", "skip"
	}
	key, err := canonical.ParseIdempotencyKey(c.Key, "POST /events/dlq/"+id+"/"+action, c.Body)
	if err != nil {
		return gate.Reply{}, err
	}
	d.Tenant, d.Actor, d.CorrelationID = c.Principal.Tenant, c.Principal.Subject, c.CorrelationID
	ans, err := a.cfg.DeadLetters.DecideDead(ctx, d, id, key)
	if err != nil {
		return gate.Reply{}, err
	}
	if ans.Refused != "" {
		return gate.Reply{}, deadRefusal(command, &ans)
	}
	return gate.Reply{Status: acceptedStatus(ans.Replay), Body: deadAnswer{
		DeadLetterID: ans.ID, Accepted: true, Status: ans.Status.String(), Verdict: ans.Verdict,
		MakesStale: ans.MakesStale, CorrelationID: ans.CorrelationID, IdempotencyKey: ans.Key,
	}}, nil
}

// acceptedStatus is the status of a command that was accepted, now or before.
func acceptedStatus(replay bool) int {
	if replay {
		return http.StatusOK
	}
	return http.StatusAccepted
}

// deadRefusal says why a dead letter refused a decision.
func deadRefusal(command string, ans *bus.DeadAnswer) error {
	why := "the dead letter is " + ans.Status.String()
	switch ans.Refused {
	case bus.GuardPlaceFree:
		why = "another event holds its place in the order of its key"
	case bus.GuardKeyOrder:
		why = "an older event of its key is still open or waits"
	}
	state := map[string]any{"deadLetter": ans.Status.String()}
	if ans.Verdict != "" {
		state["verdict"] = ans.Verdict
	}
	return refusedBy(command, why, ans.Refused, state)
}

// refusedBy is a refusal by a guard of the bus.
func refusedBy(command, why string, guard bus.Guard, state map[string]any) error {
	class, advice := guard.Advice()
	details := map[string]any{"guard": guard, "state": state, "reasonClass": class, "retryAdvice": advice}
	if newKey(advice) {
		details["newKey"] = true
	}
	return fault.New(fault.Conflict, "COMMAND_REJECTED", "%s rejected because %s", command, why).With(details)
}
