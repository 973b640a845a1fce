package model

import (
	"strings"
	"sync"
)

// Standard numbers the standard definitions: a tenant keeps those that it began with.
// The numbers are part of what is stored.
type Standard int

// The standards.
const (
	StandardOpen     Standard = 0 // no field is sensitive
	StandardPersonal Standard = 1 // personal fields are
)

// field is a standard field as the table below has it.
type field struct {
	name, label string
	typ         FieldType
	required    bool
	readOnly    bool
	length      int
	values      []string
	to          []string
}

func text(name, label string, length int) field {
	return field{name: name, label: label, typ: Text, length: length}
}

func long(name, label string) field {
	return field{name: name, label: label, typ: LongText, length: 32_000}
}

func plain(name, label string, typ FieldType) field {
	f := field{name: name, label: label, typ: typ}
	switch typ {
	case Email, Phone:
		f.length = 80
	case URL:
		f.length = 255
	}
	return f
}

func pick(name, label string, values ...string) field {
	return field{name: name, label: label, typ: Picklist, values: values}
}

func ref(name, label string, to ...string) field {
	return field{name: name, label: label, typ: Reference, to: to}
}

func (f field) must() field  { f.required = true; return f }
func (f field) fixed() field { f.readOnly = true; return f }

// address is the five fields of an address.
func address(prefix string) []field {
	return []field{
		text(prefix+"Street", prefix+" Street", 255), text(prefix+"City", prefix+" City", 40),
		text(prefix+"State", prefix+" State", 80),
		text(prefix+"PostalCode", prefix+" Postal Code", 20), text(prefix+"Country", prefix+" Country", 80),
	}
}

var (
	sources    = []string{"Web", "Phone Inquiry", "Partner Referral", "Purchased List", "Trade Show", "Other"}
	industries = []string{
		"Agriculture", "Banking", "Communications", "Construction", "Consulting", "Education", "Energy", "Finance",
		"Government",
		"Healthcare", "Insurance", "Manufacturing", "Media", "Retail", "Technology", "Transportation", "Utilities",
		"Other",
	}
	ratings     = []string{"Hot", "Warm", "Cold"}
	salutations = []string{"Mr.", "Ms.", "Mrs.", "Dr.", "Prof."}
)

// standardObjects are the objects that every tenant has, with their fields.
var standardObjects = []*Object{
	object("Account", "Account", "Accounts", append(append([]field{
		text("Name", "Account Name", 255).must(), text("AccountNumber", "Account Number", 40),
		pick("Type", "Type", "Prospect", "Customer", "Partner", "Competitor", "Other"), pick("Industry", "Industry",
			industries...),
		pick("Rating", "Rating", ratings...), plain("AnnualRevenue", "Annual Revenue", Currency),
		plain("NumberOfEmployees", "Employees", Integer),
		plain("Phone", "Phone", Phone), plain("Website", "Website", URL), ref("ParentId", "Parent Account", "Account"),
		long("Description", "Description"),
	}, address("Billing")...), address("Shipping")...)),
	object("Contact", "Contact", "Contacts", append([]field{
		text("Name", "Full Name", 121).fixed(), pick("Salutation", "Salutation", salutations...),
		text("FirstName", "First Name", 40),
		text("LastName", "Last Name", 80).must(), ref("AccountId", "Account", "Account"),
		ref("ReportsToId", "Reports To", "Contact"),
		text("Title", "Title", 128), text("Department", "Department", 80), plain("Email", "Email", Email),
		plain("Phone", "Phone", Phone),
		plain("MobilePhone", "Mobile", Phone), plain("Birthdate", "Birthdate", Date), pick("LeadSource", "Lead Source",
			sources...),
		plain("HasOptedOutOfEmail", "Email Opt Out", Boolean), long("Description", "Description"),
	}, address("Mailing")...)),
	object("Lead", "Lead", "Leads", []field{
		text("Name", "Full Name", 121).fixed(), pick("Salutation", "Salutation", salutations...),
		text("FirstName", "First Name", 40),
		text("LastName", "Last Name", 80).must(), text("Company", "Company", 255).must(), text("Title", "Title", 128),
		pick("Status", "Lead Status", "Open - Not Contacted", "Working - Contacted", "Closed - Converted",
			"Closed - Not Converted").must(),
		pick("LeadSource", "Lead Source", sources...), pick("Industry", "Industry", industries...),
		pick("Rating", "Rating", ratings...),
		plain("AnnualRevenue", "Annual Revenue", Currency), plain("NumberOfEmployees", "Employees", Integer),
		plain("Email", "Email", Email),
		plain("Phone", "Phone", Phone), plain("MobilePhone", "Mobile", Phone), plain("Website", "Website", URL),
		text("Street", "Street", 255),
		text("City", "City", 40), text("State", "State", 80), text("PostalCode", "Postal Code", 20),
		text("Country", "Country", 80),
		long("Description", "Description"), plain("IsConverted", "Converted", Boolean).fixed(), plain("ConvertedDate",
			"Converted Date", DateTime).fixed(),
		ref("ConvertedAccountId", "Converted Account", "Account").fixed(), ref("ConvertedContactId",
			"Converted Contact", "Contact").fixed(),
		ref("ConvertedOpportunityId", "Converted Opportunity", "Opportunity").fixed(),
	}),
	object("Opportunity", "Opportunity", "Opportunities", []field{
		text("Name", "Opportunity Name", 120).must(), ref("AccountId", "Account", "Account"),
		pick("StageName", "Stage", standardStages.names()...).must(), plain("CloseDate", "Close Date", Date).must(),
		plain("Amount", "Amount", Currency), plain("Probability", "Probability (%)", Percent),
		pick("ForecastCategoryName", "Forecast Category", ForecastCategories...).fixed(), plain("IsClosed", "Closed",
			Boolean).fixed(),
		plain("IsWon", "Won", Boolean).fixed(), pick("Type", "Type", "New Business", "Existing Business"),
		pick("LeadSource", "Lead Source", sources...), text("NextStep", "Next Step", 255),
		ref("CampaignId", "Primary Campaign", "Campaign"),
		ref("ContactId", "Primary Contact", "Contact"), long("Description", "Description"),
	}),
	object("Quote", "Quote", "Quotes", []field{
		text("Name", "Quote Name", 255).must(), ref("OpportunityId", "Opportunity", "Opportunity").must(),
		ref("ContactId", "Contact", "Contact"),
		text("QuoteNumber", "Quote Number", 40),
		pick("Status", "Status", "Draft", "Needs Review", "In Review", "Approved", "Rejected", "Presented", "Accepted",
			"Denied"),
		plain("ExpirationDate", "Expiration Date", Date), plain("Subtotal", "Subtotal", Currency),
		plain("DiscountPercent", "Discount (%)", Percent),
		plain("Tax", "Tax", Currency), plain("GrandTotal", "Grand Total", Currency).fixed(),
		long("Description", "Description"),
	}),
	object("Campaign", "Campaign", "Campaigns", []field{
		text("Name", "Campaign Name", 80).must(), pick("Type", "Type", "Conference", "Webinar", "Trade Show", "Email",
			"Advertisement", "Partners", "Other"),
		pick("Status", "Status", "Planned", "In Progress", "Completed", "Aborted"), plain("StartDate", "Start Date",
			Date), plain("EndDate", "End Date", Date),
		plain("IsActive", "Active", Boolean), plain("BudgetedCost", "Budgeted Cost", Currency),
		plain("ActualCost", "Actual Cost", Currency),
		plain("ExpectedRevenue", "Expected Revenue", Currency), ref("ParentId", "Parent Campaign", "Campaign"),
		long("Description", "Description"),
	}),
}

