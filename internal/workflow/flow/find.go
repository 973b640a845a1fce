package flow

import "slices"

// indexFrom is from how many nodes on a map is faster than a look at all.
const indexFrom = 17

// Find is a node and its index; nil and -1 if there is none.
func (s *State) Find(id string) (*Node, int) {
	if s.index != nil {
		if i, ok := s.index[id]; ok {
			return s.Nodes[i], i
		}
		return nil, -1
	}
	for i, n := range s.Nodes {
		if n.ID == id {
			return n, i
		}
	}
	return nil, -1
}

// place is the index of the node that ev is about. It is added here when a log in another order
// than its own names it before its creation.
func (s *State) place(id string, ev *Event) int {
	if s.index == nil && len(s.Nodes) >= indexFrom {
		s.reindex()
	}
	if _, i := s.Find(id); i >= 0 {
		return i
	}
	i := len(s.Nodes)
	if s.draft {
		s.fresh.add(i)
		if s.index != nil {
			s.reindex() // the map is another state's
		}
	}
	s.Nodes = append(s.Nodes, &Node{ID: id, Cause: ref(ev)})
	if s.index != nil {
		s.index[id] = i
	}
	return i
}

func (s *State) reindex() {
	s.index = nil
	if len(s.Nodes) < indexFrom {
		return
	}
	s.index = make(map[string]int, len(s.Nodes)+1)
	for i, n := range s.Nodes {
		s.index[n.ID] = i
	}
}

// own is a node that may be written to: on a draft, its own copy.
func (s *State) own(i int) *Node {
	n := s.Nodes[i]
	if s.draft && !s.fresh.has(i) {
		mine := *n
		n = &mine
		s.Nodes[i] = n
		s.fresh.add(i)
	}
	return n
}

// Clone is a copy: Apply on one of the two does not show in the other.
func (s *State) Clone() State {
	c := *s
	c.index, c.draft, c.fresh = nil, false, bitset{}
	c.Nodes = slices.Clone(s.Nodes)
	nodes := make([]Node, len(s.Nodes))
	for i, n := range s.Nodes {
		nodes[i] = *n
		c.Nodes[i] = &nodes[i]
	}
	return c
}

// Live reports whether a node is at work or about to be: READY, RUNNING, WAITING
// or between two attempts.
func (n *Node) Live() bool {
	return n.Status != NodeIsCreated && !n.Status.Terminal() || n.Status == NodeIsCreated && n.RetryAt != 0
}

// Deadline is when something happens to the node by itself; 0 if there is none.
func (n *Node) Deadline() Time {
	switch n.Status {
	case NodeIsRunning:
		return earlier(n.LeaseUntil, n.TimeoutAt)
	case NodeIsWaiting:
		return earlier(n.WaitUntil, n.RemindAt)
	case NodeIsCreated:
		return n.RetryAt
	}
	return 0
}

// NextDeadline is the earliest deadline of an execution that goes on; 0 if there is none.
func (s *State) NextDeadline() Time {
	var next Time
	if s.moves() {
		for _, n := range s.Nodes {
			next = earlier(next, n.Deadline())
		}
	}
	return next
}

// Due lists the deadlines that have come, in the order of the nodes.
func (s *State) Due(now Time) []Expire {
	if !s.moves() {
		return nil
	}
	var due []Expire
	for _, n := range s.Nodes {
		if at := n.Deadline(); at != 0 && at <= now {
			due = append(due, Expire{Node: n.ID, Attempt: n.Attempt, At: at})
		}
	}
	return due
}

// moves reports whether deadlines still mean anything.
func (s *State) moves() bool { return !s.Status.Terminal() && !s.canceling() }

// earlier is the earlier of two instants, where 0 is none.
func earlier(a, b Time) Time {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
