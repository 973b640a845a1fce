package schedules

import (
	"bytes"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/cron"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/flow"
)

// The maxima of a schedule.
const (
	MaxID    = 64       // characters of its id
	MaxInput = 64 << 10 // bytes of its input
	// MaxSchedules is how many schedules a tenant may have.
	MaxSchedules = 50_000
)

// The catch-up window of a schedule that names none, and the shortest and longest that it may name.
const (
	DefaultCatchUp = time.Hour
	minCatchUp     = 10 * time.Second
	maxCatchUp     = 365 * 24 * time.Hour
)

// Overlap is what becomes of a due instant while the execution that was started last is still active.
type Overlap string

// The policies.
const (
	Skip   Overlap = "skip"   // the instant is skipped
	Queue  Overlap = "queue"  // it waits until that execution has ended
	Cancel Overlap = "cancel" // that execution is cancelled
)

// The rules about local times that clocks leave out or show twice.
const (
	Shift  = "shift" // at the moment at which clocks are put forward over it
	Omit   = "skip"  // not that day
	First  = "first"
	Second = "second"
	Both   = "both"
)

// Definition is a schedule as its author wrote it, with defaults.
type Definition struct {
	Graph       string         `json:"graph"`
	Input       jsontext.Value `json:"input"`
	Cron        string         `json:"cron"`
	Zone        string         `json:"zone"`
	Nonexistent string         `json:"nonexistent"`
	Ambiguous   string         `json:"ambiguous"`
	Overlap     Overlap        `json:"overlap"`
	CatchUp     flow.Duration  `json:"catchUp"`
}

// ParseDefinition reads a definition strictly and fills in defaults. The error is fault.Invalid, and its details
// name the member.
func ParseDefinition(body []byte) (Definition, error) {
	d := Definition{
		Input: jsontext.Value("{}"), Zone: "UTC", Nonexistent: Shift, Ambiguous: First, Overlap: Skip,
		CatchUp: flow.Duration(DefaultCatchUp),
	}
	if err := canonical.Decode(body, &d); err != nil {
		return d, err
	}
	return d, d.check()
}

func (d *Definition) check() error {
	switch {
	case d.Graph == "":
		return invalid("graph", "graph is missing: the id of the graph that is started")
	case !canonical.Name(d.Graph):
		return invalid("graph", "graph must be the id of a graph: 1 to %d of A-Z a-z 0-9 . _ -", canonical.MaxName)
	case d.Cron == "":
		return invalid("cron", "cron is missing: a line such as 0 9 * * 1-5, or @daily")
	case d.Nonexistent != Shift && d.Nonexistent != Omit:
		return invalid("nonexistent", "nonexistent must be %s or %s", Shift, Omit)
	case d.Ambiguous != First && d.Ambiguous != Second && d.Ambiguous != Both:
		return invalid("ambiguous", "ambiguous must be %s, %s or %s", First, Second, Both)
	case d.Overlap != Skip && d.Overlap != Queue && d.Overlap != Cancel:
		return invalid("overlap", "overlap must be %s, %s or %s", Skip, Queue, Cancel)
	case time.Duration(d.CatchUp) < minCatchUp || time.Duration(d.CatchUp) > maxCatchUp:
		return invalid("catchUp", "catchUp must be between %s and %s", minCatchUp, maxCatchUp)
	}
	if err := cron.Check(d.Cron); err != nil {
		return invalid("cron", "cron %v", err)
	}
	if _, err := cron.Zone(d.Zone); err != nil {
		return invalid("zone", "zone %v", err)
	}
	return d.checkInput()
}

// checkInput makes sure that the input has room for the member that every execution gets.
func (d *Definition) checkInput() error {
	if d.Input.Kind() != jsontext.KindBeginObject {
		return invalid("input", "input must be a JSON object")
	}
	if err := d.Input.Compact(); err != nil {
		return invalid("input", "input must be a JSON object")
	}
	var members map[string]jsontext.Value
	if err := json.Unmarshal(d.Input, &members); err != nil {
		return invalid("input", "input must be a JSON object")
	}
	switch _, taken := members[inputMember]; {
	case taken:
		return invalid("input", "input may not have the member %s: every execution gets it from its schedule",
			inputMember)
	case len(d.Input) > MaxInput:
		return invalid("input", "input has %d bytes and may have %d", len(d.Input), MaxInput)
	}
	return nil
}

// inputMember is the member of an execution's input that says which schedule started it, and for which instant.
const inputMember = "schedule"

// inputFor is the input of the execution for a due instant.
func (d *Definition) inputFor(id string, due canonical.Stamp, o Origin) (flow.Data, error) {
	member, err := json.Marshal(struct {
		ID    string          `json:"id"`
		DueAt canonical.Stamp `json:"dueAt"`
		Local string          `json:"localTime"`
		Of    Origin          `json:"origin"`
	}{id, due, d.local(due), o})
	if err != nil {
		return nil, err
	}
	head := bytes.TrimSuffix(d.Input, []byte("}"))
	out := make([]byte, 0, len(head)+len(member)+len(inputMember)+6)
	out = append(out, head...)
	if len(head) > 1 {
		out = append(out, ',')
	}
	out = append(out, `"`+inputMember+`":`...)
	return append(append(out, member...), '}'), nil
}

// local is what a clock in the schedule's zone shows at an instant.
func (d *Definition) local(at canonical.Stamp) string {
	zone, err := cron.Zone(d.Zone)
	if err != nil {
		zone = time.UTC
	}
	return time.UnixMilli(int64(at)).In(zone).Format(time.RFC3339)
}

// comesAs reports whether two definitions come at the same instants.
func (d *Definition) comesAs(o *Definition) bool {
	return d.Cron == o.Cron && d.Zone == o.Zone && d.Nonexistent == o.Nonexistent && d.Ambiguous == o.Ambiguous
}

// timing is when the instants of a schedule come.
type timing struct {
	line cron.Line
	zone *time.Location
	rule cron.Rule
}

// timing compiles when the schedule comes.
func (d *Definition) timing() (t timing, err error) {
	if t.line, err = cron.Parse(d.Cron); err != nil {
		return t, fault.Wrap("schedules.timing", err)
	}
	if t.zone, err = cron.Zone(d.Zone); err != nil {
		return t, fault.Wrap("schedules.timing", err)
	}
	t.rule.Skip = d.Nonexistent == Omit
	switch d.Ambiguous {
	case Second:
		t.rule.Ambiguous = cron.Second
	case Both:
		t.rule.Ambiguous = cron.Both
	}
	return t, nil
}

// next is the first instant after another; 0: it never comes again.
func (t *timing) next(after canonical.Stamp) canonical.Stamp {
	next := t.line.NextBy(time.UnixMilli(int64(after)).In(t.zone), t.rule)
	if next.IsZero() {
		return 0
	}
	return canonical.Stamp(next.UnixMilli())
}

// due are the instants from the first one on that have come by an instant, at most so many, and the first one that
// is not among them.
func (t *timing) due(first, by canonical.Stamp, most int) (due []canonical.Stamp, next canonical.Stamp) {
	for next = first; next > 0 && next <= by && len(due) < most; next = t.next(next) {
		due = append(due, next)
	}
	return due, next
}

func invalid(field, format string, args ...any) *fault.Error {
	return fault.New(fault.Invalid, canonical.CodeInvalid, format, args...).With(map[string]string{"field": field})
}

// ValidID reports whether a text can be the id of a schedule.
func ValidID(id string) bool { return canonical.Name(id) && len(id) <= MaxID }