// personal reports whether a field says how to reach a person, or when it was born: e-mail
// addresses, phone numbers, dates of birth, streets and postal codes. Accounts have them
// too: one may be a person, and what a lead becomes takes them over.
func (f field) personal() bool {
	return f.typ == Email || f.typ == Phone || f.name == "Birthdate" ||
		strings.HasSuffix(f.name, "Street") || strings.HasSuffix(f.name, "PostalCode")
}

// object makes a standard object of its fields.
func object(name, label, plural string, fields []field) *Object {
	all := make([]Field, len(fields))
	for i, f := range fields {
		all[i] = Field{
			ID: standardField(name, f.name), Object: name, Name: f.name, Label: f.label, Type: f.typ,
			Required: f.required,
			ReadOnly: f.readOnly, Sensitive: f.personal(), Searchable: f.typ.Searchable(),
			MaxLength: f.length, Values: f.values, ReferenceTo: f.to,
		}
	}
	return (&Object{Name: name, Label: label, PluralLabel: plural}).withFields(all)
}

// StandardField is a field as a new tenant has it, nil when it is none of them.
func StandardField(object, name string) *Field {
	for _, o := range standardObjects {
		if o.Name == object {
			return o.Field(name)
		}
	}
	return nil
}

// StandardField is a field as the tenant has it at first, nil when it is none of them.
func (m *Model) StandardField(object, name string) *Field {
	d := standards[m.standard]()[KindField][FieldKey(object, name)]
	f, _ := d.Value.(*Field)
	return f
}

// standards are what tenants have at first, but for their system user.
var standards = [...]func() map[Kind]map[string]Definition{
	StandardOpen:     sync.OnceValue(openStandard),
	StandardPersonal: sync.OnceValue(newStandard),
}

// openStandard is the standard without sensitive fields.
func openStandard() map[Kind]map[string]Definition {
	all := newStandard()
	for id, d := range all[KindField] {
		f := *d.Value.(*Field)
		f.Sensitive = false
		all[KindField][id] = Definition{Kind: KindField, ID: id, Value: &f}
	}
	return all
}

func newStandard() map[Kind]map[string]Definition {
	all := map[Kind]map[string]Definition{}
	for _, kind := range Kinds {
		all[kind] = map[string]Definition{}
	}
	put := func(kind Kind, id string, v any) { all[kind][id] = Definition{Kind: kind, ID: id, Value: v} }
	for _, o := range standardObjects {
		put(KindObject, o.Name, o)
		put(KindOWD, o.Name, &Default{Object: o.Name, Access: Private})
		for i := range o.Fields {
			put(KindField, FieldKey(o.Name, o.Fields[i].Name), &o.Fields[i])
		}
	}
	for _, object := range TeamObjects {
		put(KindTeamRoles, object, &TeamRoles{Object: object, Roles: standardTeamRoles})
	}
	put(KindStages, stageObject, standardStages)
	return all
}

// NewModel is the model of a new tenant, which has defined nothing.
func NewModel(tenant string) *Model { return NewModelOf(tenant, StandardPersonal) }

// NewModelOf is the model of a tenant that has defined nothing, with the standard
// definitions that it began with.
func NewModelOf(tenant string, s Standard) *Model {
	m := &Model{Tenant: tenant, standard: s, system: SystemUser(tenant), kinds: map[Kind]definitions{}}
	for kind, byID := range standards[s]() {
		m.kinds[kind] = newDefinitions(byID)
	}
	m.buildObjects()
	system := &User{ID: m.system, Name: "System", IsActive: true}
	return m.With(0, Definition{Kind: KindUser, ID: m.system, Value: system})
}
