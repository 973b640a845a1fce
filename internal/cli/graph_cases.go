package cli

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/workflow/flow"
	"renga.dev/renga/internal/workflow/play"
)

type graphTestCmd struct {
	Paths []string `arg:"" name:"path" help:"Folders with graphs and their cases, or files of cases."`
	JUnit string   `name:"junit" placeholder:"FILE" help:"Write the results as JUnit's XML as well."`
}

func (graphTestCmd) Help() string {
	return `The cases of order.yaml stand beside it in order.test.yaml (or .json). Each is a script of renga graph
simulate and what it must lead to; what expect does not name is not compared:

  cases:
    - name: A card without money ends the order, and nothing is shipped
      input: {total: 4200}
      outcomes:
        charge: [fail:NO_MONEY, final:NO_MONEY]     # one for each attempt, as --outcome has them
        approve: 'resume@2h:{"approved":true}'
      cancelAfter: 20                               # cancel at this event; also taskTime and lease
      expect:
        status: FAILED                              # COMPLETED, FAILED, CANCELED, ACTIVE
        outcome: paid                               # of the Success node
        result: {receipt: R-1}                      # of the execution
        errorCode: NO_MONEY
        failedNodeId: charge
        nodes: {charge: FAILED, ship: CREATED}      # how they end; CREATED: never reached
        attempts: {charge: 2}
        cleanup: undo-order                         # the graph that the cancel started
        took: 2h0m1s                                # of virtual time

The exit code is 0 when every case ends as it should, 1 when one does not, and 2 when a file is wrong.

Examples:
  renga graph test graphs
  renga graph test graphs/order.test.yaml -o json
  renga graph test graphs --junit graphs.xml`
}

// graphCase is one way that an execution of a graph may go, and how it must end.
type graphCase struct {
	Name string `json:"name"`
	play.Script
	Expect expectation `json:"expect"`
}

// expectation is what must hold after a play; what is zero is not compared.
type expectation struct {
	Status       string            `json:"status"`
	Outcome      *string           `json:"outcome"`
	Result       jsontext.Value    `json:"result"`
	ErrorCode    *string           `json:"errorCode"`
	FailedNodeID *string           `json:"failedNodeId"`
	Nodes        map[string]string `json:"nodes"`
	Attempts     map[string]int    `json:"attempts"`
	Cleanup      *string           `json:"cleanup"` // the graph that a cancel started
	Took         *flow.Duration    `json:"took"`
}

type caseResult struct {
	File     string   `json:"file"`
	Case     string   `json:"case"`
	Passed   bool     `json:"passed"`
	Failures []string `json:"failures,omitempty"`
	Took     string   `json:"took"`
	seconds  float64
}

func (c *graphTestCmd) Run(a *App) error {
	files, err := caseFiles(c.Paths)
	if err != nil {
		return err
	}
	results := []caseResult{}
	for _, file := range files {
		some, err := a.playCases(file)
		if err != nil {
			return err
		}
		results = append(results, some...)
	}
	if c.JUnit != "" {
		if err := writeJUnit(c.JUnit, results); err != nil {
			return err
		}
	}
	failed := 0
	for i := range results {
		if !results[i].Passed {
			failed++
		}
	}
	err = a.print(map[string]any{"items": results}, func(p *printer) {
		caseColumns.print(p, results)
		p.line("\n%s, %d failed", count(len(results), "case", "cases"), failed)
	})
	if err == nil && failed > 0 {
		return ended(exitFailure)
	}
	return err
}

var caseColumns = columns("FILE, CASE, RESULT, WHAT", func(r *caseResult) []any {
	if r.Passed {
		return []any{r.File, r.Case, coloured{green, "ok"}, "after " + r.Took}
	}
	return []any{r.File, r.Case, coloured{red, "failed"}, strings.Join(r.Failures, "; ")}
})

const caseMark = ".test"

// caseFiles are the files of cases that paths name, in the order of their names.
func caseFiles(paths []string) (files []string, err error) {
	for _, path := range paths {
		before := len(files)
		err := filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() && (name == path || strings.HasSuffix(stem(name), caseMark)) {
				files = append(files, name)
			}
			return err
		})
		if err != nil {
			return nil, cannotRead(path, err)
		}
		if len(files) == before {
			return nil, usage("%s has no cases: those of order.yaml stand in order%s.yaml beside it", path, caseMark)
		}
	}
	return files, nil
}

