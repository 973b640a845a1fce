package jet

import (
	"net/url"
	"slices"
	"strings"

	"renga.dev/renga/internal/platform/fault"
)

func (s *Server) openOutside(list string) error {
	place, err := address(list)
	if err != nil {
		return err
	}
	s.place = place
	if err := s.connect(list); err != nil {
		return unavailable("NATS cannot be reached at "+place, err)
	}
	return nil
}

// address is a list of URLs without credentials. Its errors quote nothing, since any part could be an unescaped
// password.
func address(list string) (string, error) {
	var shown []string
	for one := range strings.SplitSeq(list, ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		if err != nil {
			return "", fault.New(fault.Invalid, "NATS_URL_INVALID",
				"the address of NATS is not a URL; special characters in its credentials must be percent-encoded")
		}
		plain := url.URL{Scheme: u.Scheme, User: u.User, Host: u.Host}
		if !slices.Contains([]string{"nats", "tls"}, u.Scheme) || u.Hostname() == "" ||
			plain.String() != strings.TrimSuffix(u.String(), "/") {
			return "", fault.New(fault.Invalid, "NATS_URL_INVALID",
				"the address of NATS must be nats://HOST:PORT or tls://HOST:PORT, "+
					"with credentials as USER:PASSWORD@ or TOKEN@ before the host and nothing after the port")
		}
		shown = append(shown, u.Scheme+"://"+u.Host)
	}
	return strings.Join(shown, ","), nil
}
