package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
)

type auditExportCmd struct {
	auditFilter
	Out string `placeholder:"FILE" type:"path"`
}

func (auditExportCmd) Help() string {
	return `Every entry as it is in the API, one on each line, oldest first, however many there are. When the export
ends before its time, the command fails, and a file that was there before is as it was.

Examples:
  renga audit export > audit.jsonl
  renga audit export --from 2026-01-01 --to 2026-02-01 --out january.jsonl
  renga audit export --action execution.cancel | jq -r .subject`
}

func (c *auditExportCmd) Run(ctx context.Context, r *remote) error {
	f, err := c.filter(r.App)
	if err != nil {
		return err
	}
	export := func(w io.Writer) error { return r.Audit.Export(ctx, f, w) }
	if c.Out == "" {
		return export(r.Out)
	}
	return replaceFile(c.Out, export)
}

// replaceFile writes a file that is there as a whole or not at all.
func replaceFile(name string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return cannotWrite(name, err)
	}
	defer os.Remove(f.Name()) // it is gone when it was renamed
	if err := write(f); err != nil {
		_ = f.Close()
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return cannotWrite(name, err)
	}
	if err := os.Rename(f.Name(), name); err != nil {
		return cannotWrite(name, err)
	}
	return nil
}
