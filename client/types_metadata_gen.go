// Code generated from api/openapi.yaml by go generate ./api; DO NOT EDIT.

package client

// ObjectPermission: who may create, update or delete may read.
type ObjectPermission struct {
	Create bool `json:"create,omitempty"`
	Read   bool `json:"read,omitempty"`
	Update bool `json:"update,omitempty"`
	Delete bool `json:"delete,omitempty"`
}

// ObjectField: a field of an object.
type ObjectField struct {
	// Made by the server.
	ID          string `json:"id"`
	Object      string `json:"object"`
	Name        string `json:"name"`
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
	Type        string `json:"type"`
	Required    bool   `json:"required"`
	// Callers do not write it.
	ReadOnly bool `json:"readOnly"`
	// Its values are in no event. Personal standard fields are so at first; see `putField`.
	Sensitive bool `json:"sensitive"`
	// Search finds records by it. Texts and picklists are so unless this says false; fields of
	// other types never are.
	Searchable bool `json:"searchable"`
	Custom     bool `json:"custom"`
	// Whether the caller may write it.
	Editable bool `json:"editable"`
	// Characters, of text, longtext, email, phone and url.
	MaxLength int `json:"maxLength,omitempty"`
	// Of a picklist, in their order. Records keep a value that is left out, but it is not
	// written anew.
	Values []string `json:"values,omitempty"`
	// The objects that a reference may lead to.
	ReferenceTo []string `json:"referenceTo,omitempty"`
}

// ObjectStage: a stage of opportunities.
type ObjectStage struct {
	Name             string `json:"name"`
	Probability      int    `json:"probability"`
	ForecastCategory string `json:"forecastCategory"`
	IsClosed         bool   `json:"isClosed"`
	// Only what is closed can be won.
	IsWon bool `json:"isWon"`
}

// TeamRole: a part that users have in teams.
type TeamRole struct {
	Name   string `json:"name"`
	Access string `json:"access"`
}

// ObjectLimits: how much an object may have.
type ObjectLimits struct {
	CustomFields   int `json:"customFields"`
	PicklistValues int `json:"picklistValues"`
	Text           int `json:"text"`
	LongText       int `json:"longText"`
}

// ObjectDescription: an object as the caller may see it.
type ObjectDescription struct {
	Name        string           `json:"name"`
	Label       string           `json:"label"`
	PluralLabel string           `json:"pluralLabel"`
	Description string           `json:"description,omitempty"`
	Permissions ObjectPermission `json:"permissions"`
	OWD         string           `json:"owd"`
	Fields      []ObjectField    `json:"fields"`
	// Of opportunities.
	Stages []ObjectStage `json:"stages,omitempty"`
	// Where records have teams.
	TeamRoles []TeamRole `json:"teamRoles,omitempty"`
	// How much an object may have.
	Limits ObjectLimits `json:"limits"`
}
