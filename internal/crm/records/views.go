package records

import (
	"sync"

	"renga.dev/renga/internal/crm/model"
)

// maxViews is how many views a process holds in memory.
const maxViews = 10_000

// views are the views that were used, as long as the models they are of are current. A
// view of another model is never given out, so forgetting one early only costs time.
type views struct {
	mu       sync.Mutex
	byTenant map[string]*tenantViews
	size     int
}

type tenantViews struct {
	model *model.Model
	views map[[2]string]*view // by user and object
}

func newViews() *views { return &views{byTenant: map[string]*tenantViews{}} }

// of is the view of a user on an object.
func (s *views) of(m *model.Model, user string, object *model.Object) *view {
	s.mu.Lock()
	defer s.mu.Unlock()
	held := s.byTenant[m.Tenant]
	if held == nil || held.model != m {
		s.drop(m.Tenant)
		held = &tenantViews{model: m, views: map[[2]string]*view{}}
		s.byTenant[m.Tenant] = held
	}
	key := [2]string{user, object.Name}
	v := held.views[key]
	if v == nil {
		if s.size >= maxViews {
			s.byTenant, s.size = map[string]*tenantViews{m.Tenant: held}, 0
			clear(held.views)
		}
		v = newView(m, user, object)
		held.views[key] = v
		s.size++
	}
	return v
}

// forget drops the views of a tenant.
func (s *views) forget(tenant string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(tenant)
}

func (s *views) drop(tenant string) {
	if held := s.byTenant[tenant]; held != nil {
		s.size -= len(held.views)
		delete(s.byTenant, tenant)
	}
}
