package gate

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// Limits of a connection. They hold where a route's own time-out does not reach:
// before a request is read and while its bytes go over the wire.
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 30 * time.Second
	writeTimeout      = 45 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 16 << 10
)

// Server is an HTTP server with limits on everything that a caller can stretch.
// Streams and long polls lift the limits that do not fit them.
func Server(addr string, handler http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Addr:              addr,
		Handler:           handler,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

// CheckListen refuses mode none on an address that others can reach. A host name
// counts as loopback only if all its addresses are.
func CheckListen(ctx context.Context, addr string, mode Mode) error {
	if mode != ModeNone {
		return nil
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("gate: %q is not an address to listen on: %w", addr, err)
	}
	refused := fmt.Errorf("gate: auth mode none is refused on %q: it is not a loopback address; "+
		"listen on 127.0.0.1 or [::1], or use auth mode jwt", addr)
	if host == "" {
		return refused
	}
	var ips []netip.Addr
	if ip, err := netip.ParseAddr(host); err == nil {
		ips = append(ips, ip)
	} else if ips, err = net.DefaultResolver.LookupNetIP(ctx, "ip", host); err != nil {
		return fmt.Errorf("gate: cannot resolve %q: %w", host, err)
	}
	if len(ips) == 0 || slices.ContainsFunc(ips, func(ip netip.Addr) bool { return !ip.Unmap().IsLoopback() }) {
		return refused
	}
	return nil
}

// loopbackHost reports whether a Host header names this machine for itself. A page
// of another name that resolves to 127.0.0.1 (DNS rebinding) still sends its own
// name.
func loopbackHost(header string) bool {
	host := header
	switch {
	case strings.HasPrefix(host, "["):
		end := strings.IndexByte(host, ']')
		if end < 0 || !portOrNothing(host[end+1:]) {
			return false
		}
		ip, err := netip.ParseAddr(host[1:end])
		return err == nil && ip.Is6() && ip.Unmap().IsLoopback()
	default:
		name, port, found := strings.Cut(host, ":")
		if found && !portOrNothing(":"+port) {
			return false
		}
		if strings.EqualFold(name, "localhost") {
			return true
		}
		ip, err := netip.ParseAddr(name)
		return err == nil && ip.Is4() && ip.IsLoopback()
	}
}

// portOrNothing reports whether s is "" or ":" and digits.
func portOrNothing(s string) bool {
	if s == "" {
		return true
	}
	if s[0] != ':' || len(s) < 2 || len(s) > 6 {
		return false
	}
	return strings.Trim(s[1:], "0123456789") == ""
}
