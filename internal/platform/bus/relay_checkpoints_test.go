package bus

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"renga.dev/renga/internal/platform/canonical"
)

func TestWavesHaveTheNextMessageOfEveryKey(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		keys := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d"}), 0, 30).Draw(rt, "keys")
		msgs := make([]Message, len(keys))
		for i, key := range keys {
			msgs[i].Key = key
		}
		last := map[string]int{}
		var order []int
		for n, wave := range waves(msgs) {
			if len(wave) == 0 {
				rt.Fatalf("wave %d is empty", n)
			}
			in := map[string]bool{}
			for _, i := range wave {
				key := keys[i]
				if in[key] {
					rt.Fatalf("wave %d has two messages of %s", n, key)
				}
				in[key] = true
				if before, ok := last[key]; ok && before > i {
					rt.Fatalf("message %d of %s comes after %d", i, key, before)
				}
				last[key] = i
				order = append(order, i)
			}
			if n == 0 && len(in) != len(slices.Compact(slices.Sorted(slices.Values(keys)))) {
				rt.Fatalf("the first wave has %d keys", len(in))
			}
		}
		slices.Sort(order)
		for i, got := range order {
			if got != i {
				rt.Fatalf("message %d is missing or doubled", i)
			}
		}
		if len(order) != len(msgs) {
			rt.Fatalf("%d of %d messages are in waves", len(order), len(msgs))
		}
	})
}

// TestCheckpointsAreFewAndReachBack adds checkpoints for a week and asks, for a loss of any
// length, how much more is published again than was lost.
func TestCheckpointsAreFewAndReachBack(t *testing.T) {
	const begin = canonical.Stamp(1_800_000_000_000)
	var kept checkpoints
	stored := map[uint64]bool{}
	now := begin
	for seq := uint64(1); now < begin+7*day; seq++ {
		next, added, gone := kept.add(checkpoint{Seq: seq, At: now})
		if added {
			stored[seq] = true
		}
		for _, m := range gone {
			delete(stored, m.Seq)
		}
		kept = next
		if len(kept) != len(stored) || len(kept) > maxCheckpoints {
			t.Fatalf("%d checkpoints are kept and %d stored", len(kept), len(stored))
		}
		now += 700 + canonical.Stamp(seq%5)*100
		if seq%1000 != 0 {
			continue
		}
		for lost := canonical.Stamp(2000); lost < now-begin; lost *= 2 {
			m := kept.last(func(m checkpoint) bool { return m.At <= now-lost })
			if m.Seq == 0 || now-m.At > 2*lost+4*checkpointStep {
				t.Fatalf("after a loss of %d ms %d ms are published again, with %d checkpoints", lost, now-m.At,
					len(kept))
			}
		}
	}
	if len(kept) > 45 {
		t.Errorf("a week has %d checkpoints", len(kept))
	}
	if !slices.IsSortedFunc(kept, func(a, b checkpoint) int { return int(a.At - b.At) }) {
		t.Error("they are not in order")
	}
}

func TestCheckpointsGiveWhatLiesBefore(t *testing.T) {
	all := checkpoints{{Seq: 10, At: 100, Number: 7}, {Seq: 20, At: 200, Number: 14}, {Seq: 30, At: 300, Number: 21}}
	for _, tt := range []struct {
		name      string
		got, want checkpoint
	}{
		{"at a checkpoint", all.at(20), all[1]},
		{"between two", all.at(29), all[1]},
		{"before all", all.at(9), checkpoint{}},
		{"behind all", all.at(1000), all[2]},
		{"by number", all.until(20), all[1]},
		{"by number before all", all.until(6), checkpoint{}},
		{"the end", all.end(), all[2]},
		{"the end of none", checkpoints(nil).end(), checkpoint{}},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: got %+v, want %+v", tt.name, tt.got, tt.want)
		}
	}
	if got := all.upto(checkpoint{Seq: 25, At: 250}); len(got) != 2 {
		t.Errorf("up to 25: got %v", got)
	}
	if got := all.upto(checkpoint{}); len(got) != 0 {
		t.Errorf("up to nothing: got %v", got)
	}
}
