package cli

import (
	"encoding/xml"
	"fmt"
	"os"
	"strings"
)

type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Time    string        `xml:"time,attr"`
		Failure *junitFailure `xml:"failure"`
	}
	junitFailure struct {
		Message string `xml:"message,attr"`
	}
)

// writeJUnit writes results as build servers read them: a suite for each file.
func writeJUnit(file string, results []caseResult) error {
	var all junitSuites
	for _, r := range results {
		if n := len(all.Suites); n == 0 || all.Suites[n-1].Name != r.File {
			all.Suites = append(all.Suites, junitSuite{Name: r.File})
		}
		suite := &all.Suites[len(all.Suites)-1]
		one := junitCase{Class: r.File, Name: r.Case, Time: fmt.Sprintf("%.3f", r.seconds)}
		if !r.Passed {
			one.Failure = &junitFailure{strings.Join(r.Failures, "; ")}
			suite.Failures++
		}
		suite.Tests++
		suite.Cases = append(suite.Cases, one)
	}
	raw, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, append([]byte(xml.Header), append(raw, '\n')...), 0o644); err != nil {
		return usage("cannot write %s: %v", file, err)
	}
	return nil
}
