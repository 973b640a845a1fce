package sqldb

import (
	"strings"
	"syscall"
)

// tcpUserTimeout is the socket option that bounds how long sent data may stay
// unacknowledged; package syscall has no name for it.
const tcpUserTimeout = 0x12

// userTimeout has the system give up on a peer that is gone after ten seconds.
func userTimeout(network, _ string, c syscall.RawConn) error {
	if !strings.HasPrefix(network, "tcp") {
		return nil
	}
	var err error
	if e := c.Control(func(fd uintptr) {
		err = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, 10_000)
	}); e != nil {
		return e
	}
	return err
}
