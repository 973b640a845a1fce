package httpapi_test

import (
	"renga.dev/renga/internal/crm/approval"
	"renga.dev/renga/internal/crm/automation"
	"renga.dev/renga/internal/crm/metadata"
	"renga.dev/renga/internal/crm/records"
	"renga.dev/renga/internal/crm/reporting"
)

// openRecords puts the records over the bus.
func (s *server) openRecords(models *metadata.Models) {
	s.records = records.New(s.db, records.Config{Models: models, Visible: s.sharing, Publisher: s.bus, Rules: automation.Rules{}, Now: s.clock.Now, Open: s.isOpen, Outcome: s.outcome, Refused: s.outcomeRefused})
	s.reports = reporting.New(s.db, reporting.Config{Models: models, Visible: s.sharing, Records: records.Reads{}, Approvals: approval.Reads{}})
	s.automation = automation.New(s.db, automation.Config{Models: models, Records: records.Reads{}, Writer: s.records, Engine: s.engine, Now: s.clock.Now})
}
