// Command renga is the whole system in one binary: commands come in once,
// decisions are pure, every change is an event in one log, and cancel always wins.
//
// Each command of the binary has a file of its own; this one only chooses. The
// parts are made and put together here and nowhere else.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/alecthomas/kong"
)

// version is the version of the product and of its contract (info.version).
const version = "0.1.0"

// cli is the command line.
type cli struct {
	Serve   serveCmd   `cmd:"" help:"Run the system: HTTP, engine and database in this process."`
	Bench   benchCmd   `cmd:"" help:"Measure this machine: throughput, latency, and what it could do bare."`
	Verify  verifyCmd  `cmd:"" help:"Reduce every execution again from its log and compare it with what is stored."`
	Version versionCmd `cmd:"" help:"Print the version."`

	BenchEcho echoCmd `cmd:"" name:"bench-echo" hidden:""`
}

func main() {
	// The first signal ends ctx and gives the signals back to the system, so a
	// second one ends the process at once.
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is the program: its arguments in, its exit code out.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	parser, err := kong.New(&cli{},
		kong.Name("renga"),
		kong.Description("An event-driven spine for business systems in which cancel always wins."),
		kong.Writers(stdout, stderr),
		kong.UsageOnError(),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(streams{stdout, stderr}),
		kong.Exit(func(code int) { panic(exit(code)) }),
	)
	if err != nil {
		panic(err) // the tags of cli are wrong
	}
	code := 0
	func() {
		defer func() {
			if p := recover(); p != nil {
				asked, ok := p.(exit)
				if !ok {
					panic(p)
				}
				code = int(asked)
			}
		}()
		chosen, err := parser.Parse(args)
		parser.FatalIfErrorf(err)
		if err := chosen.Run(); err != nil {
			fmt.Fprintf(stderr, "renga: %v\n", err)
			code = 1
		}
	}()
	return code
}

// exit is what kong wants the exit code to be, after --help or a wrong flag.
type exit int

// streams are where a command writes.
type streams struct{ out, err io.Writer }

// versionCmd is `renga version`.
type versionCmd struct{}

// Run prints the version and where the build came from.
func (versionCmd) Run(s streams) error {
	revision := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, setting := range info.Settings {
			if setting.Key == "vcs.revision" {
				revision = " (" + setting.Value + ")"
			}
		}
	}
	_, err := fmt.Fprintf(s.out, "renga %s%s\n", version, revision)
	return err
}
