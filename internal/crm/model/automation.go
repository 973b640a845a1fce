package model

import (
	"iter"

	"github.com/go-json-experiment/json/jsontext"
)

// ValidationRule refuses a record of which its condition is true.
type ValidationRule struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Object    string `json:"object"`
	Condition string `json:"condition"` // CEL over record and old
	Message   string `json:"message"`
	Field     string `json:"field,omitzero"` // the field that the message is about
	IsActive  bool   `json:"isActive"`
}

// What happens to a record.
const (
	OnCreate = "create"
	OnUpdate = "update"
	OnDelete = "delete"
)

// When a workflow rule acts.
const (
	BeforeSave = "before" // in the transaction of the change, on the record itself
	AfterSave  = "after"  // by the event of the change
)

// WorkflowRule acts when something happens to a record.
type WorkflowRule struct {
	ID        string   `json:"id"`
	Name      string   `json:"name"`
	Object    string   `json:"object"`
	On        []string `json:"on"`   // OnCreate, OnUpdate, OnDelete
	When      string   `json:"when"` // BeforeSave, AfterSave
	Condition string   `json:"condition,omitzero"`
	Actions   []Action `json:"actions"`
	IsActive  bool     `json:"isActive"`
}

// The types of actions.
const (
	SetField    = "setField"    // Field, Value; before the save
	Notify      = "notify"      // To, Message
	CreateTask  = "createTask"  // To, Message, DueDays
	UpdateField = "updateField" // Field, Value; after the save
	StartGraph  = "startGraph"  // GraphID
)

// Action is one thing that a rule or a job does. Key tells it from the others of its
// rule: for one event it is done once.
type Action struct {
	Key     string         `json:"key"`
	Type    string         `json:"type"`
	Field   string         `json:"field,omitzero"`
	Value   jsontext.Value `json:"value,omitzero"`
	To      *Member        `json:"to,omitzero"` // nil with Notify and CreateTask: the owner
	Message string         `json:"message,omitzero"`
	DueDays int            `json:"dueDays,omitzero"`
	GraphID string         `json:"graphId,omitzero"`
}

// ScheduledJob acts at certain times.
type ScheduledJob struct {
	ID        string   `json:"id"`
	Name      string   `json:"name"`
	Object    string   `json:"object,omitzero"`    // whose records it acts on; "": it acts once
	Condition string   `json:"condition,omitzero"` // which of them; with Object
	Cron      string   `json:"cron"`               // minute, hour, day of the month, month, day of the week
	TimeZone  string   `json:"timeZone"`           // "Asia/Tokyo"
	Actions   []Action `json:"actions"`
	IsActive  bool     `json:"isActive"`
}

// MaxProcessSteps is how many steps an approval process may have.
const MaxProcessSteps = 20

// ApprovalProcess is how records of an object are approved.
type ApprovalProcess struct {
	ID           string         `json:"id"`
	Name         string         `json:"name"`
	Object       string         `json:"object"`
	Condition    string         `json:"condition,omitzero"` // which records may be submitted
	LockedFields []string       `json:"lockedFields"`       // while it runs
	Steps        []ApprovalStep `json:"steps"`
	Outcomes
	IsActive bool `json:"isActive"`
}

// Outcomes are the fields that core writes into a record when its approval ends, by how it
// ends; null empties one.
type Outcomes struct {
	OnApproved map[string]jsontext.Value `json:"onApproved,omitzero"`
	OnRejected map[string]jsontext.Value `json:"onRejected,omitzero"`
	OnRecalled map[string]jsontext.Value `json:"onRecalled,omitzero"`
}

// Each gives them with their names. What is given may be changed in place.
func (o *Outcomes) Each() iter.Seq2[string, *map[string]jsontext.Value] {
	return func(yield func(string, *map[string]jsontext.Value) bool) {
		_ = yield("onApproved", &o.OnApproved) && yield("onRejected", &o.OnRejected) &&
			yield("onRecalled", &o.OnRecalled)
	}
}

// ApprovalStep is one stage of a process.
type ApprovalStep struct {
	Name      string   `json:"name"`
	Condition string   `json:"condition,omitzero"` // the step is passed over where it is false
	Approvers []Member `json:"approvers"`          // TypeUser, TypeRole, TypeGroup, TypeManager
	Decide    string   `json:"decide"`             // ByAny, ByAll
}

// Who decides a step.
const (
	ByAny = "any" // the first who decides
	ByAll = "all" // everybody has to approve
)
