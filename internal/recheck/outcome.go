package recheck

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"mime"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/flow"
)

// Named maxima of what a worker found out. A page of 100 results is about a mebibyte.
const (
	MaxResult       = 8 << 10   // bytes of the canonical form, without the contents of artifacts
	MaxArtifacts    = 8         // of one result
	MaxArtifact     = 256 << 10 // bytes
	MaxArtifactName = 200       // characters
	MaxMediaType    = 127       // characters
	maxErrorCode    = 64        // characters; longer ones are cut
	maxErrorMessage = 1000
)

// The codes of items that failed for no reason that a worker gave.
const (
	CodeBadResult = "BAD_RESULT" // what the worker found out cannot be used
	CodeFailed    = "FAILED"     // the worker gave no code
)

// Failure is why an item failed.
type Failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// outcome is how one item ended, or how far it is.
type outcome struct {
	status    ItemStatus
	result    jsontext.Value // an object; nil: none. Artifacts are not in it
	failure   *Failure
	health    Health          // "": as it was
	metrics   jsontext.Value  // nil: as they were
	at        canonical.Stamp // when it ended
	artifacts []Artifact
}

// outcomeOf is what the state of a node says of its item. output is what it put out.
func outcomeOf(n *flow.Node, output flow.Data) outcome {
	o := outcome{at: canonical.Stamp(n.Cause.At)}
	switch n.Status {
	case flow.NodeIsSucceeded:
		if err := o.read(output); err != nil {
			failure := &Failure{CodeBadResult, clip(messageOf(err), maxErrorMessage)}
			o = outcome{at: o.at, status: ItemFailed, failure: failure}
		}
	case flow.NodeIsFailed:
		e := cmp.Or(n.Error, &flow.Error{})
		o.status, o.failure = ItemFailed, newFailure(e.Code, e.Message)
	case flow.NodeIsCanceled:
		o.status = ItemCanceled
	case flow.NodeIsRunning, flow.NodeIsWaiting:
		o.status = ItemRunning
	default:
		o.status = ItemQueued
		if n.Attempt > 0 { // between two attempts
			o.status = ItemRunning
		}
	}
	return o
}

func newFailure(code, message string) *Failure {
	return &Failure{
		cmp.Or(clip(code, maxErrorCode), CodeFailed), cmp.Or(clip(message, maxErrorMessage), "the check failed"),
	}
}

// resultDoc is what this package knows of a result; there may be more in it.
type resultDoc struct {
	Health    *Health        `json:"health"`
	Metrics   jsontext.Value `json:"metrics"`
	Artifacts []artifactDoc  `json:"artifacts"`
	Error     *Failure       `json:"error"`
}

type artifactDoc struct {
	Name      string `json:"name"`
	MediaType string `json:"media_type"`
	Content   string `json:"content"`
}

// read takes what a worker put out, and says what is wrong with it.
func (o *outcome) read(output flow.Data) error {
	if len(output) == 0 {
		output = flow.Data("{}")
	}
	plain, err := canonical.Canonical(nil, output, canonical.Options{})
	if err != nil {
		return err
	}
	var doc resultDoc
	if err := json.Unmarshal(plain, &doc); err != nil {
		return unfit("the result is not of the form that docs/recheck.md has")
	}
	omit := canonical.Options{Omit: []string{"artifacts", "error"}}
	if o.result, err = canonical.Canonical(nil, plain, omit); err != nil {
		return err
	}
	o.status = ItemSucceeded
	if doc.Error != nil {
		o.status, o.failure = ItemFailed, newFailure(doc.Error.Code, doc.Error.Message)
		if string(o.result) == "{}" {
			o.result = nil
		}
	}
	if err := o.readFindings(&doc); err != nil {
		return err
	}
	if err := o.readArtifacts(doc.Artifacts); err != nil {
		return err
	}
	if o.shownSize() > MaxResult {
		return unfit("the result is larger than %d bytes without the contents of its artifacts", MaxResult)
	}
	return nil
}

