package telemetry_test

import (
	"net"
	"net/http"
	"testing"

	"github.com/orrery-dev/orrery/shared/telemetry"
)

func TestServeDebug(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if _, err := telemetry.ServeDebug(address); err == nil {
		t.Error("an address that is taken is no error")
	}
	l.Close()
	stop, err := telemetry.ServeDebug(address)
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + address + "/debug/pprof/goroutine?debug=1"
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("status %d, want 200", resp.StatusCode)
	}
	stop()
	if resp, err := http.Get(url); err == nil {
		resp.Body.Close()
		t.Error("the listener answers after stop")
	}
}

func TestServeDebugIsOffWithoutAddress(t *testing.T) {
	stop, err := telemetry.ServeDebug("")
	if err != nil {
		t.Fatal(err)
	}
	stop()
}
