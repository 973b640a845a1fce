package sim

import (
	"context"
	"errors"
	"testing"
	"time"

	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
	"renga.dev/renga/internal/workflow/store/storetest"
)

func TestMemoryIsAStore(t *testing.T) {
	storetest.Run(t, func(*testing.T) engine.Store {
		m := NewMemory()
		m.Retain(time.Duration(storetest.Retention) * time.Millisecond)
		return m
	})
}

// create is a job that writes one execution.
func create(ctx context.Context, tx engine.Tx) error {
	return tx.Write(ctx, &engine.Batch{
		Create: []engine.Head{{Num: 1, ID: flow.ID{1}, Tenant: "acme"}},
		Log:    []engine.LogRow{{Execution: 1, CommitNo: 1, FirstSeq: 1, LastSeq: 1, Body: []byte("[]")}},
	})
}

func TestMemoryKeepsNothingOfACommitThatFails(t *testing.T) {
	broken := errors.New("broken")
	for p := BeforeCommit; p <= BeforeApply; p++ {
		t.Run(p.String(), func(t *testing.T) {
			m := NewMemory()
			m.Interfere(func(at Point, _ *engine.Batch) error {
				if at == p {
					return broken
				}
				return nil
			})
			err := m.Commit(t.Context(), func(ctx context.Context, tx engine.Tx) error {
				if _, err := tx.Fetch(ctx, nil); err != nil {
					return err
				}
				return create(ctx, tx)
			})
			if !errors.Is(err, broken) {
				t.Errorf("got %v, want the fault of the hook", err)
			}
			if heads, _ := m.Scan(t.Context(), 0, 10); len(heads) > 0 {
				t.Errorf("got %v, want nothing stored", heads)
			}
		})
	}
}

func TestMemoryEndsWithTheProcess(t *testing.T) {
	for p, want := range map[Point]int{BeforeWrite: 0, MidWrite: 0, BeforeApply: 0, AfterApply: 1} {
		t.Run(p.String(), func(t *testing.T) {
			m := NewMemory()
			m.Interfere(func(at Point, _ *engine.Batch) error {
				if at == p {
					panic(death{})
				}
				return nil
			})
			func() {
				defer func() {
					if _, ok := recover().(death); !ok {
						t.Error("the process did not end")
					}
				}()
				_ = m.Commit(t.Context(), create)
			}()
			m.Interfere(nil)
			heads, err := m.Scan(t.Context(), 0, 10)
			if err != nil || len(heads) != want {
				t.Errorf("got %d executions, %v; want %d", len(heads), err, want)
			}
			if err := m.Commit(t.Context(), create); (err == nil) != (want == 0) {
				t.Errorf("the next process: got %v", err)
			}
		})
	}
}

func TestMemoryTriesAgain(t *testing.T) {
	m, tries := NewMemory(), 0
	m.Interfere(func(at Point, _ *engine.Batch) error {
		if at == BeforeApply && tries == 1 {
			return ErrAgain
		}
		return nil
	})
	err := m.Commit(t.Context(), func(ctx context.Context, tx engine.Tx) error {
		tries++
		return create(ctx, tx)
	})
	heads, _ := m.Scan(t.Context(), 0, 10)
	if err != nil || tries != 2 || len(heads) != 1 {
		t.Errorf("got %v after %d tries and %d executions, want success after two", err, tries, len(heads))
	}
}
