package test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// usage is how long the processors worked, in ticks of the system.
type usage struct {
	ours int // this process, the server and every PostgreSQL
	all  int
}

// share is which part of the work since before was ours. Where other programs use the same
// processors, a request that waits for one takes longer by that part, and that is not the
// server's fault. All of PostgreSQL counts as ours, so the part is rather too large.
func (u usage) share(before usage) float64 {
	all := u.all - before.all
	if all <= 0 {
		return 1
	}
	return min(1, float64(u.ours-before.ours)/float64(all))
}

// processors reads how long the processors have worked; nothing where the system does not say.
func processors(t *testing.T, server *child) (u usage) {
	t.Helper()
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return usage{}
	}
	line, _, _ := strings.Cut(string(stat), "\n")
	for i, field := range strings.Fields(line)[1:] {
		// neither idle nor waiting for disks
		if n, err := strconv.Atoi(field); err == nil && i < 8 && i != 3 && i != 4 {
			u.all += n
		}
	}
	own := []string{fmt.Sprint(os.Getpid()), fmt.Sprint(server.cmd.Process.Pid)}
	pages, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			continue // it has ended
		}
		name, rest, _ := strings.Cut(string(text), ") ")
		fields := strings.Fields(rest)
		if len(fields) < 15 || !slices.Contains(own, filepath.Base(filepath.Dir(page))) &&
			!strings.HasSuffix(name, "(postgres") {
			continue
		}
		for _, field := range fields[11:15] { // in user mode and in the kernel, and of children that have ended
			n, _ := strconv.Atoi(field)
			u.ours += n
		}
	}
	return u
}
