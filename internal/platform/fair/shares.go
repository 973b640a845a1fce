package fair

import "sync"

// Shares counts what is open of something: of each caller, of each tenant, and in all. A tenant may
// have half of all, so that others find room however many callers it has, but no fewer than one caller.
type Shares struct {
	each, most int

	mu       sync.Mutex
	all      int
	of       map[string]int // by caller
	ofTenant map[string]int
}

// NewShares lets a caller have some at a time, and all callers most.
func NewShares(each, most int) *Shares {
	return &Shares{each: each, most: most, of: map[string]int{}, ofTenant: map[string]int{}}
}

// Over is a limit that somebody is at.
type Over struct {
	Who         string // caller, tenant, or "" when it is the limit of all
	Held, Limit int
}

// Enter counts n of a caller, unless that would be over a limit.
func (s *Shares) Enter(tenant, caller string, n int) (Over, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range []Over{
		{"caller", s.of[caller], s.each},
		{"tenant", s.ofTenant[tenant], max(s.each, (s.most+1)/2)},
		{"", s.all, s.most},
	} {
		if o.Held+n > o.Limit {
			return o, false
		}
	}
	s.all += n
	s.of[caller] += n
	s.ofTenant[tenant] += n
	return Over{}, true
}

// Leave gives n back.
func (s *Shares) Leave(tenant, caller string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all -= n
	if s.of[caller] -= n; s.of[caller] == 0 {
		delete(s.of, caller)
	}
	if s.ofTenant[tenant] -= n; s.ofTenant[tenant] == 0 {
		delete(s.ofTenant, tenant)
	}
}

// Empty reports whether nothing is counted, and nothing remembered of anybody.
func (s *Shares) Empty() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all == 0 && len(s.of)+len(s.ofTenant) == 0
}
