package pgserver

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// errPortTaken says that somebody else listens on the chosen port.
var errPortTaken = errors.New("port is taken")

// Ports come from below the ranges that systems give to outgoing
// connections. On a port from such a range a client that dials again and
// again while the server is stopped can connect to itself, and then holds
// the port that the server wants back.
const (
	lowestPort  = 20000
	highestPort = 32000
)

// freePort returns a port of 127.0.0.1 on which nobody listens now.
func freePort() (int, error) {
	for range 100 {
		if port := lowestPort + rand.IntN(highestPort-lowestPort); isFree(port) {
			return port, nil
		}
	}
	return 0, fmt.Errorf("no free port found between %d and %d", lowestPort, highestPort)
}

// isFree reports whether nobody listens on a port of 127.0.0.1 now.
func isFree(port int) bool {
	listener, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return false
	}
	listener.Close()
	return true
}
