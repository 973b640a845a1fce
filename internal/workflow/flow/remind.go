package flow

import "time"

// Remind is when those who may resume a Wait are reminded of it.
type Remind struct {
	After Duration `json:"after"`
	Every Duration `json:"every,omitzero"` // default: after
	Max   int      `json:"max,omitzero"`   // default 1
}

// withDefaults fills in what the author left out.
func (r *Remind) withDefaults() *Remind {
	if r == nil {
		return nil
	}
	full := *r
	if full.Every == 0 {
		full.Every = full.After
	}
	if full.Max == 0 {
		full.Max = 1
	}
	return &full
}

// withoutDefaults leaves out what the author need not write.
func (r *Remind) withoutDefaults() *Remind {
	if r == nil {
		return nil
	}
	short := *r
	if short.Every == short.After {
		short.Every = 0
	}
	if short.Max == 1 {
		short.Max = 0
	}
	return &short
}

func checkRemind(n *NodeSpec) error {
	r := n.Remind
	switch {
	case r == nil:
		return nil
	case n.For != 0:
		return refuseField(n, "remind", "excludes for: a timer waits for nobody")
	case r.After <= 0 || r.After > Duration(MaxSpan):
		return refuseField(n, "remind.after", "must be more than 0s and at most %s", hours(MaxSpan))
	case r.Every <= 0 || r.Every > Duration(MaxSpan):
		return refuseField(n, "remind.every", "must be more than 0s and at most %s", hours(MaxSpan))
	case r.Max < 1 || r.Max > MaxReminders:
		return refuseField(n, "remind.max", "must be 1 to %d", MaxReminders)
	}
	return nil
}

// next is when the reminder after done others comes, if the node waits until then; 0: never.
func (r *Remind) next(now Time, done int, until Time) Time {
	if r == nil || done >= r.Max {
		return 0
	}
	span := r.After
	if done > 0 {
		span = r.Every
	}
	at := now.Add(time.Duration(span))
	if until != 0 && at >= until {
		return 0
	}
	return at
}

// remind says once more that a node waits. What it asks is in the first NODE_WAITING.
func (d *draft) remind(i int) {
	n, spec := d.Nodes[i], &d.plan.nodes[i].spec
	done := n.Reminders + 1
	d.emit(&NodeWaiting{
		NodeID: n.ID, WaitKey: n.WaitKey, WaitUntil: n.WaitUntil, Assignees: n.Assignees, Awaits: n.Awaits,
		Reminder: done, RemindAt: spec.Remind.next(d.facts.Now, done, n.WaitUntil),
	})
}
