package httpapi

import (
	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/seal"
	"renga.dev/renga/internal/workflow/flow"
)

// consumerView is a consumer as operators see it.
type consumerView struct {
	Consumer   string            `json:"consumer"`
	Configured bool              `json:"configured"`
	Stream     string            `json:"stream"`
	EventTypes []string          `json:"eventTypes"`
	Continue   bool              `json:"continue"`
	Partitions []bus.ReaderState `json:"partitions"`
}

func showConsumer(c *bus.ConsumerState) consumerView {
	return consumerView{c.Name, c.Configured, c.Stream.String(), c.Types, c.Continue, c.Parts}
}

// outboxView is the outbox as operators see it.
type outboxView struct {
	Unpublished int             `json:"unpublished"`
	OldestAt    canonical.Stamp `json:"oldestUnpublishedAt,omitzero"`
	Partitions  []relayView     `json:"partitions"`
	Items       []bus.OutboxRow `json:"items"`
}

type relayView struct {
	Partition   int             `json:"partition"`
	Holder      string          `json:"holder,omitempty"`
	LeaseUntil  canonical.Stamp `json:"leaseUntil,omitzero"`
	Unpublished int             `json:"unpublished"`
	OldestAt    canonical.Stamp `json:"oldestUnpublishedAt,omitzero"`
	Refill      *refillView     `json:"refill,omitzero"`
}

// refillView says how far a stream that lost something is filled again.
type refillView struct {
	Position int64           `json:"position"`
	Upto     int64           `json:"upto"`
	Since    canonical.Stamp `json:"since,omitzero"`
}

func showOutbox(s *bus.OutboxState, rows []bus.OutboxRow, sealed *seal.Sealer) outboxView {
	v := outboxView{
		Unpublished: s.Unpublished, Partitions: make([]relayView, len(s.Parts)), Items: rows,
	}
	for i := range s.Parts {
		p := &s.Parts[i]
		v.Partitions[i] = relayView{
			Partition: p.Part, Holder: p.Holder, LeaseUntil: p.LeaseUntil, Unpublished: p.Unpublished,
			OldestAt: p.Oldest,
		}
		if p.Oldest > 0 && (v.OldestAt == 0 || p.Oldest < v.OldestAt) {
			v.OldestAt = p.Oldest
		}
		if p.Replay != nil {
			v.Partitions[i].Refill = &refillView{p.Replay.Done, p.Replay.Total, p.Replay.Since}
		}
	}
	for i := range rows {
		rows[i].ID = sealed.Position(rows[i].ID)
	}
	return v
}

// deadView is a dead letter as readers see it.
type deadView struct {
	DeadLetterID  string            `json:"deadLetterId"`
	Status        string            `json:"status"`
	Consumer      string            `json:"consumer"`
	Partition     int               `json:"partition"`
	Key           string            `json:"partitionKey"`
	EventID       string            `json:"eventId"`
	EventType     string            `json:"eventType"`
	Version       canonical.Stamp   `json:"recordVersion,omitzero"`
	Index         int               `json:"index"`
	ReasonClass   fault.ReasonClass `json:"reasonClass"`
	ReasonCode    string            `json:"reasonCode"`
	RetryAdvice   fault.RetryAdvice `json:"retryAdvice"`
	Error         string            `json:"error"`
	Attempts      int               `json:"attempts"`
	FirstFailedAt canonical.Stamp   `json:"firstFailedAt"`
	DeadAt        canonical.Stamp   `json:"deadAt"`
	RedriveAt     canonical.Stamp   `json:"redriveAt,omitzero"`
	Decision      *decisionView     `json:"decision,omitzero"`
	EndedAt       canonical.Stamp   `json:"endedAt,omitzero"`
	Verdict       bus.Verdict       `json:"verdict,omitempty"` // where it is asked for
}

// decisionView is what was decided last about a dead letter.
type decisionView struct {
	By     flow.Actor      `json:"by"`
	At     canonical.Stamp `json:"at"`
	Reason string          `json:"reason,omitempty"`
	BulkID string          `json:"bulkId,omitempty"`
}

func showDead(l *bus.DeadLetter) deadView {
	v := deadView{
		DeadLetterID: l.ID, Status: l.Status.String(), Consumer: l.Consumer, Partition: l.Part, Key: l.Key,
		EventID: l.EventID, EventType: l.EventType, Version: l.Version, Index: l.Index,
		ReasonClass: l.ReasonClass, ReasonCode: l.ReasonCode, RetryAdvice: l.RetryAdvice, Error: l.Error,
		Attempts: l.Attempts, FirstFailedAt: l.FirstFailedAt, DeadAt: l.DeadAt, RedriveAt: l.RedriveAt,
		EndedAt: l.EndedAt,
	}
	if l.DecidedAt > 0 {
		v.Decision = &decisionView{
			By: flow.Actor{Kind: flow.KindUser, ID: l.DecidedBy}, At: l.DecidedAt,
			Reason: l.Reason, BulkID: l.DecidedIn,
		}
		if l.DecidedBy == bus.Automatic {
			v.Decision.By = flow.Actor{Kind: flow.KindSystem}
		}
	}
	return v
}

// inspectionView is a dead letter with all that is known of it.
type inspectionView struct {
	deadView
	Failures        []bus.Failure  `json:"failures"`
	Event           jsontext.Value `json:"event,omitzero"`
	PayloadWithheld bool           `json:"payloadWithheld"`
	Waiting         waitersView    `json:"waiting"`
	SkipMakesStale  int            `json:"skipMakesStale,omitzero"`
}

type waitersView struct {
	Count int                `json:"count"`
	First []bus.WaitingEvent `json:"first"`
}

func showInspection(in *bus.Inspection) inspectionView {
	v := inspectionView{
		deadView: showDead(&in.DeadLetter), Failures: in.Failures,
		PayloadWithheld: in.Withheld, Waiting: waitersView{in.Waiting, in.First},
	}
	v.Verdict, v.SkipMakesStale = in.Verdict, in.SkipMakesStale
	if in.Event != nil {
		v.Event = in.Event.AppendJSON(nil)
	}
	return v
}

// replayView is a replay as readers see it.
type replayView struct {
	ReplayID  string           `json:"replayId"`
	Consumer  string           `json:"consumer"`
	From      canonical.Stamp  `json:"from"`
	To        canonical.Stamp  `json:"to"`
	Status    string           `json:"status"`
	Counts    bus.ReplayCounts `json:"counts"`
	CreatedBy flow.Actor       `json:"createdBy"`
	CreatedAt canonical.Stamp  `json:"createdAt"`
	EndedAt   canonical.Stamp  `json:"endedAt,omitzero"`
}

func showReplay(r *bus.Replay) replayView {
	return replayView{
		ReplayID: r.ID, Consumer: r.Consumer, From: r.From, To: r.To, Status: r.Status.String(),
		Counts: r.Counts, CreatedBy: flow.Actor{Kind: flow.KindUser, ID: r.CreatedBy}, CreatedAt: r.CreatedAt,
		EndedAt: r.EndedAt,
	}
}
