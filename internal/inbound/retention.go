package inbound

import (
	"fmt"
	"strconv"
	"time"
)

// The retention of receipts: so many of a tenant, for so long, unless the operator
// says otherwise, and the most that an operator can say.
const (
	DefaultMaxReceipts = 1000
	DefaultTTL         = 90 * day

	mostReceipts = 100_000 // of a tenant: the file of receipts is written as a whole
	mostDays     = 36_500

	day = 24 * time.Hour
)

// The variables of the environment.
const (
	EnvMaxReceipts = "AX_WORKFLOW_EVENT_MAX_RECEIPTS"
	EnvTTLDays     = "AX_WORKFLOW_EVENT_RECEIPT_TTL_DAYS"
)

// ParseRetention reads the retention of receipts from the environment. What cannot be
// used is the default, and a warning says so.
func ParseRetention(getenv func(string) string) (maxReceipts int, ttl time.Duration, warnings []string) {
	read := func(name string, def, most int) int {
		text := getenv(name)
		if text == "" {
			return def
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > most {
			warnings = append(warnings, fmt.Sprintf("%s must be a whole number from 1 to %d; %d is used", name, most,
				def))
			return def
		}
		return n
	}
	maxReceipts = read(EnvMaxReceipts, DefaultMaxReceipts, mostReceipts)
	ttl = time.Duration(read(EnvTTLDays, int(DefaultTTL/day), mostDays)) * day
	return maxReceipts, ttl, warnings
}
