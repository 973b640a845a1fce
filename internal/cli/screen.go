package cli

import (
	"io"
	"os"

	"golang.org/x/term"
)

// screen is what a stream can do: nothing special, unless it is a terminal.
type screen struct {
	terminal bool
	colours  bool
	width    int // columns; 0: no limit
	height   int // lines; 0: no limit
	names    *names
}

// look asks what a stream can do. NO_COLOR set to anything and TERM=dumb turn
// colours off (https://no-color.org).
func look(w io.Writer, env func(string) string) screen {
	if !isTerminal(w) {
		return screen{}
	}
	dumb := env("TERM") == "dumb"
	return screen{terminal: !dumb, colours: !dumb && env("NO_COLOR") == ""}.measured(w)
}

// measured is a screen with the size that a stream has now: a window may have changed.
func (s screen) measured(w io.Writer) screen {
	if file, ok := w.(*os.File); ok {
		if width, height, err := term.GetSize(int(file.Fd())); err == nil {
			s.width, s.height = width, height
		}
	}
	return s
}

func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// colour is the number of a terminal's attribute.
type colour string

// The colours in use.
const (
	bold    colour = "1"
	faint   colour = "2"
	red     colour = "31"
	green   colour = "32"
	yellow  colour = "33"
	blue    colour = "34"
	magenta colour = "35"
	cyan    colour = "36"
)

func (s screen) paint(c colour, text string) string {
	if !s.colours || text == "" || c == "" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

// statusColours are the colours of the statuses of executions, nodes, bulks and dead letters.
var statusColours = map[string]colour{
	"ACTIVE": cyan, "COMPLETED": green, "FAILED": red, "CANCELED": yellow,
	"CREATED": faint, "READY": blue, "RUNNING": cyan, "WAITING": magenta, "SUCCEEDED": green,
	"FREEZING": cyan, "PREVIEW": magenta, "STOPPED": yellow, "DONE": green, "TOO_LARGE": red,
	"PENDING": faint, "APPLIED": green, "ALREADY": green, "REFUSED": yellow,
	"OPEN": red, "REDRIVING": cyan, "SKIPPING": cyan, "SKIPPED": yellow, "STALE": faint, "DUPLICATE": faint,
}
