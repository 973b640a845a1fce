package sqldb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
	"renga.dev/renga/test/stalltest"
)

func TestProcessesThatStartAtOnceTakeTurnsWithTheTables(t *testing.T) {
	url := pgtest.New(t)
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() {
			db, err := Open(t.Context(), Config{URL: url, Migrations: []Migration{rowTable}})
			if err != nil {
				t.Error(err)
				return
			}
			if err := db.Write(t.Context(), Engine, insert(1, i)); err != nil {
				t.Error(err)
			}
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := rows(t, start(t, Config{URL: url}), 1); n != 6 {
		t.Errorf("%d rows, want 6", n)
	}
}

// TestAProcessWaitsForWhoChangesTheTables starts one while another, which does not end yet, has the
// turn.
func TestAProcessWaitsForWhoChangesTheTables(t *testing.T) {
	url := pgtest.New(t)
	other, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close(context.WithoutCancel(t.Context()))
	if _, err := other.Exec(t.Context(), "SELECT pg_advisory_lock($1)", tablesLock); err != nil {
		t.Fatal(err)
	}
	opened := make(chan error, 1)
	go func() {
		db, err := Open(t.Context(), Config{URL: url, Migrations: []Migration{rowTable}})
		if err == nil {
			err = db.Close()
		}
		opened <- err
	}()
	stalltest.Until(t, "a process that waits for its turn", func() (waits bool) {
		select {
		case err := <-opened:
			t.Fatalf("it did not wait: %v", err)
		default:
		}
		err := other.QueryRow(t.Context(), `SELECT count(*) > 0 FROM pg_locks
			WHERE NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`).Scan(
			&waits)
		if err != nil {
			t.Fatal(err)
		}
		return waits
	})
	if err := other.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := stalltest.Within(t, "the start of the process that waited", opened); err != nil {
		t.Error(err)
	}
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	for _, tt := range []struct {
		name string
		cfg  Config
		want string
	}{
		{"neither", Config{}, "either a path or a URL"},
		{"both", Config{Path: "x", URL: "postgres://localhost/x"}, "either a path or a URL"},
		{"too few connections", Config{URL: "postgres://localhost/x", Conns: 3}, "at least 4"},
		{"nobody there", Config{URL: "postgres://someone:secret@127.0.0.1:1/x"}, "refused"},
	} {
		_, err := Open(t.Context(), tt.cfg)
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %q in it", tt.name, err, tt.want)
		}
	}
	if err := old(139_999, "13.9"); err == nil || !strings.Contains(err.Error(), "13.9 is too old") {
		t.Errorf("an old server: %v", err)
	}
	if err := old(140_000, "14.0"); err != nil {
		t.Error(err)
	}
	var log bytes.Buffer
	risky("off", slog.New(slog.NewTextHandler(&log, nil)))
	if !strings.Contains(log.String(), "can lose") {
		t.Errorf("no warning of a server that may lose data: %q", log.String())
	}
}

func TestSettingsOfEveryConnectionToPostgreSQL(t *testing.T) {
	db := start(t, Config{URL: pgtest.New(t)})
	want := map[string]string{
		"synchronous_commit": "on", "idle_in_transaction_session_timeout": "5s", "lock_timeout": "2s",
		"statement_timeout": "30s",
		"application_name":  "renga", "tcp_user_timeout": "10000", "transaction_isolation": "read committed",
		"enable_seqscan": "off",
	}
	look := func(ctx context.Context, tx *Tx) error {
		for name, value := range want {
			var got string
			if err := tx.Row(ctx, "SELECT current_setting($1)", name).Scan(&got); err != nil {
				return err
			}
			if got != value {
				t.Errorf("%s is %s, want %s", name, got, value)
			}
		}
		return nil
	}
	in(t, db, look)
	want["transaction_isolation"], want["transaction_read_only"] = "repeatable read", "on"
	if err := db.Read(t.Context(), look); err != nil {
		t.Error(err)
	}
}

func TestStatesHaveKinds(t *testing.T) {
	for _, tt := range []struct {
		state string
		kind  fault.Kind
		code  string
		redo  bool
	}{
		{"23505", fault.Conflict, codeExists, false},
		{"40001", fault.Unavailable, codeBusy, true},
		{"40P01", fault.Unavailable, codeBusy, true},
		{"55P03", fault.Unavailable, codeBusy, true},
		{"57014", fault.Unavailable, codeBusy, false},
		{"53100", fault.Unavailable, codeFull, false},
		{"53200", fault.Unavailable, codeBusy, false},
		{"53300", fault.Unavailable, codeBusy, false},
		{"57P01", fault.Unavailable, codeDown, false},
		{"57P02", fault.Unavailable, codeDown, false},
		{"57P03", fault.Unavailable, codeDown, false},
		{"25P03", fault.Unavailable, codeDown, false},
		{"25006", fault.Unavailable, codeDown, false},
		{"08006", fault.Unavailable, codeDown, false},
		{"28P01", fault.Unavailable, codeDenied, false},
		{"28000", fault.Unavailable, codeDenied, false},
		{"3D000", fault.Unavailable, codeDenied, false},
		{"42501", fault.Unavailable, codeDenied, false},
		{"58030", fault.Unavailable, codeIO, false},
		{"23502", fault.Internal, "", false},
		{"22P02", fault.Internal, "", false},
		{"42601", fault.Internal, "", false},
		{"XX001", fault.Internal, codeDamaged, false},
		{"XX002", fault.Internal, codeDamaged, false},
		{"58P01", fault.Internal, codeDamaged, false},
		{"", fault.Internal, "", false},
	} {
		// The state is found however deep it is wrapped, and whatever the text says.
		cause := &pgconn.PgError{Code: tt.state, Message: "deadlock detected"}
		v, ok := judgePostgres(fmt.Errorf("lock timeout: %w", cause))
		if !ok || v.kind != tt.kind || v.code != tt.code || v.redo != tt.redo {
			t.Errorf("%s: %+v", tt.state, v)
		}
		wrapped := postgresDialect.wrap("test", cause)
		if f, _ := fault.As(wrapped); f.Kind != tt.kind || (f.RetryAfter > 0) != (tt.kind == fault.Unavailable) ||
			!errors.Is(wrapped, cause) {
			t.Errorf("%s: wrapped as %v", tt.state, wrapped)
		}
	}
	if f, _ := fault.As(postgresDialect.wrap("test", lost{errors.New("EOF")})); f.Kind != fault.Unavailable ||
		f.Code != codeDown {
		t.Errorf("a lost connection: %v", f)
	}
}

