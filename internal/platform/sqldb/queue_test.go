package sqldb

import (
	"testing"
	"time"
)

func TestPickDividesTime(t *testing.T) {
	const ms = time.Millisecond
	tests := []struct {
		name          string
		share         share
		engine, other bool
		want          Priority
		ok            bool
	}{
		{name: "nothing waits", ok: false},
		{name: "the engine goes first", engine: true, other: true, want: Engine, ok: true},
		{name: "the others go when the engine rests", other: true, want: Other, ok: true},
		{
			name: "the others get their third", share: share{ran: [priorities]time.Duration{3 * ms, 0}}, engine: true,
			other: true, want: Other, ok: true,
		},
		{
			name: "and not more while the engine waits", share: share{ran: [priorities]time.Duration{4 * ms, 2 * ms}},
			engine: true, other: true, want: Engine, ok: true,
		},
		{name: "a short engine job is held up by the floor at most", share: share{ran: [priorities]time.Duration{
			ms / 10,
			otherFloor,
		}}, other: true, ok: false},
		{
			name:  "within the floor the others share its commit",
			share: share{ran: [priorities]time.Duration{ms / 10, ms}}, other: true, want: Other, ok: true,
		},
		{
			name:  "a transaction without engine jobs lasts as long as any",
			share: share{ran: [priorities]time.Duration{0, 15 * ms}}, other: true, want: Other, ok: true,
		},
		{
			name: "but no longer", share: share{ran: [priorities]time.Duration{0, maxRun}}, engine: true, other: true,
			ok: false,
		},
		{
			name: "what the others are owed comes first", share: share{owed: ms}, engine: true, other: true,
			want: Other,
			ok:   true,
		},
		{name: "a slow engine begins a transaction", share: share{slow: true}, engine: true, want: Engine, ok: true},
		{
			name:  "and joins none of others",
			share: share{slow: true, ran: [priorities]time.Duration{0, ms}}, engine: true, ok: false,
		},
		{name: "the number of jobs is bounded", share: share{jobs: maxJobs}, engine: true, ok: false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := tt.share.pick(tt.engine, tt.other)
			if ok != tt.ok || got != tt.want {
				t.Errorf("pick = %v, %v; want %v, %v", got, ok, tt.want, tt.ok)
			}
		})
	}
}

// TestOthersHaveAThirdOfTheTime lets both priorities be full for ever and looks at how
// the time is divided, whatever a job of either priority takes.
func TestOthersHaveAThirdOfTheTime(t *testing.T) {
	for _, cost := range [][priorities]time.Duration{
		{time.Millisecond, time.Millisecond},
		{5 * time.Millisecond, time.Millisecond / 2},
		{time.Millisecond / 10, 3 * time.Millisecond},
		{2 * maxRun, time.Millisecond},
		{time.Millisecond, 2 * maxRun},
	} {
		var total [priorities]time.Duration
		var s share
		for range 1000 {
			for priority, ok := s.pick(true, true); ok; priority, ok = s.pick(true, true) {
				s.jobs++
				s.ran[priority] += cost[priority]
			}
			total[Engine] += s.ran[Engine]
			total[Other] += s.ran[Other]
			s = s.next(true)
		}
		third := float64(total[Other]) / float64(total[Engine]+total[Other])
		if third < 0.3 || third > 0.4 {
			t.Errorf("jobs of %v: the others have %.0f %% of the time", cost, 100*third)
		}
	}
}