// playCases plays the cases of a file on the graph beside it.
func (a *App) playCases(file string) ([]caseResult, error) {
	name, marked := strings.CutSuffix(stem(file), caseMark)
	if !marked {
		return nil, usage("%s: a file of cases is called like its graph, such as order%s.yaml", file, caseMark)
	}
	raw, err := a.read(file)
	if err != nil {
		return nil, err
	}
	if isYAML(file, raw) {
		if raw, err = flow.YAMLToJSON(raw); err != nil {
			return nil, inFile(file, err)
		}
	}
	var written struct {
		Cases []graphCase `json:"cases"`
	}
	if err := canonical.Decode(raw, &written); err != nil {
		return nil, inFile(file, err)
	}
	if len(written.Cases) == 0 {
		return nil, usage("%s has no cases", file)
	}
	plan, err := a.planBeside(file, name)
	if err != nil {
		return nil, err
	}
	var results []caseResult
	for i := range written.Cases {
		one := &written.Cases[i]
		one.Name = cmp.Or(one.Name, fmt.Sprintf("case %d", i+1))
		r := caseResult{File: file, Case: one.Name}
		if r.Failures, err = one.play(plan, &r); err != nil {
			return nil, inFile(fmt.Sprintf("%s: %s", file, one.Name), err)
		}
		r.Passed = len(r.Failures) == 0
		results = append(results, r)
	}
	return results, nil
}

// planBeside is the graph that a file of cases is about.
func (a *App) planBeside(file, name string) (*flow.Plan, error) {
	for _, ext := range []string{".yaml", ".yml", ".json"} {
		beside := filepath.Join(filepath.Dir(file), name+ext)
		if _, err := os.Stat(beside); err != nil {
			continue
		}
		source, err := a.graph(beside, "")
		if err != nil {
			return nil, err
		}
		plan, err := source.graph.Compile(source.id, 1)
		return plan, inFileIf(beside, err)
	}
	return nil, usage("%s: there is no graph %s.yaml or %s.json beside it", file, name, name)
}

func inFileIf(name string, err error) error {
	if err == nil {
		return nil
	}
	return inFile(name, err)
}

// play says in what an execution ends otherwise than it should.
func (c *graphCase) play(plan *flow.Plan, r *caseResult) ([]string, error) {
	if err := c.Expect.check(plan); err != nil {
		return nil, err
	}
	p, err := play.New(plan, &c.Script, play.Limits{})
	if err != nil {
		return nil, err
	}
	started := time.Now()
	if err := p.Run(flow.Data(c.Input)); err != nil {
		return nil, err
	}
	r.Took, r.seconds = p.Took().String(), time.Since(started).Seconds()
	return c.Expect.compare(p), nil
}

// check refuses what no execution of the graph can lead to.
func (e *expectation) check(plan *flow.Plan) error {
	if e.Status == "" {
		return usage("expect.status is missing: COMPLETED, FAILED, CANCELED or ACTIVE")
	}
	if !slices.Contains([]string{"COMPLETED", "FAILED", "CANCELED", "ACTIVE"}, e.Status) {
		return usage("expect.status %q is none of COMPLETED, FAILED, CANCELED and ACTIVE", e.Status)
	}
	names := slices.Sorted(maps.Keys(e.Nodes))
	names = slices.AppendSeq(names, maps.Keys(e.Attempts))
	for _, name := range names {
		if _, ok := plan.Node(name); !ok {
			return usage("expect names the node %q, which the graph does not have", name)
		}
	}
	return nil
}

func (e *expectation) compare(p *play.Play) (failures []string) {
	s := &p.State
	differ := func(what, got, want string) {
		if got != want {
			failures = append(failures, fmt.Sprintf("%s is %s, not %s", what, cmp.Or(got, "nothing"), want))
		}
	}
	differ("status", s.Status.String(), e.Status)
	if e.Outcome != nil {
		differ("outcome", s.Outcome, *e.Outcome)
	}
	if e.ErrorCode != nil {
		code := ""
		if s.Error != nil {
			code = s.Error.Code
		}
		differ("errorCode", code, *e.ErrorCode)
	}
	if e.FailedNodeID != nil {
		differ("failedNodeId", s.FailedNode, *e.FailedNodeID)
	}
	if e.Result != nil {
		differ("result", canonicalText(p.Result()), canonicalText(e.Result))
	}
	for _, name := range slices.Sorted(maps.Keys(e.Nodes)) {
		n, _ := s.Find(name)
		differ(name, n.Status.String(), e.Nodes[name])
	}
	for _, name := range slices.Sorted(maps.Keys(e.Attempts)) {
		n, _ := s.Find(name)
		differ("attempts of "+name, fmt.Sprint(n.Attempt), fmt.Sprint(e.Attempts[name]))
	}
	if e.Cleanup != nil {
		differ("cleanup", p.Cleanup(), *e.Cleanup)
	}
	if e.Took != nil {
		differ("took", p.Took().String(), time.Duration(*e.Took).String())
	}
	return failures
}

// canonicalText is JSON in its canonical form, to compare.
func canonicalText(value []byte) string {
	v := jsontext.Value(slices.Clone(value))
	if v.Canonicalize() != nil {
		return string(value)
	}
	return string(v)
}
