package gate

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// maxSegments bounds the depth of a path that is looked at.
const maxSegments = 16

// router finds the entry of a request. net/http's ServeMux would answer unknown paths and wrong
// methods by itself; here every answer has the shape of its surface.
type router struct{ root *branch }

// branch is one segment of the paths of the table. A literal goes before {name},
// {name} before {rest...}. Where a literal does not lead to a route with the method, {name} may: a graph can be
// called check, although POST /graphs/check is a route of its own.
type branch struct {
	literal map[string]*branch
	any     *branch
	rest    map[string]*entry // by method, of a last {rest...}
	methods map[string]*entry // of the path that ends here
}

// entry is a route, prepared.
type entry struct {
	Route
	method  string
	path    string
	names   []string      // of the wildcards, in order
	timeout time.Duration // more than 0, or none
	notice  [2][]string   // the headers Deprecation and Sunset; nil: none
	meters  *meters
	named   *named // nil: its surface has no metrics of its own
	limit   limit
	opened  *opened // nil: it has no open class
	large   large
}

func newBranch() *branch { return &branch{literal: map[string]*branch{}} }

// add puts a route into the tree.
func (t *router) add(e *entry) error {
	method, path, ok := strings.Cut(e.Pattern, " ")
	if !ok || method == "" || !strings.HasPrefix(path, "/") {
		return fmt.Errorf("gate: pattern %q is not \"METHOD /path\"", e.Pattern)
	}
	e.method, e.path = method, path
	segments := strings.Split(path[1:], "/")
	if len(segments) > maxSegments {
		return fmt.Errorf("gate: pattern %q has more than %d segments", e.Pattern, maxSegments)
	}
	at := t.root
	for i, segment := range segments {
		name, wild := wildcard(segment)
		if !wild {
			at = at.child(segment)
			continue
		}
		if slices.Contains(e.names, strings.TrimSuffix(name, "...")) {
			return fmt.Errorf("gate: pattern %q names %q twice", e.Pattern, name)
		}
		if name, rest := strings.CutSuffix(name, "..."); rest || e.Rest && i == len(segments)-1 {
			if i != len(segments)-1 {
				return fmt.Errorf("gate: pattern %q: {%s...} is not last", e.Pattern, name)
			}
			e.names = append(e.names, name)
			if e.Rest {
				if err := put(&at.methods, e); err != nil {
					return err
				}
			}
			return put(&at.rest, e)
		}
		e.names = append(e.names, name)
		if at.any == nil {
			at.any = newBranch()
		}
		at = at.any
	}
	return put(&at.methods, e)
}

func wildcard(segment string) (name string, ok bool) {
	if len(segment) > 2 && segment[0] == '{' && segment[len(segment)-1] == '}' {
		return segment[1 : len(segment)-1], true
	}
	return "", false
}

func (b *branch) child(segment string) *branch {
	next := b.literal[segment]
	if next == nil {
		next = newBranch()
		b.literal[segment] = next
	}
	return next
}

func put(methods *map[string]*entry, e *entry) error {
	if *methods == nil {
		*methods = map[string]*entry{}
	}
	if (*methods)[e.method] != nil {
		return fmt.Errorf("gate: pattern %q is there twice", e.Pattern)
	}
	(*methods)[e.method] = e
	return nil
}

// find looks a request up. Without a route, allow holds the methods that the path
// has; it is empty when the path does not exist.
func (t *router) find(method, path string) (e *entry, params []string, allow []string) {
	if path == "" || path[0] != '/' {
		return nil, nil, nil
	}
	return t.root.find(method, path[1:], true, nil, maxSegments)
}

// find looks for what is left of a path, while there is more and at most for so many segments.
func (b *branch) find(method, left string, more bool, params []string, most int) (*entry, []string, []string) {
	if !more {
		return pick(b.methods, method, params)
	}
	if most == 0 {
		return nil, nil, nil
	}
	whole := left
	segment, left, more := strings.Cut(left, "/")
	segment, ok := unescape(segment)
	if !ok {
		return nil, nil, nil
	}
	var allow []string
	if next := b.literal[segment]; next != nil {
		e, found, methods := next.find(method, left, more, params, most-1)
		if e != nil {
			return e, found, nil
		}
		allow = methods
	}
	if b.any != nil && segment != "" {
		e, found, methods := b.any.find(method, left, more, append(slices.Grow(params, 2), segment), most-1)
		if e != nil {
			return e, found, nil
		}
		allow = append(allow, methods...)
	}
	if b.rest != nil && allow == nil {
		if rest, ok := unescape(whole); ok {
			return pick(b.rest, method, append(params, rest))
		}
	}
	slices.Sort(allow)
	return nil, nil, slices.Compact(allow)
}

// pick chooses by method; GET answers HEAD too, except on streams.
func pick(methods map[string]*entry, method string, params []string) (*entry, []string, []string) {
	if e := methods[method]; e != nil {
		return e, params, nil
	}
	if method == http.MethodHead {
		if e := methods[http.MethodGet]; e != nil && !e.Stream {
			return e, params, nil
		}
	}
	var allow []string
	for m, e := range methods {
		allow = append(allow, m)
		if m == http.MethodGet && !e.Stream && methods[http.MethodHead] == nil {
			allow = append(allow, http.MethodHead)
		}
	}
	slices.Sort(allow)
	return nil, nil, allow
}

func unescape(segment string) (string, bool) {
	if strings.IndexByte(segment, '%') < 0 {
		return segment, true
	}
	plain, err := url.PathUnescape(segment)
	return plain, err == nil
}
