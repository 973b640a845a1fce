package dlq

import (
	"context"
	"time"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/platform/bulk"
	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/fault"
)

// Detail is the decision about a dead letter.
type Detail struct {
	Verdict bus.Verdict `json:"verdict,omitempty"` // of a redrive
	Status  string      `json:"status,omitempty"`  // of the dead letter
	Guard   bus.Guard   `json:"guard,omitempty"`   // refused
	Code    string      `json:"code,omitempty"`    // failed
	Message string      `json:"message,omitempty"`
}

// Do decides about dead letters and waits for the outcome. If that takes long it is Unavailable; the repeated call
// does not decide again.
func (k *Kind) Do(ctx context.Context, b *bulk.Bulk, names []string) ([]bulk.Result, error) {
	s, err := Parse(b)
	if err != nil {
		return nil, err
	}
	letters, err := k.bus.DeadLettersOf(ctx, b.Tenant, names)
	if err != nil {
		return nil, err
	}
	d := bus.Decision{
		Tenant: b.Tenant, Skip: k.skip, Reason: s.Reason, Actor: b.StartedBy, CorrelationID: b.CorrelationID,
		Bulk: b.ID,
	}
	answers := map[string]bus.DeadAnswer{}
	until := time.Now().Add(k.patience)
	for _, wave := range k.waves(letters) {
		decided, err := k.bus.DecideMany(ctx, d, wave)
		if err != nil {
			return nil, err
		}
		for i := range decided {
			answers[wave[i]] = decided[i].Answer
		}
		if err := k.await(ctx, b, wave, until); err != nil {
			return nil, err
		}
	}
	if letters, err = k.bus.DeadLettersOf(ctx, b.Tenant, names); err != nil {
		return nil, err
	}
	results := make([]bulk.Result, len(names))
	for i := range letters {
		var d Detail
		results[i].Outcome, d = k.result(b.ID, &letters[i], answers[names[i]])
		if results[i].Detail, err = json.Marshal(&d); err != nil {
			return nil, fault.Wrap("dlq.result", err)
		}
	}
	return results, nil
}

// waves groups dead letters that are decided about together. A redrive puts those of one key into different waves, in
// order.
func (k *Kind) waves(letters []bus.DeadLetter) (waves [][]string) {
	type consumerKey struct{ consumer, key string }
	next := map[consumerKey]int{}
	for i := range letters {
		l := &letters[i]
		if l.ID == "" {
			continue
		}
		n := 0
		if !k.skip {
			n = next[consumerKey{l.Consumer, l.Key}]
			next[consumerKey{l.Consumer, l.Key}]++
		}
		if n == len(waves) {
			waves = append(waves, nil)
		}
		waves[n] = append(waves[n], l.ID)
	}
	return waves
}

const pollEvery = 20 * time.Millisecond

// await waits until the readers have carried out a bulk's decisions.
func (k *Kind) await(ctx context.Context, b *bulk.Bulk, ids []string, until time.Time) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		letters, err := k.bus.DeadLettersOf(ctx, b.Tenant, ids)
		if err != nil {
			return err
		}
		ids = ids[:0:0]
		for i := range letters {
			if l := &letters[i]; k.waitFor(l.ID, k.underWay(b.ID, l)) {
				ids = append(ids, l.ID)
			}
		}
		if len(ids) == 0 {
			return nil
		}
		if time.Now().After(until) {
			return fault.New(fault.Unavailable, "", "%d decisions about dead letters are still to be carried out",
				len(ids))
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fault.New(fault.Unavailable, "", "there was no time left to wait for dead letters")
		}
	}
}

// waitFor reports whether to keep waiting, by this machine's clock: the database's may differ.
func (k *Kind) waitFor(id string, underWay bool) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !underWay {
		delete(k.waiting, id)
		return false
	}
	since, known := k.waiting[id]
	if !known {
		since = time.Now()
		k.waiting[id] = since
	}
	if time.Since(since) < k.giveUp {
		return true
	}
	delete(k.waiting, id)
	return false
}

// underWay reports whether the reader has yet to carry out this bulk's decision.
func (k *Kind) underWay(id string, l *bus.DeadLetter) bool {
	return l.DecidedIn == id && (l.Status == bus.Redriving || l.Status == bus.Skipping)
}

func (k *Kind) result(id string, l *bus.DeadLetter, ans bus.DeadAnswer) (bulk.Outcome, Detail) {
	d := Detail{Status: l.Status.String()}
	switch {
	case l.ID == "":
		return bulk.Failed, Detail{Code: "DEAD_LETTER_NOT_FOUND", Message: "the dead letter is past its retention"}
	case ans.Refused != "":
		d.Guard, d.Verdict = ans.Refused, ans.Verdict
		return bulk.Refused, d
	case k.underWay(id, l):
		d.Code, d.Message = "NOT_CARRIED_OUT", "no reader has carried the decision out yet; it will when one runs"
		return bulk.Failed, d
	case l.Status == bus.Open:
		d.Verdict, d.Code, d.Message = bus.WillApply, l.ReasonCode, "it died again: "+l.Error
		return bulk.Failed, d
	case l.DecidedIn != id || l.Status == bus.Stale || l.Status == bus.Duplicate:
		d.Verdict = foreseenOf(l.Status)
		return bulk.Already, d
	}
	d.Verdict = foreseenOf(l.Status)
	return bulk.Applied, d
}

// foreseenOf is the verdict that came true.
func foreseenOf(s bus.Status) bus.Verdict {
	switch s {
	case bus.Applied:
		return bus.WillApply
	case bus.Stale:
		return bus.WillBeStale
	case bus.Duplicate:
		return bus.IsDuplicate
	}
	return ""
}
