package webhooks

import (
	"net/netip"
	"strings"
	"testing"
)

// insideURLs lead inside, or would on some resolver, or are no endpoints at all.
var insideURLs = []string{
	"", "example.com", "//example.com/hook", "/hook", "https://", "https:///hook", "https:example.com",
	"ftp://example.com/", "file:///etc/passwd", "gopher://example.com:70/_", "dict://example.com:11211/",
	"javascript:alert(1)", "data:text/plain,x", "unix:///var/run/docker.sock", "ldap://example.com",
	"jar:https://x!/", "http://example.com/", "HTTP://example.com/", "ws://example.com/",
	"https://user@example.com/", "https://user:secret@example.com/", "https://example.com/#part",
	"https://example.com/#", "https://exa mple.com/", "https://example.com/\n", "https://example.com/\x00",
	"https://exämple.com/", "https://example.com:port/", "https://[::1", "https://[1.2.3.4]/",
	"https://localhost/", "https://LOCALHOST/", "https://localhost./", "https://a.localhost/",
	"https://localhost:8443/", "https://127.0.0.1/", "https://127.0.0.1:8080/", "https://127.1.2.3/",
	"https://127.255.255.255/", "https://0.0.0.0/", "https://0.1.2.3/", "https://10.0.0.1/",
	"https://10.255.255.255/", "https://172.16.0.1/", "https://172.31.255.255/", "https://192.168.0.1/",
	"https://192.168.255.255/", "https://100.64.0.1/", "https://100.127.255.255/",
	"https://100.100.100.200/", "https://169.254.169.254/latest/meta-data/",
	"https://169.254.170.2/v2/credentials", "https://168.63.129.16/", "https://192.0.0.192/",
	"https://192.0.0.1/", "https://192.0.2.1/", "https://192.88.99.1/", "https://198.18.0.1/",
	"https://198.19.255.255/", "https://198.51.100.7/", "https://203.0.113.7/", "https://224.0.0.1/",
	"https://239.255.255.250/", "https://240.0.0.1/", "https://255.255.255.255/", "https://127.1/",
	"https://127.0.1/", "https://0/", "https://2130706433/", "https://0x7f000001/", "https://0x7f.1/",
	"https://0x7f.0x0.0x0.0x1/", "https://017700000001/", "https://0177.0.0.1/", "https://127.0.0.1./",
	"https://10.1/", "https://169.254.43518/", "https://0xa9fea9fe/", "https://a.b.1/",
	"https://example.0x1/", "https://[::1]/", "https://[::]/", "https://[0:0:0:0:0:0:0:1]/",
	"https://[::ffff:127.0.0.1]/", "https://[::ffff:7f00:1]/", "https://[::ffff:10.0.0.1]/",
	"https://[::ffff:8.8.8.8]/", "https://[::127.0.0.1]/", "https://[fe80::1]/", "https://[fe80::1%25eth0]/",
	"https://[febf::1]/", "https://[fec0::1]/", "https://[fc00::1]/", "https://[fd00:ec2::254]/",
	"https://[fd12:3456:789a::1]/", "https://[ff02::1]/", "https://[ff0e::1]/", "https://[64:ff9b::7f00:1]/",
	"https://[64:ff9b:1::1]/", "https://[100::1]/", "https://[2001::1]/", "https://[2001:db8::1]/",
	"https://[2002:7f00:1::]/", "https://[2002:a00:1::1]/", "https://[3fff::1]/", "https://[4000::1]/",
	"https://example..com/", "https://.example.com/", "https://example.com,127.0.0.1/",
	"https://127.0.0.1%2f@example.com/", "https://%31%32%37.0.0.1/", "https://①②⑦.0.0.1/",
	"https://example.com\\@127.0.0.1/",
	"https://" + strings.Repeat("a", 64) + ".example.com/", "https://example.com/" + strings.Repeat("a", MaxURL),
}

func TestURLsThatLeadInsideAreRefused(t *testing.T) {
	if len(insideURLs) < 80 {
		t.Errorf("%d URLs are tried, want at least 80", len(insideURLs))
	}
	var none Allowed
	for _, text := range insideURLs {
		if err := none.checkURL(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

func TestURLsOfEndpointsAreTaken(t *testing.T) {
	for _, text := range []string{
		"https://example.com", "https://example.com/hook?token=a%20b", "https://EXAMPLE.com:8443/", "https://8.8.8.8/",
		"https://a-b_c.example.co.uk./x", "https://[2606:4700::1111]:443/", "https://1password.com/",
		"https://172.32.0.1/",
		"https://100.128.0.1/", "https://xn--exmple-cua.com/",
	} {
		if err := (&Allowed{}).checkURL(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestAnOperatorAllowsWhatIsInside(t *testing.T) {
	a, err := ParseAllowed([]string{"10.1.0.0/16", "fd00:1::/32", "192.168.7.9", "Relay.internal", " localhost "})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		"https://10.1.2.3/": true, "https://10.2.0.1/": false, "https://[fd00:1::5]/": true,
		"https://[fd00:2::5]/": false,
		"https://192.168.7.9/": true, "https://192.168.7.8/": false, "https://relay.internal/": true,
		"https://localhost/": true, "https://LOCALHOST:99/": true, "https://127.0.0.1/": false,
		"https://[::ffff:10.1.2.3]/": true, "http://10.1.2.3/": false,
	} {
		if err := a.checkURL(text); (err == nil) != want {
			t.Errorf("%s: got %v, want it taken: %t", text, err, want)
		}
	}
	a.HTTP = true
	if err := a.checkURL("http://10.1.2.3:8080/"); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{
		"", "10.0.0.0/33", "a b", "*.example.com", "https://example.com", "fe80::1%eth0", "10.1",
	} {
		if _, err := ParseAllowed([]string{bad}); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// TestEveryAddressIsLookedAtWhenItIsDialed names what a name may resolve to: what control gets.
func TestEveryAddressIsLookedAtWhenItIsDialed(t *testing.T) {
	a := Allowed{Networks: []netip.Prefix{netip.MustParsePrefix("10.9.0.0/16")}}
	for _, tt := range []struct {
		network, address string
		taken            bool
	}{
		{"tcp4", "93.184.215.14:443", true},
		{"tcp6", "[2606:2800:21f:cb07:6820:80da:af6b:8b2c]:443", true},
		{"tcp4", "10.9.1.1:443", true},
		{"tcp4", "10.8.1.1:443", false},
		{"tcp4", "127.0.0.1:443", false},
		{"tcp4", "169.254.169.254:80", false},
		{"tcp6", "[::1]:443", false},
		{"tcp6", "[fe80::1%lo]:443", false},
		{"tcp6", "[::ffff:127.0.0.1]:443", false},
		{"unix", "/var/run/docker.sock", false},
		{"udp4", "93.184.215.14:53", false},
	} {
		if err := a.control(t.Context(), tt.network, tt.address, nil); (err == nil) != tt.taken {
			t.Errorf("%s %s: got %v, want it taken: %t", tt.network, tt.address, err, tt.taken)
		}
	}
}
