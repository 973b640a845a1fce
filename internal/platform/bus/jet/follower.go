package jet

import (
	"bytes"
	"errors"
	"io"
	"regexp"

	"github.com/google/uuid"
	"go.yaml.in/yaml/v3"
	"golang.org/x/crypto/bcrypt"

	"renga.dev/renga/internal/platform/fault"
)

// MaxFollowers is the limit of a server inside.
const MaxFollowers = 1000

// minPassword is the length of a plain password.
const minPassword = 12

// Follower may follow the events of a tenant from outside.
type Follower struct {
	User     string `yaml:"user"`     // 1..32 of a-z, 0-9 and -; names its consumers too
	Password string `yaml:"password"` // plain, or a bcrypt hash
	Tenant   string `yaml:"tenant"`   // a UUID
}

var followerName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$`)

// ReadFollowers reads the file of followers. Its errors reveal no password.
func ReadFollowers(text []byte) ([]Follower, error) {
	var file struct {
		Users []Follower `yaml:"users"`
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&file); err != nil && !errors.Is(err, io.EOF) {
		return nil, badFollowers("it must be YAML: users, a list with user, password and tenant")
	}
	if len(file.Users) == 0 || len(file.Users) > MaxFollowers {
		return nil, badFollowers("it must have 1 to %d users", MaxFollowers)
	}
	seen := map[string]bool{}
	for i := range file.Users {
		f := &file.Users[i]
		if !followerName.MatchString(f.User) || seen[f.User] {
			return nil, badFollowers("user %d must have a name of its own, of 1 to 32 of a-z, 0-9 and -", i+1)
		}
		seen[f.User] = true
		tenant, err := uuid.Parse(f.Tenant)
		if err != nil || len(f.Tenant) != 36 {
			return nil, badFollowers("the tenant of user %s must be a UUID", f.User)
		}
		f.Tenant = tenant.String()
		if _, err := bcrypt.Cost([]byte(f.Password)); err != nil && len(f.Password) < minPassword {
			return nil, badFollowers("the password of user %s must be a bcrypt hash or have %d characters", f.User,
				minPassword)
		}
	}
	return file.Users, nil
}

func badFollowers(format string, args ...any) error {
	return fault.New(fault.Invalid, "NATS_USERS_INVALID", "the file of NATS users cannot be used: "+format, args...)
}
