package records

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// convertedStatus is the status of a lead that was converted, where the tenant's leads
// have it.
const convertedStatus = "Closed - Converted"

// Conversion is what a lead is to become.
type Conversion struct {
	LeadID  string
	Version canonical.Stamp // of the lead that the caller has seen; 0: whatever there is
	OwnerID string          // of what is created; "": the lead's owner

	AccountID     string // to join; "": a new one, or one that is found
	ContactID     string
	OpportunityID string
	// Match looks for an account with the name of the lead's company, and in it for a contact
	// with the lead's e-mail address or, if it has none, its name, before new ones are made.
	Match bool
	// Opportunity is the fields of a new opportunity; nil: none is made. Without a name it has
	// that of the company.
	Opportunity map[string]jsontext.Value
	Idempotency *canonical.IdempotencyKey
}

// Converted is what a lead became.
type Converted struct {
	Lead          View          `json:"lead"`
	AccountID     string        `json:"accountId"`
	ContactID     string        `json:"contactId"`
	OpportunityID events.OrNull `json:"opportunityId"`
	Created       []string      `json:"created"` // which of Account, Contact and Opportunity are new
}

// Convert turns a lead into an account and a contact, and an opportunity if one is wanted:
// new ones or such that are there, in one transaction. answer writes it down; replay says
// that it was done before, with the same key.
func (s *Records) Convert(ctx context.Context, c Caller, v Conversion, answer func(Converted) ([]byte, error)) (
	out []byte, replay bool, err error,
) {
	err = s.Write(ctx, "convert", s.as(c, func(ctx context.Context, w *session) error {
		var done Converted
		var kept []byte
		kept, replay, err = w.idempotent(ctx, v.Idempotency, func() ([]byte, error) {
			k := &conversion{session: w, want: &v, created: []string{}}
			if done, err = k.run(ctx); err != nil {
				return nil, err
			}
			least := done
			least.Lead = k.view.stored(&k.done[len(k.done)-1].after)
			return json.Marshal(&least)
		})
		if err == nil && replay {
			if err = json.Unmarshal(kept, &done); err == nil {
				err = w.replay(ctx, &done.Lead)
			}
		}
		if err == nil {
			out, err = answer(done)
		}
		return err
	}))
	return out, replay, err
}

// conversion is one that is being done.
type conversion struct {
	*session
	want    *Conversion
	lead    *row
	view    view // of leads
	done    []decision
	created []string
}

func (k *conversion) run(ctx context.Context) (Converted, error) {
	var err error
	if k.view, err = k.viewOf(objLead, model.UpdateOp); err != nil {
		return Converted{}, err
	}
	if k.lead, err = k.get(ctx, objLead, k.want.LeadID, changing); err != nil {
		return Converted{}, err
	}
	switch {
	case values(k.lead.Fields).flag("IsConverted"):
		return Converted{}, fault.New(fault.Conflict, CodeConverted, "the lead %s was converted before", k.lead.ID)
	case !k.lead.edit:
		return Converted{}, fault.New(fault.Forbidden, CodeAccessDenied, "you may read the lead %s, but not edit it",
			k.lead.ID)
	}
	if err := checkVersion(&k.lead.Record, k.want.Version); err != nil {
		return Converted{}, err
	}
	account, contact, err := k.people(ctx)
	if err != nil {
		return Converted{}, err
	}
	opportunity, err := k.opportunity(ctx, account, contact)
	if err != nil {
		return Converted{}, err
	}
	after, err := k.close(ctx, account.ID, contact.ID, opportunity)
	if err != nil {
		return Converted{}, err
	}
	if err := k.save(ctx, k.done); err != nil {
		return Converted{}, err
	}
	return Converted{k.view.show(after), account.ID, contact.ID, events.OrNull(opportunity), k.created}, nil
}

// people finds or makes the account and the contact.
func (k *conversion) people(ctx context.Context) (account, contact *model.Record, err error) {
	if k.want.ContactID != "" {
		if contact, err = k.join(ctx, objContact, k.want.ContactID, "contactId"); err != nil {
			return nil, nil, err
		}
	}
	id := k.want.AccountID
	if id == "" && contact != nil {
		if id = contact.AccountID; id == "" {
			return nil, nil, about(CodeFieldInvalid, "contactId",
				"contactId is a contact without an account; name the account too")
		}
	}
	if account, err = k.account(ctx, id); err != nil {
		return nil, nil, err
	}
	switch {
	case contact == nil:
		contact, err = k.contact(ctx, account)
	case contact.AccountID != account.ID:
		err = about(CodeFieldInvalid, "contactId", "contactId must be a contact of the account")
	}
	return account, contact, err
}

