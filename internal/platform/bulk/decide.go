package bulk

// Guard is the rule that refused a command on a bulk.
type Guard string

// The guards of bulks.
const (
	GuardFrozen   Guard = "bulk_frozen"    // its set is frozen
	GuardNotEnded Guard = "bulk_not_ended" // it has not ended
	GuardStarted  Guard = "bulk_started"   // it was started before
)

// start is what starting makes of a bulk. Starting what runs changes nothing.
func (s Status) start() (Status, Guard) {
	switch s {
	case Preview, Stopped, Running:
		return Running, ""
	case Freezing:
		return s, GuardFrozen
	}
	return s, GuardNotEnded
}

// stop is what stopping makes of a bulk. Stopping what is stopped changes nothing.
func (s Status) stop() (Status, Guard) {
	switch s {
	case Running, Stopped:
		return Stopped, ""
	case Freezing, Preview:
		return s, GuardStarted
	}
	return s, GuardNotEnded
}
