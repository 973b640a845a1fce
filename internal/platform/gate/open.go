package gate

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"renga.dev/renga/internal/platform/fair"
	"renga.dev/renga/internal/platform/fault"
)

// The open classes: requests that stay open because they wait for something to happen.
const (
	OpenStreams = "streams" // server-sent events and exports
	OpenClaims  = "claims"  // claims of tasks, which wait up to 30 s
	OpenWatches = "watches" // watches of tasks, likewise
)

// Open is how many requests of a class may be open at a time.
type Open struct {
	Caller  int // of one caller: tenant and subject, or address where there is no subject
	Process int // of all callers of this process
}

// Tenant is how many requests of one tenant may be open: half of all, so that other tenants find
// room however many callers it has, but no fewer than one caller may have.
func (o Open) Tenant() int { return max(o.Caller, (o.Process+1)/2) }

// DefaultOpen holds when an operator says nothing. A stream costs about 40 KiB.
var DefaultOpen = map[string]Open{
	OpenStreams: {Caller: 200, Process: 2000},
	OpenClaims:  {Caller: 1000, Process: 4096},
	OpenWatches: {Caller: 1000, Process: 4096},
}

// maxOpen is the largest maximum of a class.
const maxOpen = 100_000

// ParseOpen reads maxima as an operator writes them, CLASS=PER_CALLER/PER_PROCESS, and puts
// them over the defaults.
func ParseOpen(texts []string) (map[string]Open, error) {
	all := maps.Clone(DefaultOpen)
	for _, text := range texts {
		class, value, _ := strings.Cut(strings.TrimSpace(text), "=")
		caller, process, _ := strings.Cut(value, "/")
		var o Open
		var errs [2]error
		o.Caller, errs[0] = strconv.Atoi(caller)
		o.Process, errs[1] = strconv.Atoi(process)
		if _, known := all[class]; !known {
			return nil, fmt.Errorf("%q: there is no class %q; there are %s", text, class,
				strings.Join(slices.Sorted(maps.Keys(all)), ", "))
		}
		if errs[0] != nil || errs[1] != nil || o.Caller < 1 || o.Process < o.Caller || o.Process > maxOpen {
			return nil, fmt.Errorf("%q is not CLASS=PER_CALLER/PER_PROCESS: 1 to %d, and for the process at least as "+
				"many as for a caller", text, maxOpen)
		}
		all[class] = o
	}
	return all, nil
}

// opened counts the open requests of a class.
type opened struct {
	class string
	*fair.Shares
}

// newOpened makes the counters of all classes that routes have.
func newOpened(maxima map[string]Open, routes []Route) (map[string]*opened, error) {
	all := map[string]*opened{}
	for i := range routes {
		class := routes[i].Open
		if class == "" || all[class] != nil {
			continue
		}
		o, known := maxima[class]
		if !known {
			o, known = DefaultOpen[class]
		}
		if !known {
			return nil, fmt.Errorf("gate: pattern %q: there is no open class %q", routes[i].Pattern, class)
		}
		all[class] = &opened{class, fair.NewShares(o.Caller, o.Process)}
	}
	return all, nil
}

// enter counts a request of a caller, or refuses it.
func (o *opened) enter(tenant, caller string) error {
	switch over, ok := o.Enter(tenant, caller, 1); {
	case ok:
		return nil
	case over.Who == "":
		return fault.Overloaded("%d %s are open in this process, and no more may be at a time; try again later",
			over.Limit, o.class)
	default:
		return fault.TooMuch(over.Limit,
			"%d %s of this %s are open, and no more may be at a time; end some of them and try again",
			over.Limit, o.class, over.Who)
	}
}
