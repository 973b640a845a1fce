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

// Log lines per minute of the server inside: whoever reaches it can make it complain at will.
const (
	loginLines = 5  // refused logins
	otherLines = 60 // everything else
)

// bridge logs some warnings and errors of the server inside.
type bridge struct {
	log    *slog.Logger
	fatal  error // of Start
	logins quota
	others quota
}

func (b *bridge) Warnf(format string, v ...any) {
	b.pass(&b.others, otherLines, slog.LevelWarn, "NATS server warns", fmt.Sprintf(format, v...))
}

// Errorf logs an error. A refused login is not the server's failure.
func (b *bridge) Errorf(format string, v ...any) {
	text := fmt.Sprintf(format, v...)
	if strings.Contains(text, server.ErrAuthentication.Error()) {
		b.pass(&b.logins, loginLines, slog.LevelWarn, "NATS login refused", text)
		return
	}
	b.pass(&b.others, otherLines, slog.LevelError, "NATS server failed", text)
}

// Fatalf is called only by Start, which then gives up.
func (b *bridge) Fatalf(format string, v ...any) { b.fatal = fmt.Errorf(format, v...) }

func (b *bridge) Noticef(string, ...any) {}

func (b *bridge) Debugf(string, ...any) {}

func (b *bridge) Tracef(string, ...any) {}

// pass writes a line within its quota, with the number of lines dropped before.
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

type quota struct {
	mu       sync.Mutex
	began    time.Time // of the minute
	n        int
	unlogged int
}

// reserve reports whether a line may be written, and how many were dropped.
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
