package bus

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"renga.dev/renga/internal/platform/fault"
)

const (
	maxTries     = 1000
	minRedrive   = time.Second
	maxRedrive   = 30 * 24 * time.Hour
	codeConsumer = "INVALID_INPUT"
)

// Configure applies an operator's choices to consumers, each as NAME:OPTION=VALUE: tries=N (Consumer.MaxTries),
// redrive=DURATION or never (AutoRedrive), continue=true or false (Continue). The last one wins. The error is
// fault.Invalid and names the choice.
func Configure(consumers []Consumer, choices []string) ([]Consumer, error) {
	all := slices.Clone(consumers)
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Name
	}
	for _, choice := range choices {
		name, option, _ := strings.Cut(strings.TrimSpace(choice), ":")
		i := slices.Index(names, name)
		if i < 0 {
			return nil, fault.New(fault.Invalid, codeConsumer, "%q: there is no consumer %q; there are %s", choice,
				name, strings.Join(names, ", "))
		}
		if want := all[i].choose(option); want != "" {
			return nil, fault.New(fault.Invalid, codeConsumer, "%q: %s", choice, want)
		}
	}
	return all, nil
}

// choose applies an option, or says what it should be.
func (c *Consumer) choose(option string) (want string) {
	name, value, _ := strings.Cut(option, "=")
	var err error
	switch name {
	case "tries":
		if c.MaxTries, err = strconv.Atoi(value); err != nil || c.MaxTries < 1 || c.MaxTries > maxTries {
			return "tries are 1 to " + strconv.Itoa(maxTries)
		}
	case "redrive":
		if value == "never" {
			c.AutoRedrive = 0
			return ""
		}
		if c.AutoRedrive, err = time.ParseDuration(value); err != nil || c.AutoRedrive < minRedrive ||
			c.AutoRedrive > maxRedrive {
			return "redrive is never, or a duration of 1s to 720h such as 10m"
		}
	case "continue":
		if c.Continue, err = strconv.ParseBool(value); err != nil {
			return "continue is true or false"
		}
	default:
		return "the options are tries=N, redrive=DURATION and continue=true|false"
	}
	return ""
}
