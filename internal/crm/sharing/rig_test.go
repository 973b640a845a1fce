package sharing

import (
	"testing"

	"renga.dev/renga/internal/crm/crmtest"
	"renga.dev/renga/internal/crm/records"
	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/sqldb"
)

func TestMain(m *testing.M) { crmtest.Main(m, "20") }

// rig is sharing over a database, an engine and a bus that delivers nothing by itself.
type rig struct {
	*crmtest.Rig
	*Sharing
	consumer bus.Consumer
	kept     *records.Records // with this sharing
}

// onEvery runs a test on every database.
func onEvery(t *testing.T, test func(t *testing.T, r *rig)) {
	crmtest.OnEvery(t, func(t *testing.T, where sqldb.Config) {
		test(t, newRig(t, where, limits{chunk: 2, sweep: 3, few: 5, unreached: 2}))
	})
}

func newRig(t testing.TB, where sqldb.Config, most limits) *rig {
	t.Helper()
	r := &rig{Rig: crmtest.New(t, where, records.Migration(), Migration())}
	r.Sharing = New(r.DB, Config{
		Models: r.Models, Records: records.Reads{}, Bus: r.Bus, Engine: r.Engine, Worker: "test", limits: most,
	})
	r.consumer = r.Consumer()
	r.kept = records.New(r.DB, records.Config{Models: r.Models, Visible: r.Sharing, Publisher: r.Bus})
	return r
}
