package bus

import (
	"cmp"

	"renga.dev/renga/internal/platform/wire"
)

// place is where an event stands among those of its key: by the version of the
// record, then by its index within the change.
type keyVersion struct {
	version wire.Stamp
	index   int
	eventID string // eventId of who stands there
}

// placeOf is the place of an event.
func versionOf(e *wire.Event) keyVersion { return keyVersion{e.Version, e.Index, e.ID} }

func (p keyVersion) compare(q keyVersion) int {
	return cmp.Or(cmp.Compare(p.version, q.version), cmp.Compare(p.index, q.index))
}

// verdict is what a reader does with an event.
type verdict uint8

const (
	apply     verdict = iota
	duplicate         // it was taken before
	stale             // a newer one of its key was taken before
	conflict          // another event has its place
)

// admit is the version guard: what is done with an event, given the newest one of its
// key that was taken. No event has the zero place.
func admit(last, got keyVersion) verdict {
	switch c := got.compare(last); {
	case c > 0:
		return apply
	case c < 0:
		return stale
	case got.eventID == last.eventID:
		return duplicate
	}
	return conflict
}
