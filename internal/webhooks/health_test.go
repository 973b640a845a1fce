package webhooks

import (
	"testing"
	"time"

	"renga.dev/renga/internal/platform/canonical"
)

func TestWhatAnAnswerMeans(t *testing.T) {
	for status, want := range map[int]verdict{
		0: away, 100: away, 200: delivered, 201: delivered, 202: delivered, 204: delivered, 299: delivered,
		301: away, 302: away, 307: away, 400: refused, 401: refused, 404: refused, 408: away, 409: refused, 410: gone,
		413: refused,
		422: refused, 429: away, 500: refused, 501: refused, 502: away, 503: away, 504: away, 599: refused,
	} {
		if got := verdictOf(status); got != want {
			t.Errorf("%d: got %d, want %d", status, got, want)
		}
	}
}

func TestADeliveryIsTriedForDays(t *testing.T) {
	var sum time.Duration
	for tries := int64(1); ; tries++ {
		wait, again := after(tries)
		if !again {
			if tries != int64(MaxTries) {
				t.Errorf("the last try is number %d, want %d", tries, MaxTries)
			}
			break
		}
		if tries > 1 && wait <= waits[tries-2] {
			t.Errorf("after try %d it waits for %v, not longer than before", tries, wait)
		}
		sum += wait
	}
	if sum < 3*24*time.Hour || sum > 4*24*time.Hour {
		t.Errorf("it is tried for %v, want three days", sum)
	}
	for range 100 {
		if got := jitter(10 * time.Second); got < 8*time.Second || got > 12*time.Second {
			t.Errorf("10 s with jitter are %v", got)
		}
	}
}

// TestAnEndpointThatFailsIsParkedThenDisabled settles rounds of results, one after the other.
func TestAnEndpointThatFailsIsParkedThenDisabled(t *testing.T) {
	const hour = canonical.Stamp(3_600_000)
	ok, down, poison, known, left := result{verdict: delivered}, result{verdict: away, what: "no answer"},
		result{verdict: refused, first: true, what: "500"}, result{verdict: refused}, result{verdict: gone}
	for _, tt := range []struct {
		name   string
		rounds [][]result
		every  canonical.Stamp
		want   State
	}{
		{"nothing sent", [][]result{{}}, hour, Active},
		{"one is refused", [][]result{{poison}}, hour, Active},
		{
			"one is refused again and again",
			[][]result{{poison}, {known}, {known}, {known}, {known}, {known}},
			hour,
			Active,
		},
		{"one is refused among others", [][]result{{ok, poison}, {known, ok}, {ok, poison}}, hour, Active},
		{"four times no answer", [][]result{{down}, {down}, {down}, {down}}, hour, Active},
		{"five times no answer", [][]result{{down}, {down}, {down}, {down}, {down}}, hour, Parked},
		{"no answer, five at once", [][]result{{down, down, down, down, down}}, hour, Parked},
		{
			"five are refused",
			[][]result{{poison, poison, poison}, {poison}, {poison}, {poison}, {poison}},
			hour,
			Parked,
		},
		{"a success between", [][]result{{down}, {down}, {down}, {down}, {ok}, {down}}, hour, Active},
		{"back again", [][]result{{down, down, down, down, down}, {down}, {ok}}, hour, Active},
		{"parked, and refuses", [][]result{{down, down, down, down, down}, {known}, {known}}, hour, Parked},
		{"gone", [][]result{{ok, left}}, hour, Disabled},
		{"dead for four days", [][]result{{down, down, down, down, down}, {down}, {down}}, 48 * hour, Parked},
		{"dead for six days", [][]result{{down, down, down, down, down}, {down}, {down}, {down}}, 48 * hour, Disabled},
	} {
		h, now := health{state: Active}, canonical.Stamp(1000)
		for _, round := range tt.rounds {
			h, _ = h.settle(round, now)
			now += tt.every
		}
		if h.state != tt.want {
			t.Errorf("%s: got %s (%s), want %s", tt.name, h.state, h.reason, tt.want)
		}
	}
	for _, state := range []State{Paused, Disabled} {
		before := health{state: state, reason: "because"}
		if got, pause := before.settle([]result{down, down, down, down, down}, 1); got != before || pause != 0 {
			t.Errorf("%s: results of requests that were under way changed it to %+v", state, got)
		}
	}
}

func TestAnEndpointIsLeftAloneLongerAndLonger(t *testing.T) {
	h, last := health{state: Active}, time.Duration(0)
	for i := range 20 {
		var pause time.Duration
		h, pause = h.settle([]result{{verdict: away}}, 0)
		if pause < last || pause > mostPause || i < 10 && pause <= last {
			t.Errorf("round %d: it is left alone for %v after %v", i, pause, last)
		}
		last = pause
	}
	if last != mostPause {
		t.Errorf("at last it is left alone for %v, want %v", last, mostPause)
	}
	if _, pause := h.settle([]result{{verdict: delivered}}, 0); pause != 0 {
		t.Errorf("after a success it is left alone for %v", pause)
	}
}

// TestNothingCountsAgainstADeliveryWhileItsEndpointIsDead decides about one delivery after the other.
func TestNothingCountsAgainstADeliveryWhileItsEndpointIsDead(t *testing.T) {
	for _, tt := range []struct {
		name     string
		before   Delivery
		verdict  verdict
		endpoint State
		want     DeliveryState
		tries    int64
	}{
		{"taken", Delivery{State: Waiting}, delivered, Active, Delivered, 0},
		{"refused", Delivery{State: Waiting}, refused, Active, Retrying, 1},
		{"refused while parked", Delivery{State: Waiting}, refused, Parked, Waiting, 0},
		{"no answer", Delivery{State: Waiting}, away, Active, Waiting, 0},
		{"no answer to a repetition", Delivery{State: Retrying, Tries: 3}, away, Active, Retrying, 3},
		{
			"refused for the last time",
			Delivery{State: Retrying, Tries: int64(MaxTries) - 1},
			refused, Active, Failed,
			int64(MaxTries),
		},
		{"gone", Delivery{State: Waiting}, gone, Active, Waiting, 0},
	} {
		d := tt.before
		if d.decide(tt.verdict, tt.endpoint, 1000); d.State != tt.want || d.Tries != tt.tries {
			t.Errorf("%s: got %s after %d tries, want %s after %d", tt.name, d.State, d.Tries, tt.want, tt.tries)
		}
	}
}
