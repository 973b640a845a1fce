package sqldb

import (
	"strings"
	"syscall"
)

// tcpUserTimeout bounds how long sent data stays unacknowledged; package syscall does not name it.
const tcpUserTimeout = 0x12

// userTimeout makes the system give up on a dead peer after ten seconds.
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
