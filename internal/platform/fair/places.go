package fair

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// Why nobody may wait for a place.
var (
	ErrTooMany = errors.New("fair: too many of this key wait") // others still may
	ErrFull    = errors.New("fair: too many wait")
)

// Config is how many places there are. A maximum that is 0 is none.
type Config struct {
	Places  int // in all
	Each    int // of them that one key may have at a time
	Own     int // of them that the key "" may have at a time
	Wait    int // who may wait for one
	WaitKey int // of them of one key
}

// Places are places in which something costly is done. A place is taken under a key; the
// key "" stands for the process itself.
type Places struct {
	cfg Config

	mu      sync.Mutex
	taken   int
	held    map[string]int
	lines   map[string][]*waiter // in the order in which they came
	turns   []string             // keys of lines, the one whose turn is next first
	waiting int                  // in all lines, of those whom Enter bounds
	of      map[string]int       // of them of each key
}

// waiter waits in a line.
type waiter struct {
	ready   chan struct{}
	bounded bool // by Config.Wait and WaitKey
}

// NewPlaces makes places that nobody has.
func NewPlaces(cfg Config) *Places {
	return &Places{cfg: cfg, held: map[string]int{}, lines: map[string][]*waiter{}, of: map[string]int{}}
}

// Enter takes a place, waiting for one until ctx ends, if there is room to wait. Whoever got
// one gives it back with Leave and the same key.
func (p *Places) Enter(ctx context.Context, key string) error { return p.acquire(ctx, key, true) }

// Await is Enter for somebody who may wait however many do: how many of them there are is
// bounded elsewhere, and whom Enter lets wait does not depend on it.
func (p *Places) Await(ctx context.Context, key string) error { return p.acquire(ctx, key, false) }

func (p *Places) acquire(ctx context.Context, key string, bounded bool) error {
	if ctx.Err() != nil { // who is gone takes no place, also when one is free
		return ctx.Err()
	}
	w, err := p.enter(key, bounded)
	if w == nil {
		return err
	}
	select {
	case <-w.ready:
		return nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if at := slices.Index(p.lines[key], w); at >= 0 {
		p.drop(key, at)
		return ctx.Err()
	}
	p.leave(key) // it was given to w meanwhile
	return ctx.Err()
}

// enter takes a place that is free, or a place in the line.
func (p *Places) enter(key string, bounded bool) (*waiter, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken < p.cfg.Places && p.may(key) && len(p.lines[key]) == 0 {
		p.hold(key)
		return nil, nil
	}
	switch {
	case !bounded:
	case p.cfg.WaitKey > 0 && p.of[key] >= p.cfg.WaitKey:
		return nil, ErrTooMany
	case p.cfg.Wait > 0 && p.waiting >= p.cfg.Wait:
		return nil, ErrFull
	}
	w := &waiter{ready: make(chan struct{}), bounded: bounded}
	if len(p.lines[key]) == 0 {
		p.turns = append(p.turns, key)
	}
	p.lines[key] = append(p.lines[key], w)
	if bounded {
		p.waiting++
		p.of[key]++
	}
	return w, nil
}

// Leave gives a place back.
func (p *Places) Leave(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leave(key)
}

func (p *Places) leave(key string) {
	p.taken--
	if p.held[key]--; p.held[key] == 0 {
		delete(p.held, key)
	}
	p.serve()
}

// serve gives free places to those who wait, one key after the other.
func (p *Places) serve() {
	for at := 0; at < len(p.turns) && p.taken < p.cfg.Places; {
		key := p.turns[at]
		if !p.may(key) {
			at++
			continue
		}
		w := p.lines[key][0]
		p.turns = append(slices.Delete(p.turns, at, at+1), key)
		p.drop(key, 0)
		p.hold(key)
		close(w.ready)
	}
}

// drop takes somebody out of the line of a key.
func (p *Places) drop(key string, at int) {
	if p.lines[key][at].bounded {
		p.waiting--
		if p.of[key]--; p.of[key] == 0 {
			delete(p.of, key)
		}
	}
	if p.lines[key] = slices.Delete(p.lines[key], at, at+1); len(p.lines[key]) > 0 {
		return
	}
	delete(p.lines, key)
	at = slices.Index(p.turns, key)
	p.turns = slices.Delete(p.turns, at, at+1)
}

func (p *Places) hold(key string) {
	p.taken++
	p.held[key]++
}

// may reports whether a key may have one more place.
func (p *Places) may(key string) bool {
	most := p.cfg.Each
	if key == "" {
		most = p.cfg.Own
	}
	return most == 0 || p.held[key] < most
}
