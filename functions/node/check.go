package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/orrery-dev/orrery/shared/config"
)

// checkTimeout bounds a health check; probes of containers give up after a few seconds.
const checkTimeout = 3 * time.Second

// check asks the node that serves on the address of the settings whether it is ready: an image without a shell has nothing
// else that could.
func check(ctx context.Context, c config.Config) error {
	host, port, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return fmt.Errorf("listen address %q: %w", c.Listen, err)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+"/v1/ready", nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("ask the node: %w", err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<10))
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the node is not ready: %s: %s", answer.Status, text)
	}
	return nil
}
