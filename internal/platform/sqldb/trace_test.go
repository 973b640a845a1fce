package sqldb

import (
	"context"
	"errors"
	"testing"
	"time"
)

// wanted marks the context of callers that are traced.
type wanted struct{}

func TestATransactionIsTraced(t *testing.T) {
	both(t, func(t *testing.T, db *DB) {
		var traced []Transaction
		db.trace = func(ctx context.Context) func(Transaction) {
			if ctx.Value(wanted{}) == nil {
				return nil
			}
			return func(done Transaction) { traced = append(traced, done) }
		}
		ctx, no := context.WithValue(t.Context(), wanted{}, true), errors.New("no")
		const work = 10 * time.Millisecond
		slowly := func(ctx context.Context, tx *Tx) error {
			err := insert(1, 1)(ctx, tx)
			for began := time.Now(); time.Since(began) < work; {
			}
			return err
		}
		began := time.Now()
		if err := db.Write(ctx, Engine, slowly); err != nil {
			t.Error(err)
		}
		if err := db.Write(ctx, Other, func(context.Context, *Tx) error { return no }); err != no {
			t.Error(err)
		}
		if err := db.Read(ctx, func(context.Context, *Tx) error { return nil }); err != nil {
			t.Error(err)
		}
		if err := db.ReadFirst(ctx, func(context.Context, *Tx) error { return nil }); err != nil {
			t.Error(err)
		}
		if err := db.Write(t.Context(), Other, insert(1, 2)); err != nil { // nobody wants to know
			t.Error(err)
		}
		want := []Transaction{
			{Write: true, Priority: Engine},
			{Write: true, Priority: Other, Err: no},
			{Priority: Other},
			{Priority: Engine},
		}
		if len(traced) != len(want) {
			t.Fatalf("traced %d transactions, want %d: %+v", len(traced), len(want), traced)
		}
		for i, got := range traced {
			if got.Write != want[i].Write || got.Priority != want[i].Priority || got.Err != want[i].Err {
				t.Errorf("%d: got %+v, want %+v", i, got, want[i])
			}
			if end := got.Began.Add(got.Waited + got.Ran); got.Began.Before(began) || end.After(time.Now()) ||
				got.Waited < 0 || got.Ran <= 0 {
				t.Errorf("%d: its times cannot be: %+v", i, got)
			}
		}
		if traced[0].Ran < work {
			t.Errorf("it ran for %v, want at least %v", traced[0].Ran, work)
		}
	})
}

func TestATransactionThatDidNotComeToRunOnlyWaited(t *testing.T) {
	db := open(t, Config{}) // its loop does not run
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	var traced []Transaction
	db.trace = func(context.Context) func(Transaction) {
		return func(done Transaction) { traced = append(traced, done) }
	}
	if err := db.Write(ctx, Other, insert(1, 1)); err == nil {
		t.Fatal("it was written")
	}
	if len(traced) != 1 || traced[0].Ran != 0 || traced[0].Waited <= 0 || traced[0].Err == nil {
		t.Errorf("got %+v", traced)
	}
}
