// Package program is the command line of the binary: what runs a server here, what looks at its data,
// and the commands that every caller of a server has (internal/cli). Each command has a file of its own.
// The program that serve runs is put together in internal/app.
package program

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"renga.dev/renga/internal/app"
	"renga.dev/renga/internal/bench"
	"renga.dev/renga/internal/cli"
	"renga.dev/renga/web"
)

// commands is the command line: what runs a server here, what looks at its
// data, and the commands that every caller of a server has (internal/cli).
type commands struct {
	cli.Flags

	Serve serveCmd `cmd:"" help:"Run the system: HTTP, engine and database in this process."`
	cli.Commands
	Verify  verifyCmd     `cmd:"" help:"Replay the log of every execution and compare it with what is stored."`
	Check   checkCmd      `cmd:"" help:"Recount the services' data from the records, and compare."`
	Bench   bench.Command `cmd:"" help:"Measure this machine: throughput and latency, against bare commits."`
	Version versionCmd    `cmd:"" help:"Print the version."`

	BenchEcho bench.Echo `cmd:"" name:"bench-echo" hidden:""`
}

// Main runs the process's command line until it is done or a signal ends it, and gives its exit code.
func Main() int {
	return Run(untilSignal(), os.Args[1:], os.Stdout, os.Stderr)
}

// untilSignal ends with the first signal. Before that it gives the signals back to the system, so
// a second one ends the process at once, however soon it comes.
func untilSignal() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	came := make(chan os.Signal, 2)
	signal.Notify(came, syscall.SIGTERM, os.Interrupt)
	go func() {
		<-came
		signal.Stop(came)
		select {
		case second := <-came: // it came in between
			_ = syscall.Kill(os.Getpid(), second.(syscall.Signal))
		default:
		}
		cancel()
	}()
	return ctx
}

// Run is the program: its arguments in, its exit code out.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := &commands{}
	return cli.Run(ctx, cli.Program{
		Root: root, Flags: &root.Flags, Version: versionLine(),
		In: os.Stdin, Out: stdout, Err: stderr, Bind: []any{streams{stdout, stderr}},
		FlagHelp: cli.FlagHelp{"serve": serveHelp, "bench": bench.FlagHelp},
	}, args)
}

// streams are where a command writes.
type streams struct{ out, err io.Writer }

// versionCmd is `renga version`.
type versionCmd struct{}

// Help shows examples.
func (versionCmd) Help() string {
	return `Examples:
  renga version
  renga version -o json
  renga --version`
}

// Run prints the version, where the build came from, and which console is in it.
func (versionCmd) Run(a *cli.App, s streams) error {
	made := struct {
		Version  string `json:"version"`
		Revision string `json:"revision,omitzero"`
		Console  string `json:"console"`
	}{app.Version, revision(), consoleDigest()}
	return a.Answer(made, func() error {
		_, err := fmt.Fprintf(s.out, "%s\nconsole: %s\n", versionLine(), made.Console)
		return err
	})
}

// consoleDigest says which web console is in this build, by the digest of its sources; "none" when there is none.
func consoleDigest() string {
	c, _ := web.Open(app.Version) // without an archive it is none
	return c.Digest
}

// versionLine is the version and where the build came from.
func versionLine() string {
	line := "renga " + app.Version
	if from := revision(); from != "" {
		line += " (" + from + ")"
	}
	return line
}

// revision is the commit that was built; "" when the build does not say.
func revision() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, setting := range info.Settings {
			if setting.Key == "vcs.revision" {
				return setting.Value
			}
		}
	}
	return ""
}
