package airflow

import (
	"container/heap"
	"context"
	"sync"
	"time"

	"renga.dev/renga/internal/workflow/engine"
)

// phase is what is to be done next about a run.
type phase int

const (
	triggering phase = iota
	polling
	ending // nobody waits for the run any more
)

// job is a task that this process holds, and its run. Whoever works on it has its
// members; while it waits they belong to the line.
type job struct {
	tenant string
	task   engine.Task
	check  Check
	id     string // of the run

	phase    phase
	state    string // of the run, as seen last
	polls    int    // since it changed
	tries    int    // of the next thing to do, that failed in a row
	faults   int    // of these, how many Airflow itself answered with a fault
	vanished int    // times that the run was not there after it was triggered

	// Guarded by line.mu.
	due     time.Time
	renewed time.Time // when the lease was last known to begin
	lost    verdict
	busy    bool
	place   int // in the heap; -1: not in it
}

func (j *job) ref() engine.TaskRef {
	return engine.TaskRef{Execution: j.task.Execution, Node: j.task.Node, Attempt: j.task.Attempt}
}

// verdict is what the engine says of a task that is held.
type verdict int

const (
	holds verdict = iota
	moved         // another attempt has it, or will: the run goes on
	over          // it is not wanted any more
)

// line holds the jobs in the order of when something is to be done about them.
type line struct {
	mu   sync.Mutex
	wait byDue
	all  map[*job]bool
	wake chan struct{}
}

func (l *line) init() { l.all, l.wake = map[*job]bool{}, make(chan struct{}, 1) }

// signal lets feed look again.
func (l *line) signal() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *line) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.all)
}

// add takes a new job in.
func (l *line) add(j *job) {
	l.mu.Lock()
	l.all[j] = true
	heap.Push(&l.wait, j)
	l.mu.Unlock()
	l.signal()
}

// back puts a job in line again after work, to be due after a pause. What the engine
// has said of it meanwhile comes first.
func (l *line) back(j *job, pause time.Duration) {
	l.mu.Lock()
	j.busy, j.due = false, time.Now().Add(pause)
	if l.settle(j) {
		heap.Push(&l.wait, j)
	}
	l.mu.Unlock()
	l.signal()
}

// settle brings a verdict to bear on a job that nobody works on; false: it is gone.
func (l *line) settle(j *job) bool {
	switch {
	case j.lost == moved:
		delete(l.all, j)
		return false
	case j.lost == over && j.phase != ending:
		j.phase, j.tries, j.faults, j.due = ending, 0, 0, time.Now()
	}
	return true
}

// drop forgets a job that somebody works on.
func (l *line) drop(j *job) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.all, j)
}

// judge takes a verdict of the engine on a job.
func (l *line) judge(j *job, v verdict) {
	l.mu.Lock()
	if l.all[j] && j.lost != over {
		j.lost = v
		if !j.busy {
			if l.settle(j) {
				heap.Fix(&l.wait, j.place)
			} else {
				heap.Remove(&l.wait, j.place)
			}
		}
	}
	l.mu.Unlock()
	l.signal()
}

// held are the jobs whose tasks this process has.
func (l *line) held() []*job {
	l.mu.Lock()
	defer l.mu.Unlock()
	jobs := make([]*job, 0, len(l.all))
	for j := range l.all {
		if j.lost == holds {
			jobs = append(jobs, j)
		}
	}
	return jobs
}

// stale are those of the jobs whose lease was renewed before an instant.
func (l *line) stale(jobs []*job, before time.Time) []*job {
	l.mu.Lock()
	defer l.mu.Unlock()
	var old []*job
	for _, j := range jobs {
		if j.renewed.Before(before) {
			old = append(old, j)
		}
	}
	return old
}

func (l *line) renewed(j *job, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	j.renewed = at
}

// has says whether a run is followed here.
func (l *line) has(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for j := range l.all {
		if j.id == id {
			return true
		}
	}
	return false
}

// feed hands out what is due, as long as open says that something can be done, until
// ctx ends.
func (l *line) feed(ctx context.Context, work chan<- *job, open func() bool) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for ctx.Err() == nil {
		j, pause := l.next(open())
		if j != nil {
			select {
			case work <- j:
			case <-ctx.Done():
			}
			continue
		}
		timer.Reset(pause)
		select {
		case <-timer.C:
		case <-l.wake:
		case <-ctx.Done():
		}
	}
}

// next takes the job that is due, or says how long there is none.
func (l *line) next(open bool) (*job, time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !open || len(l.wait) == 0 {
		return nil, time.Second
	}
	j := l.wait[0]
	if pause := time.Until(j.due); pause > 0 {
		return nil, pause
	}
	heap.Pop(&l.wait)
	j.busy = true
	return j, 0
}

// byDue is a heap of jobs.
type byDue []*job

func (h byDue) Len() int           { return len(h) }
func (h byDue) Less(i, k int) bool { return h[i].due.Before(h[k].due) }
func (h byDue) Swap(i, k int) {
	h[i], h[k] = h[k], h[i]
	h[i].place, h[k].place = i, k
}

// Push and Pop are for package heap.
func (h *byDue) Push(x any) {
	j := x.(*job)
	j.place = len(*h)
	*h = append(*h, j)
}

func (h *byDue) Pop() any {
	old := *h
	j := old[len(old)-1]
	old[len(old)-1] = nil
	*h, j.place = old[:len(old)-1], -1
	return j
}
