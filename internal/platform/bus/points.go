package bus

// Points are the names of the failpoints that Config.Passed is called with.
var Points = []string{
	"outbox.committed",
	"outbox.written",
	"reader.before-commit",
	"reader.buried",
	"reader.committed",
	"reader.decided",
	"reader.doubt",
	"reader.handled",
	"reader.received",
	"reader.replay",
	"reader.retry",
	"relay.before-mark",
	"relay.log-noted",
	"relay.log-published",
	"relay.log-read",
	"relay.loss-found",
	"relay.loss-noted",
	"relay.marked",
	"relay.published",
	"relay.read",
	"relay.replay-page",
	"relay.replayed",
	"relay.wave",
	"retain.chunk",
}