func TestValuesComeBackFromPostgreSQLAsTheyWent(t *testing.T) {
	db := start(t, Config{URL: pgtest.New(t)})
	in(t, db, func(ctx context.Context, tx *Tx) error {
		for _, tt := range []struct {
			query           string
			arg, dest, want any
		}{
			{"SELECT $1::bigint", int64(math.MinInt64), new(int64), ref(int64(math.MinInt64))},
			{"SELECT $1::int", -7, new(int), ref(-7)},
			{"SELECT $1::smallint", -7, new(int64), ref(int64(-7))},
			{"SELECT $1::bigint", uint64(math.MaxInt64), new(uint64), ref(uint64(math.MaxInt64))},
			{"SELECT $1::bigint", named(-3), new(named), ref(named(-3))},
			{"SELECT $1::numeric + 1", 41, new(int), ref(42)},
			{"SELECT $1::numeric / 2", 1, new(string), ref("0.50000000000000000000")},
			{"SELECT $1", "", ref("x"), ref("")},
			{"SELECT $1::text", text("é"), new(text), ref(text("é"))},
			{"SELECT $1::bytea", []byte{0, 1}, new([]byte), ref([]byte{0, 1})},
			{"SELECT $1::bytea", []byte{}, new([]byte), ref([]byte{})},
			{"SELECT $1::bytea", digest{1, 2, 3}, new(digest), ref(digest{1, 2, 3})},
			{"SELECT $1::uuid", make([]byte, 16), new([]byte), ref(make([]byte, 16))},
			{"SELECT $1::bool", true, new(bool), ref(true)},
			{"SELECT $1::float8", 1.5, new(float64), ref(1.5)},
			{"SELECT $1::float8", math.Inf(-1), new(float64), ref(math.Inf(-1))},
			{"SELECT $1::bigint", nil, ref(5), ref(0)},
			{"SELECT $1::text", nil, ref("x"), ref("")},
			{"SELECT $1::bytea", []byte(nil), ref([]byte("x")), new([]byte)},
			{"SELECT $1::jsonb", `{"a": 1}`, new(string), ref(`{"a": 1}`)},
			{
				"SELECT sum(n) FROM unnest($1::bigint[]) n",
				[]int64{math.MaxInt64, -1},
				new(int64),
				ref(int64(math.MaxInt64 - 1)),
			},
			{"SELECT count(*) FROM unnest($1::bigint[])", []int64{}, new(int), ref(0)},
			{
				"SELECT string_agg(s, '|') FROM unnest($1::text[]) s",
				[]string{"a,b", "", `{"`},
				new(string),
				ref(`a,b||{"`),
			},
			{"SELECT count(*) * 10 + count(b) FROM unnest($1::bytea[]) b", [][]byte{{0}, nil, {}}, new(int), ref(32)},
			{"SELECT count(*) FROM unnest($1::uuid[])", [][]byte{make([]byte, 16)}, new(int), ref(1)},
			{"SELECT count(*) FROM unnest($1::bool[]) b WHERE b", []bool{true, false, true}, new(int), ref(2)},
		} {
			if err := tx.Row(ctx, tt.query, tt.arg).Scan(tt.dest); err != nil {
				return fmt.Errorf("%s with %v: %w", tt.query, tt.arg, err)
			}
			if diff := cmp.Diff(tt.want, tt.dest); diff != "" {
				t.Errorf("%s with %v:\n%s", tt.query, tt.arg, diff)
			}
		}
		// What does not fit is found before it leaves, so the transaction goes on.
		for query, arg := range map[string]any{
			"SELECT $1::int[]": []int64{1}, "SELECT $1::text": struct{}{}, "SELECT 1": 1,
			"SELECT $1::bigint": uint64(math.MaxInt64 + 1),
		} {
			if err := tx.Row(ctx, query, arg).Scan(new(any)); err == nil || fault.KindOf(err) != fault.Internal {
				t.Errorf("%s with %v: %v", query, arg, err)
			}
		}
		for i := range maxStatements + 10 {
			if err := tx.Row(ctx, fmt.Sprintf("SELECT %d", i)).Scan(new(int)); err != nil {
				return err
			}
		}
		return nil
	})
	in(t, db, func(ctx context.Context, tx *Tx) error {
		err := tx.Row(ctx, "SELECT 1").Scan(new(int))
		if n := len(tx.pg.link.stmts); n > 10 {
			t.Errorf("%d statements are kept", n)
		}
		return err
	})
}
