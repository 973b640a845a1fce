package recheck

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/url"
	"strconv"
	"time"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// Link is a way to an artifact that needs no token, for a while.
type Link struct {
	URL       string          `json:"url"` // path and query
	ExpiresAt canonical.Stamp `json:"expires_at"`
	Name      string          `json:"name"`
	MediaType string          `json:"media_type"`
	Size      int             `json:"size"`
}

// Artifact is a file that a check has left.
type Artifact struct {
	Name      string
	MediaType string
	Content   []byte
}

// secretBytes is the length of what links are signed with.
const secretBytes = 32

// Link makes a link to an artifact of a tenant.
func (r *Rechecks) Link(ctx context.Context, tenant, id string) (Link, error) {
	if !ulidForm.MatchString(id) {
		return Link{}, found(id, sqldb.ErrNoRow)
	}
	secret, err := r.signing(ctx)
	if err != nil {
		return Link{}, fault.Wrap("recheck.link", err)
	}
	var l Link
	err = r.db.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		now, err := r.now(ctx, tx)
		if err != nil {
			return err
		}
		expires := (int64(now) + r.cfg.URLLife.Milliseconds()) / 1000
		l.ExpiresAt = canonical.Stamp(expires * 1000)
		l.URL = "/pdca/artifacts/" + id + "/content?" + url.Values{
			"tenant": {tenant}, "expires": {strconv.FormatInt(expires, 10)},
			"signature": {sign(secret, tenant, id, expires)},
		}.Encode()
		return found(id, tx.Row(ctx,
			"SELECT name, media_type, length(content) FROM pdca_artifact WHERE tenant_id = $1 AND id = $2", tenant, id).
			Scan(&l.Name, &l.MediaType, &l.Size))
	})
	return l, fault.Wrap("recheck.link", err)
}

// Artifact is what a link leads to. What the link says is believed only if it was signed
// here and its time is not over.
func (r *Rechecks) Artifact(ctx context.Context, tenant, id string, expires int64, signature string) (Artifact, error) {
	secret, err := r.signing(ctx)
	if err != nil {
		return Artifact{}, fault.Wrap("recheck.artifact", err)
	}
	if !hmac.Equal([]byte(signature), []byte(sign(secret, tenant, id, expires))) {
		return Artifact{}, fault.New(fault.Forbidden, "",
			"the signature does not belong to this URL; ask for a new one")
	}
	var a Artifact
	err = r.db.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		now, err := r.now(ctx, tx)
		if err != nil {
			return err
		}
		if int64(now) >= expires*1000 {
			return fault.New(fault.Forbidden, "", "the URL has expired; ask for a new one")
		}
		return found(id, tx.Row(ctx,
			"SELECT name, media_type, content FROM pdca_artifact WHERE tenant_id = $1 AND id = $2", tenant, id).
			Scan(&a.Name, &a.MediaType, &a.Content))
	})
	return a, fault.Wrap("recheck.artifact", err)
}

func found(id string, err error) error {
	if errors.Is(err, sqldb.ErrNoRow) {
		return fault.New(fault.NotFound, "", "there is no artifact %.64q", id)
	}
	return err
}

// sign is the signature of a link. A bar is in no tenant and no id that an artifact has.
func sign(secret []byte, tenant, id string, expires int64) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(tenant + "|" + id + "|" + strconv.FormatInt(expires, 10)))
	return hex.EncodeToString(mac.Sum(nil))
}

const selectSecret = "SELECT secret FROM pdca_signing WHERE n = 1"

// signing is what links are signed with: made once and kept in the database, so that a
// link of one process is good at every other.
func (r *Rechecks) signing(ctx context.Context) ([]byte, error) {
	if known := r.secret.Load(); known != nil {
		return *known, nil
	}
	var secret []byte
	err := r.db.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		return tx.Row(ctx, selectSecret).Scan(&secret)
	})
	if errors.Is(err, sqldb.ErrNoRow) {
		fresh := make([]byte, secretBytes)
		_, _ = rand.Read(fresh) // it never fails
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		err = r.write(ctx, "recheck.signing", func(ctx context.Context, tx *sqldb.Tx) error {
			_, err := tx.Exec(ctx,
				"INSERT INTO pdca_signing (n, secret) VALUES (1, $1) ON CONFLICT (n) DO NOTHING", fresh)
			if err != nil {
				return err
			}
			return tx.Row(ctx, selectSecret).Scan(&secret)
		})
	}
	if err != nil {
		return nil, err
	}
	r.secret.Store(&secret)
	return secret, nil
}
