package cli

import (
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
	if b.tracker != nil {
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
