package test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"renga.dev/renga/docs"
	"renga.dev/renga/internal/app"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/recheck/airflow/airflowtest"
)

// TestTheFilesForOperatorsUseMetricsThatThereAre holds alert rules and dashboard against the
// page of a running server that has been used, and that page against docs/words.md.
func TestTheFilesForOperatorsUseMetricsThatThereAre(t *testing.T) {
	page := usedServer(t)
	words, err := docs.Pages.ReadFile("words.md")
	if err != nil {
		t.Fatal(err)
	}
	for name := range page {
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			name = strings.TrimSuffix(name, suffix)
		}
		if ours.MatchString(name) && !strings.Contains(string(words), "`"+name+"`") {
			t.Errorf("docs/words.md does not list the metric %s", name)
		}
	}
	found := 0
	for where, expr := range expressions(t) {
		found++
		asks, err := readPromQL(expr)
		if err != nil {
			t.Errorf("%s: %v", where, err)
			continue
		}
		if len(asks.metrics) == 0 {
			t.Errorf("%s: %s reads no metric", where, expr)
		}
		var labels []string
		for _, metric := range asks.metrics {
			has, there := page[metric]
			if !there {
				t.Errorf("%s: there is no metric %s", where, metric)
			}
			labels = append(labels, has...)
			for _, label := range asks.labels[metric] {
				if !slices.Contains(has, label) && !slices.Contains(ofTheScrape, label) {
					t.Errorf("%s: %s has no label %s", where, metric, label)
				}
			}
		}
		for _, label := range asks.groups {
			if !slices.Contains(labels, label) && !slices.Contains(ofTheScrape, label) {
				t.Errorf("%s: %s groups by %s, which nothing in it has", where, expr, label)
			}
		}
	}
	if found < 40 {
		t.Errorf("found %d expressions: the test reads too little", found)
	}
}

// ours are the names of the program's own metrics.
var ours = regexp.MustCompile(`^(renga|pdca|airflow)_`)

// ofTheScrape are the labels that Prometheus adds itself.
var ofTheScrape = []string{"instance", "job"}

// usedServer gives the metrics of a server, with their labels, after all kinds of use.
func usedServer(t *testing.T) map[string][]string {
	t.Helper()
	at := newSite(t)
	plantConsumer(t, at)
	airflow := airflowtest.New(t, airflowtest.Config{End: func(airflowtest.Run, int) (string, any) {
		return "success",
			nil
	}})
	at.env = []string{
		"RENGA_AIRFLOW_URL=" + airflow.URL(), "RENGA_AIRFLOW_DAG=recheck", "RENGA_AIRFLOW_USER=renga",
		"RENGA_AIRFLOW_PASSWORD=airflow-pass",
	}
	s := serve(t, at)
	for _, call := range []struct{ method, path, body string }{
		{"PUT", "/pdca/strategies/strat.a", `{"name":"A"}`},
		{"GET", "/gui/strategies", ""},
		{"PUT", "/graphs/g", graphs["line"]},
		{"POST", "/executions", `{"graphId":"g"}`},
		{"POST", "/pdca/recheck", recheckOne},
	} {
		if status, _, answer := ask(t, s.url, call.method, call.path, call.body,
			"Idempotency-Key: 01J8TPZ7YJ1E1X4C5N9ZP3M3QJ"); status >= 300 {
			t.Fatalf("%s %s: got %d %s", call.method, call.path, status, answer)
		}
	}
	var text string
	eventually(t, "a call to Airflow, and the levels of bus and log", maxWait, func() bool {
		_, _, text = ask(t, s.url, "GET", "/metrics", "")
		return strings.Contains(text, "\nairflow_adapter_requests_total{") &&
			strings.Contains(text, "\nrenga_bus_outbox_unpublished") &&
			strings.Contains(text, "\nrenga_log_unpublished")
	})
	page := map[string][]string{"up": ofTheScrape} // Prometheus' own
	series := regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? \S+$`)
	label := regexp.MustCompile(`([a-zA-Z_][a-zA-Z0-9_]*)="(?:[^"\\]|\\.)*"`)
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		m := series.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		labels := page[m[1]]
		for _, l := range label.FindAllStringSubmatch(m[2], -1) {
			labels = append(labels, l[1])
		}
		page[m[1]] = labels
	}
	s.stop()
	return page
}

