package bus_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
)

func TestMistakesInTheListOfConsumersEndTheProgram(t *testing.T) {
	handle := func(context.Context, *sqldb.Tx, *events.Event) error { return nil }
	for want, cfg := range map[string]bus.Config{
		"two consumers": {Consumers: []bus.Consumer{
			{Name: "a", Handle: handle},
			{Name: "a", Handle: handle},
		}},
		`cannot be named ""`:    {Consumers: []bus.Consumer{{Handle: handle}}},
		`cannot be named "A b"`: {Consumers: []bus.Consumer{{Name: "A b", Handle: handle}}},
		"handles nothing":       {Consumers: []bus.Consumer{{Name: "a"}}},
		"RecordMoved, which does": {Consumers: []bus.Consumer{{
			Name: "a", Handle: handle,
			Types: []string{"RecordMoved"},
		}}},
	} {
		for _, take := range []func(){
			func() { bus.New(nil, nil, cfg) },
			func() { bus.New(nil, nil, bus.Config{}).Subscribe(cfg.Consumers...) },
		} {
			func() {
				defer func() {
					if said := fmt.Sprint(recover()); !strings.Contains(said, want) {
						t.Errorf("got %s, want %s", said, want)
					}
				}()
				take()
			}()
		}
	}
}
