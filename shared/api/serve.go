package api

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
)

// stopTime is how long answers may take that were begun before the work ended.
const stopTime = 5 * time.Second

// Serve answers requests on l while work runs, and returns when both are over. work ends with ctx, or by itself with an
// error; until it returns, requests are answered, so that a load balancer sees a process that leaves as not ready.
// deadline is that of the handler.
func Serve(ctx context.Context, l net.Listener, h http.Handler, deadline time.Duration, work func(context.Context) error) error {
	server := &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: deadline, WriteTimeout: deadline + stopTime,
		IdleTimeout: 2 * time.Minute,
	}
	group, running := errgroup.WithContext(ctx)
	group.Go(func() error {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	group.Go(func() error {
		err := work(running)
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
		defer cancel()
		return errors.Join(err, server.Shutdown(late))
	})
	return group.Wait()
}
