package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"renga.dev/renga/api"
	"renga.dev/renga/internal/platform/fault"
)

// Flags are those of every command. The program's root struct embeds them.
type Flags struct {
	Server    string `env:"RENGA_SERVER" default:"${url}" placeholder:"URL" group:"server"`
	Token     string `env:"RENGA_TOKEN" placeholder:"JWT" group:"server"`
	TokenFile string `env:"RENGA_TOKEN_FILE" placeholder:"FILE" type:"path" group:"server"`
	CAFile    string `name:"ca-file" env:"RENGA_CA_FILE" placeholder:"FILE" type:"path" group:"server"`
	Tenant    string `env:"RENGA_TENANT" placeholder:"UUID" group:"server"`
	As        string `env:"RENGA_USER" placeholder:"USER" group:"server"`
	Output    string `name:"format" short:"o" default:"table" enum:"${outputs}" group:"output"`
}

// Commands are the commands of this package. The program's root struct embeds them.
type Commands struct {
	Graph      graphCmd      `cmd:"" help:"Check, play, register and read graphs."`
	Execution  executionCmd  `cmd:"" help:"Create, control, read and follow executions."`
	Waits      waitsCmd      `cmd:"" help:"List the nodes that wait for somebody."`
	Bulk       bulkCmd       `cmd:"" help:"Apply one operation to many executions."`
	Events     eventsCmd     `cmd:"" help:"Follow events, see their consumers, replay them."`
	DLQ        dlqCmd        `cmd:"" name:"dlq" help:"List, redrive and skip dead letters."`
	Trigger    triggerCmd    `cmd:"" help:"Start graphs by the events of other systems."`
	Message    messageCmd    `cmd:"" help:"Send messages to the nodes that wait for them, and see what became of them."`
	Schedule   scheduleCmd   `cmd:"" help:"Start graphs at the times of a clock, and see the outcome of each time."`
	Webhooks   webhooksCmd   `cmd:"" help:"Post events to endpoints outside, signed, and see what became of them."`
	Template   templateCmd   `cmd:"" help:"Store and read the templates that workflow events start."`
	Event      eventCmd      `cmd:"" help:"Send workflow events and see their outcomes."`
	Strategy   strategyCmd   `cmd:"" help:"Register and list strategies."`
	Recheck    recheckCmd    `cmd:"" help:"Re-check strategies, and see the results."`
	Metadata   metadataCmd   `cmd:"" help:"Define and read users, roles, fields, permissions, rules and processes."`
	Record     recordCmd     `cmd:"" help:"Create, read, change and delete records."`
	Sharing    sharingCmd    `cmd:"" help:"See who may see which record and why; territories and rebuilds."`
	Automation automationCmd `cmd:"" help:"Your inbox and tasks; runs of rules and scheduled jobs."`
	Demo       demoCmd       `cmd:"" help:"Fill a tenant with sample data."`
	Search     searchCmd     `cmd:"" help:"Find records by their texts; rebuild the index."`
	Report     reportCmd     `cmd:"" help:"Reports: pipeline, forecast, won and lost, leads, campaigns, approvals."`
	Approval   approvalCmd   `cmd:"" help:"Submit records for approval, and decide on approvals."`
	Audit      auditCmd      `cmd:"" help:"Read the audit log."`
	Worker     workerCmd     `cmd:"" help:"Run a worker."`
	Tasks      tasksCmd      `cmd:"" help:"Work tasks by hand."`
	Whoami     whoamiCmd     `cmd:"" help:"Say who you are to the server."`
	Token      tokenCmd      `cmd:"" help:"Make a token and keys, for development and tests."`
	Completion completionCmd `cmd:"" help:"Print a script that lets a shell complete commands and flags."`
	Complete   completeCmd   `cmd:"" name:"__complete" hidden:"" passthrough:"all"`
}

// Program is the binary around the commands.
type Program struct {
	Root    any    // pointer to the struct of all commands; it embeds Flags and Commands
	Flags   *Flags // those inside Root
	Version string // what --version prints
	In      io.Reader
	Out     io.Writer
	Err     io.Writer
	Bind    []any // for the Run methods of other commands

	FlagHelp FlagHelp // of other commands

	now    func() time.Time // nil: the machine's clock
	screen *screen          // nil: what the streams are
	asks   bool             // somebody answers questions, though standard input is no terminal
}

