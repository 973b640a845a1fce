package sim

import (
	"fmt"
	"reflect"
	"strings"
)

// Stress counts what a run put the engine through. A run that was too easy
// proves nothing.
type Stress struct {
	Acks      int // commands that were answered, accepted or refused
	Refusals  int
	Replays   int // answers from memory, equal to the first
	Held      int // creations that were refused since another execution has their business key
	Conflicts int // keys used again with another body
	Strangers int // commands on what does not exist, or not for this tenant
	Unfit     int // resumes whose output does not fit the schema of their Wait
	Cancels   int // accepted
	Cleanups  int // executions that cancels started
	Late      int // results that were kept as evidence

	Claims  int // that got tasks
	Waited  int // claims that got tasks after they had waited
	Next    int // tasks that a completion brought along
	Eager   int // tasks that a creation brought along
	Units   int // that were done
	Undone  int // units that failed of themselves
	Expired int // deadlines that fired
	Forgot  int // keys that were used anew after they had expired

	Executions int
	Events     int
	Large      int // outputs that a state holds by reference
	OutputRefs int // outputs that a task names and does not carry
	Snapshots  int
	Fetched    int // reads of histories: nothing, or nothing current, was cached

	Crashes [pointEnd]int
	Down    int // commits or reads that failed for everybody
	Poison  int // commands that nothing could be done with
	Taken   int // commits that found somebody else's rows
	Again   int // transactions that were tried again
	Jumps   int // of the clock, back
}

// Add sums runs up.
func (s *Stress) Add(other *Stress) {
	sum, more := reflect.ValueOf(s).Elem(), reflect.ValueOf(other).Elem()
	for i := range sum.NumField() {
		f, g := sum.Field(i), more.Field(i)
		if f.Kind() == reflect.Int {
			f.SetInt(f.Int() + g.Int())
			continue
		}
		for k := range f.Len() {
			f.Index(k).SetInt(f.Index(k).Int() + g.Index(k).Int())
		}
	}
}

// Lacks names what happened less often than a number of times.
func (s *Stress) Lacks(least int) string {
	var lacks []string
	v := reflect.ValueOf(s).Elem()
	for i := range v.NumField() {
		f, name := v.Field(i), v.Type().Field(i).Name
		if f.Kind() == reflect.Int {
			if f.Int() < int64(least) {
				lacks = append(lacks, fmt.Sprintf("%s %d", name, f.Int()))
			}
			continue
		}
		for k := range f.Len() {
			if f.Index(k).Int() < int64(least) {
				lacks = append(lacks, fmt.Sprintf("%s %v %d", name, Point(k), f.Index(k).Int()))
			}
		}
	}
	return strings.Join(lacks, ", ")
}