// plantConsumer makes a site remember a consumer, as one of another process does.
func plantConsumer(t *testing.T, at site) {
	t.Helper()
	db, err := app.OpenDB(t.Context(), at.place())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- db.Run(ctx) }()
	err = db.Write(ctx, sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
		_, err := tx.Exec(
			ctx,
			`INSERT INTO bus_reader (consumer, part, stream, stream_at, seq, relayed_at, source_id, min_relay,
				last_seq, last_event,
			pending, at, applied, duplicate, stale, failed) VALUES ('search', 0, 0, 0, 0, 0, 0, 0, 0, '', 7, 0,
			0, 0, 0, 0)`,
		)
		return err
	})
	stop()
	if runErr := <-ended; err != nil || runErr != nil {
		t.Fatal(err, runErr)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// expressions are those of all files, by where they stand.
func expressions(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	maps.Copy(all, alertExpressions(t))
	maps.Copy(all, panelExpressions(t))
	return all
}

// alertExpressions reads the rules strictly: what Prometheus would not take fails.
func alertExpressions(t *testing.T) map[string]string {
	t.Helper()
	file, err := docs.Pages.Open("operations/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var rules struct {
		Groups []struct {
			Name  string `yaml:"name"`
			Rules []struct {
				Alert       string            `yaml:"alert"`
				Expr        string            `yaml:"expr"`
				For         string            `yaml:"for"`
				Labels      map[string]string `yaml:"labels"`
				Annotations map[string]string `yaml:"annotations"`
			} `yaml:"rules"`
		} `yaml:"groups"`
	}
	decoder := yaml.NewDecoder(file)
	decoder.KnownFields(true)
	if err := decoder.Decode(&rules); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, group := range rules.Groups {
		for _, rule := range group.Rules {
			where := "the alert " + rule.Alert
			if all[where] != "" || rule.Alert == "" {
				t.Errorf("%s of %s is there twice, or has no name", where, group.Name)
			}
			all[where] = rule.Expr
			if rule.Annotations["summary"] == "" || rule.Annotations["action"] == "" ||
				rule.Labels["severity"] == "" {
				t.Errorf("%s does not say what is wrong, how bad it is and what to do", where)
			}
			if _, err := time.ParseDuration(rule.For); rule.For != "" && err != nil {
				t.Errorf("%s: %v", where, err)
			}
		}
	}
	return all
}

func panelExpressions(t *testing.T) map[string]string {
	t.Helper()
	text, err := docs.Pages.ReadFile("operations/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Templating struct {
			List []struct{ Name, Type, Query string }
		}
		Panels []struct {
			ID      int
			Type    string
			Title   string
			Targets []struct{ RefID, Expr string }
		}
	}
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	all, ids := map[string]string{}, map[int]bool{}
	for _, variable := range board.Templating.List {
		if variable.Type == "query" {
			metric, found := strings.CutSuffix(strings.TrimPrefix(variable.Query, "label_values("), ", instance)")
			if all["the variable "+variable.Name] = metric; !found {
				t.Errorf("the variable %s is %s", variable.Name, variable.Query)
			}
		}
	}
	for _, panel := range board.Panels {
		if ids[panel.ID] || panel.Type != "row" && len(panel.Targets) == 0 {
			t.Errorf("the panel %s has the id of another, or shows nothing", panel.Title)
		}
		ids[panel.ID] = true
		for _, target := range panel.Targets {
			all[fmt.Sprintf("the panel %d, %s, %s", panel.ID, panel.Title, target.RefID)] = target.Expr
		}
	}
	return all
}
