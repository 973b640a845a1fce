package tidy

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// migrationSum lists every migration with its digest. A database that has run a file never
// runs it again: whoever edits one makes new databases differ from those that exist.
const migrationSum = "internal/platform/sqldb/migrations.sum"

func TestMigrationsAreNeverEdited(t *testing.T) {
	tree := os.DirFS(".")
	if n := len(migrationFiles(t, tree)); n < 50 {
		t.Fatalf("found only %d migrations: the test reads too little", n)
	}
	for _, problem := range checkMigrations(t, tree) {
		t.Error(problem)
	}
}

// numbered is the name of a migration: its number in the package and what it is about.
var numbered = regexp.MustCompile(`^(\d{5})_[a-z0-9_]+\.sql$`)

// checkMigrations holds the files of all migration folders against the list, and the folders
// of the two databases against each other.
func checkMigrations(t testing.TB, tree fs.FS) (problems []string) {
	say := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	sums := readSums(t, tree)
	folders := map[string][]string{} // names of files, by folder
	for _, name := range migrationFiles(t, tree) {
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			t.Fatal(err)
		}
		sum := fmt.Sprintf("%x", sha256.Sum256(text))
		switch known, ok := sums[name]; {
		case !ok:
			say("%s: a new migration; add this line to %s:\n%s  %s", name, migrationSum, sum, name)
		case known != sum:
			say("%s was edited, and databases that have run it will not run it again: "+
				"undo that, and add a file with the next number", name)
		}
		delete(sums, name)
		if strings.Contains(strings.ToUpper(string(text)), "REFERENCES") {
			say("%s has a foreign key: SQLite does not enforce them here, since a deferred one fails "+
				"when the transaction that all share is committed", name)
		}
		folders[path.Dir(name)] = append(folders[path.Dir(name)], path.Base(name))
	}
	for name := range sums {
		say("%s is gone, and databases that have run it would refuse to start: put it back", name)
	}
	for dir, names := range folders {
		other := path.Join(path.Dir(dir), map[string]string{"sqlite": "postgres", "postgres": "sqlite"}[path.Base(dir)])
		if !slices.Equal(names, folders[other]) {
			say("%s has %v, and %s has %v: a migration is written for both databases", dir, names, other,
				folders[other])
		}
		for i, name := range names {
			if m := numbered.FindStringSubmatch(name); m == nil || m[1] != fmt.Sprintf("%05d", i+1) {
				say("%s/%s: want the number %05d", dir, name, i+1)
			}
		}
	}
	slices.Sort(problems)
	return problems
}

// migrationFiles are the files of all folders named migrations, in the order of their paths.
// A file that lies in one of them and not in the folder of a database is no migration: it fails.
func migrationFiles(t testing.TB, tree fs.FS) (names []string) {
	t.Helper()
	err := fs.WalkDir(tree, "internal", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.Contains(name, "/migrations/") {
			return err
		}
		names = append(names, name)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// readSums reads the list: a line has a digest in hexadecimal and a path.
func readSums(t testing.TB, tree fs.FS) map[string]string {
	t.Helper()
	text, err := fs.ReadFile(tree, migrationSum)
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]string{}
	for line := range strings.Lines(string(text)) {
		sum, name, ok := strings.Cut(strings.TrimSpace(line), "  ")
		if _, again := sums[name]; !ok || again {
			t.Fatalf("%s: %q: want a digest, two spaces and a path that comes once", migrationSum, line)
		}
		sums[name] = sum
	}
	return sums
}

// TestMigrationCheckFindsWhatBreaksTheRules plants one fault at a time into migrations that
// are sound without it.
func TestMigrationCheckFindsWhatBreaksTheRules(t *testing.T) {
	sound := func() fstest.MapFS {
		tree, sums := fstest.MapFS{}, ""
		files := []string{"postgres/00001_a.sql", "postgres/00002_b.sql", "sqlite/00001_a.sql", "sqlite/00002_b.sql"}
		for _, name := range files {
			name = "internal/crm/x/migrations/" + name
			tree[name] = &fstest.MapFile{Data: []byte("CREATE TABLE x_a (n INTEGER);")}
			sums += fmt.Sprintf("%x  %s\n", sha256.Sum256(tree[name].Data), name)
		}
		tree[migrationSum] = &fstest.MapFile{Data: []byte(sums)}
		return tree
	}
	if got := checkMigrations(t, sound()); len(got) > 0 {
		t.Fatalf("sound migrations: got %q, want no problem", got)
	}
	for _, tt := range []struct{ name, file, text, want string }{
		{"an edit", "sqlite/00001_a.sql", "CREATE TABLE x_a (n INTEGER NOT NULL);", "sqlite/00001_a.sql was edited"},
		{"a file that is gone", "sqlite/00002_b.sql", "", "sqlite/00002_b.sql is gone"},
		{"a new file", "sqlite/00003_c.sql", "SELECT 1;", "migrations.sum:\n" +
			"17db4fd369edb9244b9f91d9aeed145c3d04ad8ba6e95d06247f07a63527d11a  " +
			"internal/crm/x/migrations/sqlite/00003_c.sql"},
		{"a file for one database", "sqlite/00003_c.sql", "SELECT 1;", "a migration is written for both databases"},
		{"a number left out", "sqlite/00004_c.sql", "SELECT 1;", "want the number 00003"},
		{"a foreign key", "sqlite/00003_c.sql", "CREATE TABLE x_b (n INTEGER REFERENCES x_a);", "foreign key"},
		{"a file that no database runs", "00003_c.sql", "SELECT 1;", "a migration is written for both databases"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tree := sound()
			file := "internal/crm/x/migrations/" + tt.file
			tree[file] = &fstest.MapFile{Data: []byte(tt.text)}
			if tt.text == "" {
				delete(tree, file)
			}
			if got := strings.Join(checkMigrations(t, tree), "\n"); !strings.Contains(got, tt.want) {
				t.Errorf("got %q, want %q in it", got, tt.want)
			}
		})
	}
}