// App is what a command's Run gets.
type App struct {
	*Flags
	In         io.Reader
	Out        io.Writer
	Err        io.Writer
	screen     screen // what standard output can do
	notice     screen // what standard error can do
	asks       bool   // somebody is there to answer a question
	silent     bool   // what is said is not to be read (remote.learn)
	keyed      bool   // the command takes an idempotency key
	ownKey     bool   // the user has given it
	eventToken string // of workflow events and templates
	flaw       error  // of the flags that say where to connect and as whom
	now        func() time.Time
}

// description introduces the program; the exit codes are part of its interface.
const description = `An event-driven spine for business systems in which cancel always wins.

Exit codes:

  0   done; of watch and simulate: COMPLETED
  1   something failed that no other code names
  2   the command line or the input is wrong
  3   what was named does not exist
  4   refused: a guard said no, or a key was used with another body
  5   no server answers, or it cannot do it now; try again
  6   the token is missing, expired or lacks a scope
  10  the execution FAILED (watch, simulate)
  11  the execution was CANCELED (watch, simulate)
  12  the execution is still ACTIVE (watch --timeout, simulate)
  13  the event was a duplicate: its key has started a run before (event send)
  130 interrupted`

// exit is what kong wants the exit code to be, after --help.
type exit int

// Run is the program: its arguments in, its exit code out.
func Run(ctx context.Context, p Program, args []string) int {
	if len(args) == 1 && args[0] == "--version" { // no flag, since graphs have versions too
		fmt.Fprintln(p.Out, p.Version)
		return exitOK
	}
	app := &App{Flags: p.Flags, In: p.In, Out: p.Out, Err: p.Err, now: p.now}
	if p.now == nil {
		app.now = time.Now
	}
	app.screen, app.notice = look(p.Out, os.Getenv), look(p.Err, os.Getenv)
	if p.screen != nil {
		app.screen = *p.screen
	}
	app.asks = p.asks || app.notice.terminal && isTerminal(p.In)
	parser, err := kong.New(p.Root,
		kong.Name("renga"),
		kong.Description(description),
		texts(strings.Join(api.Scopes(), ", "), person()),
		kong.Writers(p.Out, p.Err),
		kong.ConfigureHelp(kong.HelpOptions{
			Compact: true, NoExpandSubcommands: true, NoAppDescFormat: true,
			FlagsLast: true,
		}),
		kong.ExplicitGroups([]kong.Group{{Key: "server", Title: "Server:"}, {Key: "output", Title: "Output:"}}),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(append(p.Bind, app)...),
		// for commands that Run with one
		kong.BindToProvider(func(a *App) (*remote, error) { return a.connect(retryFor), nil }),
		kong.Exit(func(code int) { panic(exit(code)) }),
		kong.PostBuild(p.FlagHelp.add),
	)
	if err != nil {
		panic(err) // the tags of the commands are wrong
	}
	return app.run(ctx, parser, args)
}

func (a *App) run(ctx context.Context, parser *kong.Kong, args []string) (code int) {
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
	var wrong *kong.ParseError
	if errors.As(err, &wrong) {
		return a.misused(wrong)
	}
	if err == nil {
		for _, flag := range chosen.Selected().Flags {
			switch flag.Name {
			case "idempotency-key":
				a.keyed, a.ownKey = true, flag.Target.String() != ""
			case "event-token":
				a.eventToken = flag.Target.String()
			}
		}
		if a.Output == asYAML && chosen.Selected().FullPath() != "renga graph show" {
			return a.report(usage("only renga graph show prints YAML: use -o json or -o table"))
		}
		err = chosen.Run()
		if _, own := fault.As(err); err != nil && a.flaw != nil && !own {
			err = a.flaw
		}
	}
	if err != nil && ctx.Err() != nil {
		return exitInterrupted
	}
	return a.report(err)
}

func (a *App) misused(wrong *kong.ParseError) int {
	path := "renga"
	if node := wrong.Context.Selected(); node != nil {
		path = node.FullPath()
	}
	return a.report(usage("%v; see %s --help", wrong, path))
}

// say writes a line about what is under way to standard error.
func (a *App) say(format string, args ...any) {
	if !a.silent {
		fmt.Fprintln(a.Err, a.notice.sprintf(format, args...))
	}
}

// ask asks on standard error; only a plain yes counts.
func (a *App) ask(question string) bool {
	fmt.Fprintf(a.Err, "%s [y/N] ", question)
	answer, _ := bufio.NewReader(a.In).ReadString('\n')
	return slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(answer)))
}
