package webhooks

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
)

// MaxURL is the most characters of the URL of an endpoint.
const MaxURL = 2048

// Allowed are the endpoints that an operator allows in addition to those on the public internet over https.
type Allowed struct {
	HTTP     bool           // plain http, too
	Networks []netip.Prefix // addresses that are not public
	Hosts    []string       // names, in lower case, whose addresses may be any
}

// ParseAllowed reads an operator's list of CIDRs, addresses and names of hosts. The error names the entry.
func ParseAllowed(list []string) (a Allowed, err error) {
	for _, entry := range list {
		entry = strings.TrimSpace(entry)
		if p, err := netip.ParsePrefix(entry); err == nil {
			a.Networks = append(a.Networks, p.Masked())
			continue
		}
		if ip, err := netip.ParseAddr(entry); err == nil && ip.Zone() == "" {
			a.Networks = append(a.Networks, netip.PrefixFrom(ip, ip.BitLen()))
			continue
		}
		host := strings.ToLower(strings.TrimSuffix(entry, "."))
		if !isHost(host) {
			return a, fmt.Errorf("%.80q is neither a CIDR such as 10.1.0.0/16, nor an address, nor the name of a host",
				entry)
		}
		a.Hosts = append(a.Hosts, host)
	}
	return a, nil
}

// isHost reports whether a text is the name of a host, of letters, digits, hyphens, underscores and dots, that no
// resolver takes for a number.
func isHost(host string) bool {
	if host == "" || len(host) > 253 {
		return false
	}
	labels := strings.Split(host, ".")
	for _, label := range labels {
		if label == "" || len(label) > 63 || strings.ContainsFunc(label, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_'
		}) {
			return false
		}
	}
	last := labels[len(labels)-1]
	return !isNumber(last)
}

// isNumber reports whether resolvers may read a label as a number of an address: 127, 0177, 0x7f.
func isNumber(label string) bool {
	digits := strings.TrimPrefix(label, "0x")
	if digits == label {
		return !strings.ContainsFunc(label, func(r rune) bool { return r < '0' || r > '9' })
	}
	return !strings.ContainsFunc(digits, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'f')
	})
}

// checkURL refuses what can be known not to be an endpoint before its name is resolved. It is pure; the error is
// fault.Invalid.
func (a *Allowed) checkURL(text string) error {
	bad := func(format string, args ...any) error {
		return invalid("url", "url "+format, args...)
	}
	if text == "" {
		return bad("is missing: the address that events are posted to")
	}
	if !canonical.Printable(text, MaxURL) || strings.Contains(text, " ") {
		return bad("must be a URL of at most %d printable ASCII characters without spaces", MaxURL)
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Opaque != "" || u.Host == "":
		return bad("must be a URL such as https://example.com/hooks")
	case u.Scheme != "https" && u.Scheme != "http":
		return bad("must begin with https://")
	case u.Scheme == "http" && !a.HTTP:
		return bad("must begin with https://: this server does not send to http")
	case u.User != nil:
		return bad("must not hold a user or a password; send credentials in headers")
	case u.Fragment != "" || strings.HasSuffix(text, "#"):
		return bad("must not have a fragment")
	}
	return a.checkHost(u.Hostname())
}

func (a *Allowed) checkHost(host string) error {
	if ip, err := netip.ParseAddr(host); err == nil {
		if err := a.checkAddress(ip); err != nil {
			return invalid("url", "url must name a host on the public internet: %v", err)
		}
		return nil
	}
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	switch {
	case !isHost(name):
		return invalid("url", "url must name a host by its name or by an address in its usual form")
	case a.hasHost(name):
		return nil
	case name == "localhost" || strings.HasSuffix(name, ".localhost"):
		return invalid("url", "url must name a host on the public internet: %s is this machine", name)
	}
	return nil
}

func (a *Allowed) hasHost(host string) bool { return slices.Contains(a.Hosts, host) }

