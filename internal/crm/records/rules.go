package records

import (
	"math/big"
	"strconv"
	"strings"

	"renga.dev/renga/internal/crm/model"
)

// The objects whose records follow rules of their own.
const (
	objAccount     = "Account"
	objContact     = "Contact"
	objLead        = "Lead"
	objOpportunity = "Opportunity"
	objQuote       = "Quote"
	objCampaign    = "Campaign"
)

// ownerField is how the owner is called among the changed fields.
const ownerField = "OwnerId"

// values are the fields of a record that are not empty.
type values map[string]any

func (v values) text(name string) string {
	s, _ := v[name].(string)
	return s
}

func (v values) flag(name string) bool {
	b, _ := v[name].(bool)
	return b
}

// put sets a field; nil empties it.
func (v values) put(name string, value any) {
	if value == nil {
		delete(v, name)
	} else {
		v[name] = value
	}
}

// derive fills in what follows from the other fields of a record, before it is saved.
// before is nil for a new record; given are the fields that the change names.
func derive(m *model.Model, object string, before, after, given values) error {
	switch object {
	case objContact, objLead:
		after.put("Name", nonEmpty(strings.TrimSpace(after.text("FirstName")+" "+after.text("LastName"))))
	case objOpportunity:
		return deriveStage(m, before, after, given)
	case objQuote:
		return deriveTotal(m, after)
	}
	return nil
}

func nonEmpty(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// deriveStage lets a stage that is new set what belongs to it. A change that names the
// probability itself keeps it.
func deriveStage(m *model.Model, before, after, given values) error {
	if p, ok := after["Probability"].(float64); ok && (p < 0 || p > 100) {
		return unfit(m.Field(objOpportunity, "Probability"), "must be between 0 and 100")
	}
	stage := m.Stage(after.text("StageName"))
	if stage == nil || before != nil && before.text("StageName") == stage.Name {
		return nil
	}
	if _, named := given["Probability"]; !named {
		after["Probability"] = float64(stage.Probability)
	}
	after.put("ForecastCategoryName", nonEmpty(stage.ForecastCategory))
	after["IsClosed"], after["IsWon"] = stage.IsClosed, stage.IsWon
	return nil
}

// deriveTotal computes the total of a quote: Subtotal less DiscountPercent of it, plus
// Tax, to two decimals.
func deriveTotal(m *model.Model, after values) error {
	if d, ok := after["DiscountPercent"].(float64); ok && (d < 0 || d > 100) {
		return unfit(m.Field(objQuote, "DiscountPercent"), "must be between 0 and 100")
	}
	subtotal, ok := after["Subtotal"].(float64)
	if !ok {
		delete(after, "GrandTotal")
		return nil
	}
	discount, _ := after["DiscountPercent"].(float64)
	tax, _ := after["Tax"].(float64)
	left := new(big.Rat).Sub(big.NewRat(100, 1), decimal(discount))
	total := new(big.Rat).Mul(decimal(subtotal), left.Quo(left, big.NewRat(100, 1)))
	rounded, ok := model.ParseNumber(total.Add(total, decimal(tax)).FloatString(2)) // half away from zero
	if !ok {
		return unfit(m.Field(objQuote, "Subtotal"), "makes a total of more than %d digits", model.MaxDigits)
	}
	after["GrandTotal"] = rounded
	return nil
}

// decimal is a number exactly as it is written.
func decimal(n float64) *big.Rat {
	r, _ := new(big.Rat).SetString(strconv.FormatFloat(n, 'f', -1, 64))
	return r
}

// link sets what lookups need of the fields of a record.
func link(r *model.Record, f *facts) {
	fields := values(r.Fields)
	r.Name = fields.text("Name")
	switch r.Object {
	case objContact, objOpportunity:
		r.AccountID = fields.text("AccountId")
	case objQuote:
		if id := fields.text("OpportunityId"); id != r.OpportunityID {
			p, seen := f.parents[id]
			if !seen {
				p = f.ruled[id]
			}
			r.OpportunityID, r.AccountID = id, p.AccountID
		}
	}
}

// above reports whether a user may give a record away or delete it because of its owner:
// it is the owner, a member of the queue that owns it, or has a role above the owner's.
func above(m *model.Model, user, owner string) bool {
	if user == owner || m.ModifyAll(user) {
		return true
	}
	for _, group := range m.GroupsOf(user) {
		if group == owner && m.Group(group).Type == model.Queue {
			return true
		}
	}
	o, u := m.User(owner), m.User(user)
	if o == nil || u == nil || o.RoleID == "" || u.RoleID == "" {
		return false
	}
	for _, role := range m.RoleAncestors(o.RoleID) {
		if role == u.RoleID {
			return true
		}
	}
	return false
}