// join is a record that the lead joins.
func (k *conversion) join(ctx context.Context, object, id, field string) (*model.Record, error) {
	if _, err := k.viewOf(object, model.ReadOp); err != nil {
		return nil, err
	}
	r, err := k.get(ctx, object, id, named)
	if fault.KindOf(err) == fault.NotFound {
		return nil, about(CodeFieldInvalid, field,
			"%s must be the id of a record of %s that is there and that you may see", field, object)
	}
	if err != nil {
		return nil, err
	}
	return &r.Record, nil
}

func (k *conversion) account(ctx context.Context, id string) (*model.Record, error) {
	lead := values(k.lead.Fields)
	if id != "" {
		return k.join(ctx, objAccount, id, "accountId")
	}
	if k.want.Match && k.view.Reads("Company") && k.Model.View(k.User, objAccount).Reads("Name") {
		found, err := k.match(
			ctx,
			objAccount,
			func(b *sqldb.Binds) string { return "r.name" + same(b, lead.text("Company")) },
		)
		if found != nil || err != nil {
			return found, err
		}
	}
	return k.make(ctx, objAccount, k.copy(objAccount, map[string]string{
		"Name": "Company", "BillingStreet": "Street", "BillingCity": "City", "BillingState": "State",
		"BillingPostalCode": "PostalCode", "BillingCountry": "Country",
	}, "Industry", "Rating", "Phone", "Website", "AnnualRevenue", "NumberOfEmployees"))
}

// copy is fields of a new record that are taken over from the lead: from says from which,
// alike are those with the same name. What the caller does
// not see of the lead is not among them, nor what is sensitive there and would not be here,
// nor what the picklist here does not have.
func (k *conversion) copy(object string, from map[string]string, alike ...string) map[string]jsontext.Value {
	for _, name := range alike {
		from[name] = name
	}
	fields := make(map[string]jsontext.Value, len(from))
	for to, field := range from {
		value := k.lead.Fields[field]
		if value == nil || !k.view.Reads(field) ||
			k.Model.Sensitive(objLead, field) && !k.Model.Sensitive(object, to) {
			continue
		}
		if f := k.Model.Field(object, to); f.Type == model.Picklist &&
			!slices.Contains(f.Values, values(k.lead.Fields).text(field)) {
			continue
		}
		fields[to] = jsonOf(value)
	}
	return fields
}

func (k *conversion) contact(ctx context.Context, account *model.Record) (*model.Record, error) {
	found, err := k.sameContact(ctx, account)
	if found != nil || err != nil {
		return found, err
	}
	fields := k.copy(objContact, map[string]string{
		"MailingStreet": "Street", "MailingCity": "City", "MailingState": "State",
		"MailingPostalCode": "PostalCode", "MailingCountry": "Country",
	}, "Salutation", "FirstName", "LastName", "Title", "Email", "Phone", "MobilePhone", "LeadSource")
	fields["AccountId"] = jsonOf(account.ID)
	return k.make(ctx, objContact, fields)
}

// sameContact is a contact of the account that has the address of the lead, or, of a lead
// without one, its name; nil when there is none or no match is wanted. It goes by fields
// that the caller may read, else it could try out what is in the others.
func (k *conversion) sameContact(ctx context.Context, account *model.Record) (*model.Record, error) {
	email := values(k.lead.Fields).text("Email")
	contact := k.Model.View(k.User, objContact)
	byEmail := email != "" && k.view.Reads("Email") && contact.Reads("Email")
	if !k.want.Match || !k.view.Reads("Name") || !byEmail && !contact.Reads("Name") {
		return nil, nil
	}
	return k.match(ctx, objContact, func(b *sqldb.Binds) string {
		within := "r.account_id = " + b.Add(account.ID) + " AND r.account_id <> '' AND "
		if byEmail {
			return within + k.sql.value(b, k.Model.Field(objContact, "Email")) + same(b, email)
		}
		return within + "r.name" + same(b, k.lead.Name)
	})
}

// same compares with a text of the lead. The lead, and what it is compared with, may be
// older than the rule that texts are kept in NFC.
func same(b *sqldb.Binds, text string) string {
	return " IN (" + b.Add(text) + ", " + b.Add(canonical.NFC(text)) + ")"
}

