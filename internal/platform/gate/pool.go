package gate

import (
	"crypto/sha256"
	"sync"
	"sync/atomic"
	"time"
)

// blocks is how many draws use up a full quota. What three processes may hold of it
// unused is then at most a tenth, which is how exact a shared limit is.
const blocks = 30

// maxHold is the longest that a client who is over its limit is refused without asking
// the database again. No Retry-After is shorter.
const maxHold = time.Second

// pool is the limit of a class that processes share: it spends what it drew of a client's quota and
// draws again when that is used up. After a period without a draw, the quota is full again.
type pool struct {
	class string
	rate  Rate
	block int // calls of one draw
	quota *Quota
	own   atomic.Pointer[limiter] // this process's part, while the database is away

	mu       sync.Mutex
	accounts map[string]*account
}

// account is what a pool holds of one client.
type account struct {
	mu    sync.Mutex
	calls int           // drawn and not spent
	ahead time.Duration // of the client's arrival, at the last draw
	at    time.Time     // of the last draw
	shut  time.Time     // no draw before: there is nothing left
}

func newPool(class string, rate Rate, quota *Quota) *pool {
	return &pool{
		class: class, rate: rate, block: max(1, rate.Limit/blocks), quota: quota,
		accounts: map[string]*account{},
	}
}

func (p *pool) limits() Rate { return p.rate }

// admit asks for one call of a client.
func (p *pool) admit(client string, now time.Time) allowance {
	a := p.account(client, now)
	a.mu.Lock()
	defer a.mu.Unlock()
	if age := now.Sub(a.at); age > p.rate.Per || age < -p.rate.Per { // or the clock was set
		a.calls, a.ahead, a.shut = 0, 0, time.Time{}
	}
	if a.calls == 0 && !now.Before(a.shut) {
		digest := sha256.Sum256([]byte(client))
		got, err := p.quota.draw(p.class, digest[:], p.block, p.rate, now)
		if err != nil {
			return p.alone(client, a.used(now), now)
		}
		a.calls, a.ahead, a.at = got.calls, got.ahead, now
		if got.calls == 0 {
			a.shut = now.Add(p.hold(got.ahead))
		}
	}
	ahead := a.used(now)
	if a.calls == 0 {
		return allowance{reset: ahead, retry: max(a.shut.Sub(now), p.rate.interval())}
	}
	a.calls--
	left := a.calls + int((p.rate.full()-ahead)/p.rate.interval())
	return allowance{ok: true, remaining: min(max(left, 0), p.rate.Limit-1), reset: max(ahead, p.rate.interval())}
}

// hold is how long a client with nothing left is refused: until there is a call again,
// or a block, if that takes no longer than the Retry-After.
func (p *pool) hold(ahead time.Duration) time.Duration {
	return max(ahead+p.rate.interval()-p.rate.full(), min(time.Duration(p.block)*p.rate.interval(), maxHold))
}

// alone asks the limiter of this process's part. As much of it is used as was last
// known to be used of the whole.
func (p *pool) alone(client string, ahead time.Duration, now time.Time) allowance {
	share := p.quota.share(p.rate.Limit)
	l := p.own.Load()
	if l == nil || l.rate.Limit != share {
		l = newLimiter(Rate{Limit: share, Per: p.rate.Per})
		p.own.Store(l)
	}
	if ahead > 0 {
		l.raise(client, now.Add(min(ahead, l.rate.full())))
	}
	return l.admit(client, now)
}

// used is how far the client's arrival is ahead by now, as far as is known.
func (a *account) used(now time.Time) time.Duration { return max(0, a.ahead-max(0, now.Sub(a.at))) }

func (p *pool) account(client string, now time.Time) *account {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.accounts[client]
	if a == nil {
		if len(p.accounts) >= maxClients {
			p.dropIdle(now)
		}
		a = &account{}
		p.accounts[client] = a
	}
	return a
}

// dropIdle drops the clients without a draw for a period and, when there are none, an
// arbitrary tenth. One that is asking now is left alone.
func (p *pool) dropIdle(now time.Time) {
	for _, all := range []bool{false, true} {
		for client, a := range p.accounts {
			if len(p.accounts) < maxClients*9/10 {
				return
			}
			if !a.mu.TryLock() {
				continue
			}
			if all || now.Sub(a.at) > p.rate.Per {
				delete(p.accounts, client)
			}
			a.mu.Unlock()
		}
	}
}
