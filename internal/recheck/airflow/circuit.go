package airflow

import (
	"errors"
	"sync"
	"time"

	"github.com/sony/gobreaker/v2"
)

// State is what the circuit breaker does with calls.
type State = gobreaker.State

// The states.
const (
	Closed   = gobreaker.StateClosed   // calls go through
	HalfOpen = gobreaker.StateHalfOpen // one call, the probe, goes through; the others are refused
	Open     = gobreaker.StateOpen     // calls are refused
)

// errOpen is the answer to a call that is not made, since the circuit is open.
var errOpen = errors.New("airflow: not asked: the circuit is open")

// circuit is the circuit breaker in front of Airflow. The outcome of a call that began before the last
// change of state counts for nothing.
type circuit struct {
	breaker *gobreaker.TwoStepCircuitBreaker[struct{}]
	changed func(State) // called after every change between closed and not

	mu      sync.Mutex
	last    time.Time // when something was last heard of Airflow, good or bad
	failing bool      // it was a failure
}

// newCircuit makes a circuit that is closed.
func newCircuit(failures int, probe time.Duration, changed func(State)) *circuit {
	return &circuit{changed: changed, breaker: gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Timeout:     probe,
		ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= uint32(failures) },
		IsExcluded:  func(err error) bool { return errors.Is(err, errAbandoned) },
	})}
}

// What a call says of Airflow's health, unless it was answered, whatever the answer said.
var (
	errAbandoned = errors.New("airflow: the caller went away") // nothing
	errDead      = errors.New("airflow: no answer")            // or none that makes sense
)

// ask begins a call; end takes its outcome.health. Without leave the error is errOpen.
func (c *circuit) ask() (end func(health error), err error) {
	done, err := c.breaker.Allow()
	if err != nil {
		return nil, errOpen
	}
	return func(health error) { c.end(done, health) }, nil
}

func (c *circuit) end(done func(error), health error) {
	c.mu.Lock()
	before := c.state()
	done(health)
	if health != errAbandoned {
		c.last, c.failing = time.Now(), health != nil
	}
	after := c.state()
	c.mu.Unlock()
	if before != after && (before == Closed || after == Closed) {
		c.changed(after)
	}
}

func (c *circuit) state() State { return c.breaker.State() }

// silent is how long nothing has been heard, and whether a failure came last.
func (c *circuit) silent() (since time.Duration, failing bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Since(c.last), c.failing
}

// due says whether the circuit may be probed now.
func (c *circuit) due() bool { return c.state() == HalfOpen }
