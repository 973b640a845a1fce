package main

import "testing"

func TestTheLimitOfMemoryFollowsWhatIsLive(t *testing.T) {
	for _, tt := range []struct {
		live uint64
		want int64
	}{
		{0, 64 << 20},
		{32 << 20, 64 << 20},
		{64 << 20, 112 << 20},
		{1 << 30, 1552 << 20},
	} {
		if got := memoryLimit(tt.live); got != tt.want {
			t.Errorf("%d live bytes: got %d, want %d", tt.live, got, tt.want)
		}
	}
}
