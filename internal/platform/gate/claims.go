package gate

import (
	"encoding/base64"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/golang-jwt/jwt/v5"
)

// claims are the claims that count here. They are read strictly: two members of one
// name, or a name in other letters, would be read by one program this way and by
// another that way.
type claims struct {
	Issuer    string    `json:"iss"`
	Subject   string    `json:"sub"`
	Audience  audiences `json:"aud"`
	ExpiresAt *instant  `json:"exp"`
	NotBefore *instant  `json:"nbf"`
	IssuedAt  *instant  `json:"iat"`
	Scope     scopes    `json:"scope"`
	Tenant    belonging `json:"tenant"`
	Roles     names     `json:"roles"`
	Groups    names     `json:"groups"`
}

// belonging is a tenant, if the claim is there. One that is null is not left out: whoever
// wrote it did not know whose the token is.
type belonging struct {
	given  bool
	tenant string
}

// UnmarshalJSON reads a text and nothing else.
func (b *belonging) UnmarshalJSON(raw []byte) error {
	if jsontext.Value(raw).Kind() != '"' {
		return errTokenTenant
	}
	b.given = true
	return json.Unmarshal(raw, &b.tenant)
}

// UnmarshalJSON reads the claims.
func (c *claims) UnmarshalJSON(raw []byte) error {
	type plain claims
	return json.Unmarshal(raw, (*plain)(c))
}

// The methods by which jwt checks the claims that it knows.

func (c *claims) GetExpirationTime() (*jwt.NumericDate, error) { return c.ExpiresAt.date(), nil }
func (c *claims) GetIssuedAt() (*jwt.NumericDate, error)       { return c.IssuedAt.date(), nil }
func (c *claims) GetNotBefore() (*jwt.NumericDate, error)      { return c.NotBefore.date(), nil }
func (c *claims) GetIssuer() (string, error)                   { return c.Issuer, nil }
func (c *claims) GetSubject() (string, error)                  { return c.Subject, nil }
func (c *claims) GetAudience() (jwt.ClaimStrings, error)       { return jwt.ClaimStrings(c.Audience), nil }

// lastInstant is the end of the year 9999, in seconds.
const lastInstant = 253402300799

// instant is a time in seconds, a JSON number.
type instant float64

// UnmarshalJSON reads a number and nothing else, a text that looks like one included.
func (i *instant) UnmarshalJSON(raw []byte) error {
	var n float64
	if jsontext.Value(raw).Kind() != '0' || json.Unmarshal(raw, &n) != nil || n < 0 || n > lastInstant {
		return errTokenMalformed
	}
	*i = instant(math.Floor(n))
	return nil
}

// date is the instant as jwt has it; nil when the claim is absent.
func (i *instant) date() *jwt.NumericDate {
	if i == nil {
		return nil
	}
	return jwt.NewNumericDate(time.Unix(int64(*i), 0))
}

// audiences is one audience, or a list of them.
type audiences []string

// UnmarshalJSON reads both spellings.
func (a *audiences) UnmarshalJSON(raw []byte) error {
	list, text, err := textOrList(raw)
	if *a = list; list == nil && err == nil && jsontext.Value(raw).Kind() == '"' {
		*a = audiences{text}
	}
	return err
}

// names are those of roles or groups: a text, or a list of texts. Issuers have other things under these names as
// well, which give nobody a role.
type names []string

// UnmarshalJSON takes both spellings and leaves the rest.
func (n *names) UnmarshalJSON(raw []byte) error {
	var list audiences
	if list.UnmarshalJSON(raw) == nil {
		*n = names(list)
	}
	return nil
}

// scopes is a list of scopes, or one text with spaces between them, as RFC 6749 has it: no
// other character separates, whatever it looks like. nil when the claim is absent.
type scopes []string

// UnmarshalJSON reads both spellings.
func (s *scopes) UnmarshalJSON(raw []byte) error {
	list, text, err := textOrList(raw)
	if *s = list; list == nil && err == nil && jsontext.Value(raw).Kind() == '"' {
		*s = slices.DeleteFunc(strings.Split(text, " "), func(scope string) bool { return scope == "" })
	}
	return err
}

// textOrList reads a text or a list of texts; null is neither.
func textOrList(raw []byte) (list []string, text string, err error) {
	if jsontext.Value(raw).Kind() == '"' {
		err = json.Unmarshal(raw, &text)
	} else {
		err = json.Unmarshal(raw, &list)
	}
	if err != nil {
		return nil, "", errTokenMalformed
	}
	return list, text, nil
}

// soundHeader reports whether the header of a token is one JSON object without two
// members of one name, so that everybody reads the same algorithm and key id in it.
func soundHeader(raw string) bool {
	part, _, _ := strings.Cut(raw, ".")
	header, err := base64.RawURLEncoding.Strict().DecodeString(part)
	return err == nil && jsontext.Value(header).Kind() == '{' && jsontext.Value(header).IsValid()
}
