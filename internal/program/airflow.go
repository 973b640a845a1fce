package program

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"renga.dev/renga/internal/recheck/airflow"
)

// airflowFlags say how Airflow checks strategies. Credentials have no flags of their own:
// everybody on a machine sees the command lines of its processes.
type airflowFlags struct {
	URL            string        `name:"url" env:"RENGA_AIRFLOW_URL" placeholder:"URL"`
	DAG            string        `name:"dag" env:"RENGA_AIRFLOW_DAG" placeholder:"ID"`
	ResultTask     string        `name:"result-task" env:"RENGA_AIRFLOW_RESULT_TASK" placeholder:"ID"`
	API            string        `name:"api" default:"auto" enum:"v1,v2,auto" env:"RENGA_AIRFLOW_API"`
	User           string        `name:"user" env:"RENGA_AIRFLOW_USER" placeholder:"NAME"`
	PasswordFile   string        `name:"password-file" env:"RENGA_AIRFLOW_PASSWORD_FILE" placeholder:"FILE" type:"path"`
	TokenFile      string        `name:"token-file" env:"RENGA_AIRFLOW_TOKEN_FILE" placeholder:"FILE" type:"path"`
	ConnectTimeout time.Duration `default:"3s" env:"RENGA_AIRFLOW_CONNECT_TIMEOUT" placeholder:"DURATION"`
	ReadTimeout    time.Duration `default:"10s" env:"RENGA_AIRFLOW_READ_TIMEOUT" placeholder:"DURATION"`
	Failures       int           `name:"failures" default:"5" env:"RENGA_AIRFLOW_FAILURES" placeholder:"N"`
	Probe          time.Duration `name:"probe" default:"10s" env:"RENGA_AIRFLOW_PROBE" placeholder:"DURATION"`
	Runs           int           `name:"runs" default:"500" env:"RENGA_AIRFLOW_RUNS" placeholder:"N"`
	Lease          time.Duration `name:"lease" default:"1m" env:"RENGA_AIRFLOW_LEASE" placeholder:"DURATION"`
	Calls          int           `name:"calls" default:"8" env:"RENGA_AIRFLOW_CALLS" placeholder:"N"`
}

// config is what the flags and the environment ask for; nil: no Airflow.
func (f *airflowFlags) config(getenv func(string) string) (*airflow.Config, error) {
	if f.URL == "" {
		if f.DAG != "" || f.ResultTask != "" || f.User != "" || f.PasswordFile != "" || f.TokenFile != "" {
			return nil, errors.New("--airflow-dag, --airflow-result-task, --airflow-user, --airflow-password-file " +
				"and --airflow-token-file have no effect without --airflow-url")
		}
		return nil, nil
	}
	c := &airflow.Config{
		URL: f.URL, DAG: f.DAG, ResultTask: f.ResultTask, API: f.API, User: f.User,
		ConnectTimeout: f.ConnectTimeout, ReadTimeout: f.ReadTimeout, Failures: f.Failures, Probe: f.Probe,
		Runs: f.Runs, Calls: f.Calls, Lease: f.Lease,
	}
	var err1, err2 error
	c.Password, err1 = secret("--airflow-password-file", f.PasswordFile, "RENGA_AIRFLOW_PASSWORD", getenv)
	c.Token, err2 = secret("--airflow-token-file", f.TokenFile, "RENGA_AIRFLOW_TOKEN", getenv)
	return c, errors.Join(err1, err2, c.Check())
}

// secret is one that a file or the environment holds; nil: neither does. A file must be
// there from the start, so that a wrong name is found out.
func secret(flag, file, variable string, getenv func(string) string) (airflow.Secret, error) {
	text := getenv(variable)
	switch {
	case file != "" && text != "":
		return nil, fmt.Errorf("%s and %s exclude each other: leave one of them out", flag, variable)
	case text != "":
		return func() (string, error) { return text, nil }, nil
	case file == "":
		return nil, nil
	}
	read := func() (string, error) {
		f, err := os.Open(file)
		if err != nil {
			return "", err
		}
		defer f.Close()
		raw, err := io.ReadAll(io.LimitReader(f, airflow.MaxSecret+1))
		return string(raw), err
	}
	if _, err := read(); err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	return read, nil
}
