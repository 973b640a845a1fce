package cli

import (
	"strings"
	"testing"
)

// TestACommandRefusesItsOwnFlagsBeforeTheServers gives two mistakes at once: one in the flags of a command, one in
// those that say where to connect.
func TestACommandRefusesItsOwnFlagsBeforeTheServers(t *testing.T) {
	r := &rig{t: t, clock: &clock{}}
	for _, tt := range []struct{ command, want string }{
		{"search find x --limit 0", "--limit"},
		{"tasks claim --max 0", "--max"},
		{"tasks complete x a --output {", "--output"},
		{"execution list --created-from yesterday", "--created-from"},
		{"execution create order --input [1]", "--input"},
		{"events tail --since yesterday", "--since"},
		{"events replay --consumer search --from yesterday", "--from"},
		{"bulk cancel --all --graph order", "--all"},
		{"dlq redrive x --all", "--all"},
		{"dlq skip --reason y --older-than yesterday", "--older-than"},
		{"event send --file missing.json", "missing.json"},
		{"event summary --limit 0", "--limit"},
		{"template apply -f missing.json", "missing.json"},
		{"graph apply missing.yaml", "missing.yaml"},
		{"metadata list field", "--object"},
		{"metadata get role", "role"},
		{"strategy apply -f missing.json", "missing.json"},
		{"recheck run x --reason y", "--lookback"},
		{"record list Account --where Name", "--where"},
		{"sharing territory assign x", "--user"},
		{"audit list --from yesterday", "--from"},
		{"worker demo --fail-rate 2", "--fail-rate"},
	} {
		_, errs, code := r.run(append(strings.Fields(tt.command), "--server=nowhere")...)
		if code != exitUsage || !strings.Contains(errs, tt.want) {
			t.Errorf("%s: exit code %d: %s", tt.command, code, errs)
		}
	}
	for _, wrong := range []string{"--server=nowhere", "--tenant=a\nb", "--token-file=/nowhere"} {
		if _, errs, code := r.run("tasks", "claim", wrong, "--max", "0"); !strings.Contains(errs, "--max") {
			t.Errorf("%q: exit code %d: %s", wrong, code, errs)
		}
		_, errs, code := r.run("tasks", "claim", wrong)
		if code != exitUsage || strings.Contains(errs, "client:") {
			t.Errorf("%q alone: exit code %d: %s", wrong, code, errs)
		}
	}
}