// match is the oldest living record that the caller sees and that fits, nil when there is
// none.
func (k *conversion) match(
	ctx context.Context,
	object string,
	fits func(*sqldb.Binds) string,
) (*model.Record, error) {
	if !k.Model.Can(k.User, object, model.ReadOp) {
		return nil, nil
	}
	var b sqldb.Binds
	where, err := k.visible(ctx, object, &b)
	if err != nil {
		return nil, err
	}
	query := "SELECT " + columns + " FROM records_record r WHERE " + where + " AND " + fits(&b) +
		" ORDER BY r.id LIMIT 1"
	query += k.sql.hold(named)
	found, err := many(ctx, k.Tx, "match", query, b.Args()...)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// opportunity is the id of the opportunity, "" when none is wanted.
func (k *conversion) opportunity(ctx context.Context, account, contact *model.Record) (string, error) {
	switch {
	case k.want.OpportunityID != "" && k.want.Opportunity != nil:
		return "", about(CodeFieldInvalid, "opportunity",
			"name either an opportunity that is there (opportunityId) or a new one (opportunity)")
	case k.want.OpportunityID != "":
		r, err := k.join(ctx, objOpportunity, k.want.OpportunityID, "opportunityId")
		if err != nil {
			return "", err
		}
		if r.AccountID != account.ID {
			return "", about(CodeFieldInvalid, "opportunityId", "opportunityId must be an opportunity of the account")
		}
		return r.ID, nil
	case k.want.Opportunity == nil:
		return "", nil
	}
	fields := k.copy(objOpportunity, map[string]string{"Name": "Company"}, "LeadSource")
	maps.Copy(fields, k.want.Opportunity)
	fields["AccountId"], fields["ContactId"] = jsonOf(account.ID), jsonOf(contact.ID)
	r, err := k.make(ctx, objOpportunity, fields)
	if err != nil {
		return "", err
	}
	return r.ID, nil
}

// make decides about a new record. Fields that the caller may not write are left empty,
// unless it named them itself; those that are empty too.
func (k *conversion) make(
	ctx context.Context,
	object string,
	fields map[string]jsontext.Value,
) (*model.Record, error) {
	view, err := k.viewOf(object, model.CreateOp)
	if err != nil {
		return nil, err
	}
	wanted := map[string][]string{}
	for name, value := range fields {
		if _, asked := k.want.Opportunity[name]; object == objOpportunity && asked {
			continue
		}
		if !view.Edits(name) || value.Kind() == 'n' {
			delete(fields, name)
		}
	}
	op := &Op{Kind: Create, OwnerID: strings.ToLower(k.want.OwnerID), Fields: fields}
	if op.OwnerID == "" {
		op.OwnerID = k.lead.OwnerID
	}
	for name, raw := range fields {
		collectReference(view.Field(name), raw, wanted)
	}
	found, err := k.loadParents(ctx, wanted)
	if err != nil {
		return nil, err
	}
	for i := range k.done {
		r := &k.done[i].after
		found[r.ID] = parent{r.Object, r.AccountID}
	}
	ruled, err := k.loadRuled(ctx, object)
	if err != nil {
		return nil, err
	}
	d, err := create(k.facts(view, found, ruled, nil), uuid.Must(uuid.NewV7()).String(), op)
	if err != nil {
		return nil, err
	}
	k.done, k.created = append(k.done, d), append(k.created, object)
	return &d.after, nil
}

// close marks the lead as converted.
func (k *conversion) close(ctx context.Context, account, contact, opportunity string) (*model.Record, error) {
	fields := map[string]jsontext.Value{
		"IsConverted": jsonOf(true), "ConvertedDate": jsonOf(k.now.String()),
		"ConvertedAccountId": jsonOf(account), "ConvertedContactId": jsonOf(contact),
	}
	known := parents{account: {Object: objAccount}, contact: {Object: objContact}}
	if opportunity != "" {
		fields["ConvertedOpportunityId"] = jsonOf(opportunity)
		known[opportunity] = parent{Object: objOpportunity}
	}
	if f := k.Model.Field(objLead, "Status"); f != nil && slices.Contains(f.Values, convertedStatus) {
		fields["Status"] = jsonOf(convertedStatus)
	}
	locks, err := k.loadLocks(ctx, objLead, []string{k.lead.ID})
	if err != nil {
		return nil, err
	}
	ruled, err := k.loadRuled(ctx, objLead)
	if err != nil {
		return nil, err
	}
	f := k.facts(k.view, known, ruled, locks[k.lead.ID])
	f.system = true
	d, err := update(f, &k.lead.Record, &Op{Kind: Update, ID: k.lead.ID, Fields: fields})
	if err != nil {
		return nil, err
	}
	d.action = actionConverted
	d.events = append(d.events, events.LeadConverted{
		LeadID: k.lead.ID, ConvertedAt: k.now, ConvertedBy: k.User, AccountID: account, ContactID: contact,
		OpportunityID: events.OrNull(opportunity), RecordVersion: d.after.Version,
	})
	k.done = append(k.done, d)
	return &d.after, nil
}
