package test

import (
	"runtime"
	"slices"
	"syscall"
	"time"
)

// usualPace is how much time of a core a piece of work takes on a machine for which quietBar holds.
const usualPace = 5 * time.Millisecond

// slowness is how many times more this machine takes for it just now, from 1 to 3: hosts that many
// share are half as fast at times, and no request is to blame for that.
func slowness() float64 {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const n = 50_000
	numbers := make([]uint32, n)
	took := make([]time.Duration, 15)
	for i := range took {
		for k, x := 0, uint32(1); k < n; k, x = k+1, x*1664525+1013904223 {
			numbers[k] = x
		}
		began := threadTime()
		slices.Sort(numbers)
		took[i] = threadTime() - began
	}
	slices.Sort(took)
	return min(3, max(1, float64(took[len(took)/2])/float64(usualPace)))
}

// threadTime is the processor time that this thread has had: time for which it waited for a
// processor does not count.
func threadTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(rusageThread, &used); err != nil {
		panic(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

const rusageThread = 1 // RUSAGE_THREAD of Linux
