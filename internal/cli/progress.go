package cli

import (
	"context"
	"time"

	"github.com/jedib0t/go-pretty/v6/progress"
)

// Bar is a progress bar on standard error, where that is a terminal; elsewhere
// it shows nothing.
type Bar struct {
	writer  progress.Writer
	tracker *progress.Tracker
	done    chan struct{}
}

// Bar begins to show how far something is. Without a total it counts.
func (a *App) Bar(what string, total int) *Bar {
	if !a.notice.terminal || a.Output == "json" {
		return &Bar{}
	}
	b := &Bar{writer: progress.NewWriter(), done: make(chan struct{})}
	b.tracker = &progress.Tracker{Message: what, Total: int64(total), AutoStopDisabled: true}
	b.writer.SetAutoStop(true)
	b.writer.SetOutputWriter(a.Err)
	b.writer.SetUpdateFrequency(100 * time.Millisecond)
	b.writer.SetTerminalWidth(a.notice.width)
	b.writer.SetTrackerPosition(progress.PositionRight)
	style := progress.StyleBlocks
	style.Options.Separator = " "
	style.Visibility.ETA = total > 0
	style.Visibility.Percentage = total > 0
	b.writer.SetStyle(style)
	b.writer.AppendTracker(b.tracker)
	go func() { defer close(b.done); b.writer.Render() }()
	return b
}

// Set says how far it is.
func (b *Bar) Set(n int) {
	if b != nil && b.tracker != nil {
		b.tracker.SetValue(int64(n))
	}
}

// End leaves the bar as it is and gives the terminal back.
func (b *Bar) End() {
	if b.tracker == nil {
		return
	}
	b.tracker.MarkAsDone()
	<-b.done // it stops by itself when there is nothing more to show
}

// polling is something that is looked at until it has ended.
type polling[T any] struct {
	what string // the title of the bar that shows how far it is; "": there is none
	read func() (T, error)
	far  func(T) (done, total int, ended bool)
	most time.Duration // the longest pause between two looks; they begin with pollEvery
}

// pollEvery is how often something is looked at first.
const pollEvery = 200 * time.Millisecond

// poll looks until it has ended and gives what it saw last.
func poll[T any](ctx context.Context, a *App, p polling[T]) (T, error) {
	var bar *Bar
	for pause := pollEvery; ; pause = min(pause*5/4, p.most) {
		got, err := p.read()
		if err != nil {
			return got, err
		}
		done, total, ended := p.far(got)
		if ended {
			return got, nil
		}
		if bar == nil && p.what != "" {
			bar = a.Bar(p.what, total)
			defer bar.End()
		}
		bar.Set(done)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return got, ctx.Err()
		}
	}
}
