package bulk

// Guard is the rule that refused a command.
type Guard string

const (
	GuardFrozen   Guard = "bulk_frozen"
	GuardNotEnded Guard = "bulk_not_ended"
	GuardStarted  Guard = "bulk_started"
)

func (s Status) start() (Status, Guard) {
	switch s {
	case Preview, Stopped, Running:
		return Running, ""
	case Freezing:
		return s, GuardFrozen
	}
	return s, GuardNotEnded
}

func (s Status) stop() (Status, Guard) {
	switch s {
	case Running, Stopped:
		return Stopped, ""
	case Freezing, Preview:
		return s, GuardStarted
	}
	return s, GuardNotEnded
}
