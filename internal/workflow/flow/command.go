package flow

// Command is what somebody wants to happen to an execution, decoded and checked for shape;
// Decide checks it against the state. The implementations are the structs below.
type Command interface {
	Name() string   // the name on the wire
	Target() string // the node it is about, "" for the execution

	// decide asks the guards and emits what the command does; settle does what follows from that.
	decide(d *draft) error
}

// The commands. Attempt 0 and Worker "" mean "not given".
type (
	Create struct {
		Input       Data
		BusinessKey string // "": none
		Labels      Labels
		RerunOf     ID // the execution that this one does again; zero: none
	}
	Start  struct{}
	Cancel struct {
		Reason string
	}
	Archive struct {
		Reason string
	}
	StartNode struct {
		Node    string
		Attempt int
		Worker  string
		Lease   int // seconds; more than 0 only in a claim
	}
	Progress struct {
		Node     string
		Attempt  int
		Worker   string
		Progress *float64
		Message  string
		Metrics  Data
	}
	Wait struct {
		Node    string
		Attempt int
		Worker  string
		WaitKey string
		Prompt  Data
	}
	Resume struct {
		Node      string
		ResumeKey string
		Output    Data
		As        Principal // who the Actor is, where it is a user
		Message   *Received // what resumes it; nil: somebody does
	}
	Succeed struct {
		Node    string
		Attempt int
		Worker  string
		Output  Data
		Next    bool // start a Task that this makes ready, for the same worker
	}
	Fail struct {
		Node    string
		Attempt int
		Worker  string
		Error   *Error
		Next    bool
	}
	CancelNode struct {
		Node   string
		Reason string
	}
	// Expire is a deadline that came due; it does nothing when the state no longer has it.
	Expire struct {
		Node    string
		Attempt int
		At      Time
	}
)

// The names on the wire.
func (Create) Name() string     { return "CreateExecution" }
func (Start) Name() string      { return "StartExecution" }
func (Cancel) Name() string     { return "CancelExecution" }
func (Archive) Name() string    { return "ArchiveExecution" }
func (StartNode) Name() string  { return "StartNode" }
func (Progress) Name() string   { return "ReportNodeProgress" }
func (Wait) Name() string       { return "PutNodeWaiting" }
func (Resume) Name() string     { return "ResumeNode" }
func (Succeed) Name() string    { return "SucceedNode" }
func (Fail) Name() string       { return "FailNode" }
func (CancelNode) Name() string { return "CancelNode" }
func (Expire) Name() string     { return "ExpireDeadline" }

// The nodes that the commands are about.
func (Create) Target() string       { return "" }
func (Start) Target() string        { return "" }
func (Cancel) Target() string       { return "" }
func (Archive) Target() string      { return "" }
func (c StartNode) Target() string  { return c.Node }
func (c Progress) Target() string   { return c.Node }
func (c Wait) Target() string       { return c.Node }
func (c Resume) Target() string     { return c.Node }
func (c Succeed) Target() string    { return c.Node }
func (c Fail) Target() string       { return c.Node }
func (c CancelNode) Target() string { return c.Node }
func (c Expire) Target() string     { return c.Node }

// Facts is what a decision may know beside the state and the command.
type Facts struct {
	Now           Time
	ID            ID    // of the first event; those that follow count up (ID.Plus)
	Execution     ID    // with Create: the ID of the new execution
	Compensation  ID    // with Cancel: the ID of the execution that would clean up
	Plan          *Plan // the graph version that the execution was created with
	Actor         Actor // who sent the command
	CorrelationID string
	Outputs       map[uint64]Data // data held by reference that an earlier try asked for (Need)
	Full          bool            // conditions asked for more than Outputs has; they get no more
	Accepted      bool            // the command is what Accept gave
}
