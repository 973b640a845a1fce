package gate

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"renga.dev/renga/internal/platform/fault"
)

// DefaultRates are the limits that hold when an operator says nothing; a class that is
// not among them is unlimited.
var DefaultRates = map[string]Rate{
	"pdca.read":    {Limit: 600, Per: time.Minute},
	"pdca.recheck": {Limit: 120, Per: time.Minute},
	"pdca.bulk":    {Limit: 10, Per: time.Minute},
	"session.open": {Limit: 120, Per: time.Minute},
}

// rateServer is the class of the pages that a process shows about itself.
const rateServer = "server"

// maxLimit is the largest limit of a class.
const maxLimit = 1_000_000

// periods are what a limit may be counted by.
var periods = map[string]time.Duration{"s": time.Second, "min": time.Minute, "h": time.Hour}

// ParseRates reads limits as an operator writes them, CLASS=N/min, CLASS=N/s, CLASS=N/h or
// CLASS=unlimited, and puts them over the defaults. New checks that the classes exist.
func ParseRates(texts []string) (map[string]Rate, error) {
	rates := maps.Clone(DefaultRates)
	for _, text := range texts {
		class, value, ok := strings.Cut(strings.TrimSpace(text), "=")
		if !ok || class == "" {
			return nil, fmt.Errorf("%q is not CLASS=N/min", text)
		}
		if value == "unlimited" {
			rates[class] = Rate{}
			continue
		}
		number, unit, _ := strings.Cut(value, "/")
		limit, err := strconv.Atoi(number)
		per := periods[unit]
		if err != nil || per == 0 || limit < 1 || limit > maxLimit {
			return nil, fmt.Errorf("%q: a limit is 1 to %d and /s, /min or /h, or unlimited", text, maxLimit)
		}
		rates[class] = Rate{Limit: limit, Per: per}
	}
	return rates, nil
}

// checkClasses refuses limits of classes that nobody has: they would limit nothing.
func checkClasses(rates map[string]Rate, routes []Route) error {
	known := slices.Collect(maps.Keys(DefaultRates))
	for i := range routes {
		if routes[i].Rate != "" {
			known = append(known, routes[i].Rate)
		}
	}
	slices.Sort(known)
	known = slices.Compact(known)
	for class := range rates {
		if !slices.Contains(known, class) {
			return fault.New(fault.Invalid, "INVALID_INPUT", "there is no rate class %q; there are %s", class,
				strings.Join(known, ", "))
		}
	}
	return nil
}

// newLimits makes the limits of the classes that have one. With a quota they hold for
// all processes together.
func newLimits(rates map[string]Rate, quota *Quota) (map[string]limit, error) {
	limits := map[string]limit{}
	for class, rate := range rates {
		if rate == (Rate{}) {
			continue
		}
		if rate.Limit < 1 || rate.Per < time.Duration(rate.Limit)*time.Microsecond {
			return nil, fmt.Errorf("gate: rate class %q: limit %d per %s makes no sense", class, rate.Limit, rate.Per)
		}
		if quota != nil {
			limits[class] = newPool(class, rate, quota)
		} else {
			limits[class] = newLimiter(rate)
		}
	}
	return limits, nil
}
