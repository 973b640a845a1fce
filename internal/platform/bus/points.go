package bus

// Points are the failpoints of Config.Passed.
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