// shownSize is about how many bytes readers get of the result: artifacts are named in it.
func (o *outcome) shownSize() int {
	const beside = len(`{"artifact_id":"01K9YQ3T5V7X9Z1B3D5F7H9J1E","name":"","media_type":"","size":262144},`)
	n := len(o.result)
	for i := range o.artifacts {
		n += beside + len(o.artifacts[i].Name) + len(o.artifacts[i].MediaType)
	}
	return n
}

func (o *outcome) readFindings(doc *resultDoc) error {
	if doc.Health != nil {
		if o.health = *doc.Health; !slices.Contains(Healths, o.health) {
			return unfit("health must be healthy, degraded or unknown")
		}
	}
	if doc.Metrics.Kind() == jsontext.KindNull {
		return nil
	}
	o.metrics = doc.Metrics
	return checkObject("metrics", doc.Metrics, MaxMetrics)
}

func (o *outcome) readArtifacts(docs []artifactDoc) error {
	if len(docs) > MaxArtifacts {
		return unfit("artifacts must be at most %d", MaxArtifacts)
	}
	for i := range docs {
		d := &docs[i]
		content, err := base64.StdEncoding.DecodeString(d.Content)
		switch {
		case !canonical.OneLine(d.Name, 1, MaxArtifactName):
			return unfit("artifacts[%d].name must be 1 to %d characters on one line", i, MaxArtifactName)
		case !validMedia(d.MediaType):
			return unfit("artifacts[%d].media_type must be a media type such as text/html", i)
		case err != nil:
			return unfit("artifacts[%d].content must be base64", i)
		case len(content) > MaxArtifact:
			return unfit("artifacts[%d].content is larger than %d bytes", i, MaxArtifact)
		}
		o.artifacts = append(o.artifacts, Artifact{d.Name, d.MediaType, content})
	}
	return nil
}

func validMedia(text string) bool {
	media, _, err := mime.ParseMediaType(text)
	return err == nil && len(text) <= MaxMediaType && strings.Count(media, "/") == 1
}

// ArtifactRef names an artifact in a result.
type ArtifactRef struct {
	ID        string `json:"artifact_id"`
	Name      string `json:"name"`
	MediaType string `json:"media_type"`
	Size      int    `json:"size"`
}

// withArtifacts is a result that names the artifacts that were stored of it.
func withArtifacts(result jsontext.Value, refs []ArtifactRef) (jsontext.Value, error) {
	if len(refs) == 0 {
		return result, nil
	}
	list, err := json.Marshal(refs)
	if err != nil {
		return nil, err
	}
	members := map[string]jsontext.Value{}
	if result != nil {
		if err := json.Unmarshal(result, &members); err != nil {
			return nil, fmt.Errorf("recheck: a result is no object: %w", err)
		}
	}
	members["artifacts"] = list
	return json.Marshal(members, json.Deterministic(true))
}

// check is what a strategy is after a check of it; changed is false when a newer one
// was there before.
func (o *outcome) check(was Strategy) (s Strategy, changed bool) {
	if o.status != ItemSucceeded || was.LastCheckedAt != nil && *was.LastCheckedAt > o.at {
		return was, false
	}
	s = was
	s.LastCheckedAt = &o.at
	if o.health != "" {
		s.Health = o.health
	}
	if o.metrics != nil {
		s.Metrics = o.metrics
	}
	return s, true
}

// clip cuts a text that has more characters than a limit.
func clip(s string, limit int) string {
	n := 0
	for i := range s {
		if n == limit {
			return s[:i]
		}
		n++
	}
	return s
}

// messageOf is what a caller may see of an error.
func messageOf(err error) string {
	if failure, ok := fault.As(err); ok && failure.Message != "" && failure.Kind == fault.Invalid {
		return failure.Message
	}
	return "the result cannot be read"
}
