package jet

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// How many lines a minute the server inside may write: whoever reaches it can make it
// complain as often as they like.
const (
	loginLines = 5  // of refused logins
	otherLines = 60 // of everything else
)

// bridge passes on what the server inside warns of, some of it, and drops the rest.
type bridge struct {
	log    *slog.Logger
	fatal  error // why it did not start; read after Start
	logins quota
	others quota
}

// Warnf passes a warning on.
func (b *bridge) Warnf(format string, v ...any) {
	b.pass(&b.others, otherLines, slog.LevelWarn, "NATS server warns", fmt.Sprintf(format, v...))
}

// Errorf passes an error on. That somebody is not let in is none of the server.
func (b *bridge) Errorf(format string, v ...any) {
	text := fmt.Sprintf(format, v...)
	if strings.Contains(text, server.ErrAuthentication.Error()) {
		b.pass(&b.logins, loginLines, slog.LevelWarn, "NATS login refused", text)
		return
	}
	b.pass(&b.others, otherLines, slog.LevelError, "NATS server failed", text)
}

// Fatalf is called only by Start, which gives up then.
func (b *bridge) Fatalf(format string, v ...any) { b.fatal = fmt.Errorf(format, v...) }

// Noticef drops a notice.
func (b *bridge) Noticef(string, ...any) {}

// Debugf drops it.
func (b *bridge) Debugf(string, ...any) {}

// Tracef drops it.
func (b *bridge) Tracef(string, ...any) {}

// pass writes a line if there is room for it, with how many before it found none.
func (b *bridge) pass(q *quota, most int, level slog.Level, message, text string) {
	unlogged, ok := q.reserve(time.Now(), most)
	if !ok {
		return
	}
	attrs := []slog.Attr{slog.String("error", text)}
	if unlogged > 0 {
		attrs = append(attrs, slog.Int("unlogged", unlogged))
	}
	b.log.LogAttrs(context.Background(), level, message, attrs...)
}

// quota is how many lines of a kind were written in a minute.
type quota struct {
	mu       sync.Mutex
	began    time.Time // the minute
	n        int
	unlogged int
}

// reserve reports whether one more may be written, and how many were not since the last.
func (q *quota) reserve(now time.Time, most int) (unlogged int, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if now.Sub(q.began) >= time.Minute {
		q.began, q.n = now, 0
	}
	if q.n >= most {
		q.unlogged++
		return 0, false
	}
	q.n++
	unlogged, q.unlogged = q.unlogged, 0
	return unlogged, true
}