// refusal says why nothing is sent to an address.
type refusal struct {
	ip  netip.Addr
	why string
}

func (r *refusal) Error() string { return fmt.Sprintf("%s is %s", r.ip, r.why) }

// checkAddress refuses an address that is not public, unless it is allowed.
func (a *Allowed) checkAddress(ip netip.Addr) error {
	plain := ip.Unmap().WithZone("")
	for _, p := range a.Networks {
		if p.Contains(plain) {
			return nil
		}
	}
	if ip.Is4In6() {
		return &refusal{ip, "an IPv4 address in the form of IPv6"}
	}
	if why := special(plain); why != "" {
		return &refusal{ip, why}
	}
	return nil
}

// block is addresses that are not public, by what they are.
type block struct {
	prefix netip.Prefix
	what   string
}

// blocks are the special-purpose addresses of IANA's registries. Of IPv6 only 2000::/3 is public at all.
var blocks = []block{
	{netip.MustParsePrefix("0.0.0.0/8"), "this network"},
	{netip.MustParsePrefix("10.0.0.0/8"), "private"},
	{netip.MustParsePrefix("100.64.0.0/10"), "a shared address of a provider (CGNAT)"},
	{netip.MustParsePrefix("127.0.0.0/8"), "loopback"},
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local, where clouds keep metadata"},
	{netip.MustParsePrefix("172.16.0.0/12"), "private"},
	{netip.MustParsePrefix("192.0.0.0/24"), "reserved for protocols"},
	{netip.MustParsePrefix("192.0.2.0/24"), "reserved for documentation"},
	{netip.MustParsePrefix("192.88.99.0/24"), "reserved for relays"},
	{netip.MustParsePrefix("192.168.0.0/16"), "private"},
	{netip.MustParsePrefix("198.18.0.0/15"), "reserved for benchmarks"},
	{netip.MustParsePrefix("198.51.100.0/24"), "reserved for documentation"},
	{netip.MustParsePrefix("203.0.113.0/24"), "reserved for documentation"},
	{netip.MustParsePrefix("224.0.0.0/4"), "multicast"},
	{netip.MustParsePrefix("240.0.0.0/4"), "reserved"},
	{netip.MustParsePrefix("168.63.129.16/32"), "the address of a cloud's own services"},
	{netip.MustParsePrefix("2001::/23"), "reserved for protocols"},
	{netip.MustParsePrefix("2001:db8::/32"), "reserved for documentation"},
	{netip.MustParsePrefix("2002::/16"), "a tunnel (6to4)"},
	{netip.MustParsePrefix("3fff::/20"), "reserved for documentation"},
}

var public6 = netip.MustParsePrefix("2000::/3")

// special says what an address is that is not public, "" when it is public.
func special(ip netip.Addr) string {
	if !ip.IsValid() {
		return "no address"
	}
	for _, b := range blocks {
		if b.prefix.Contains(ip) {
			return b.what
		}
	}
	if ip.Is6() && !public6.Contains(ip) {
		return "not a public address"
	}
	return ""
}

// connectTimeout is how long a connection to an endpoint may take.
const connectTimeout = 5 * time.Second

// dial connects to an endpoint. It looks at each address when the connection is about to be made, so that a name
// that resolves to something else than a moment ago does not help.
func (a *Allowed) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	d := net.Dialer{Timeout: connectTimeout}
	if !a.hasHost(strings.ToLower(strings.TrimSuffix(host, "."))) {
		d.ControlContext = a.control
	}
	return d.DialContext(ctx, network, addr)
}

// control refuses a socket before it connects.
func (a *Allowed) control(_ context.Context, network, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil || network != "tcp4" && network != "tcp6" {
		return &refusal{to.Addr(), "no address of the internet"}
	}
	return a.checkAddress(to.Addr())
}

func invalid(field, format string, args ...any) *fault.Error {
	return fault.New(fault.Invalid, canonical.CodeInvalid, format, args...).With(map[string]string{"field": field})
}
