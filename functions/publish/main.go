// Command publish is the Lambda function behind what an author sends: POST /v1/workflows checks a document and stores it as a
// version of its workflow, and schedules are made, replaced and previewed. What it needs is read from its environment (package config); it holds nothing between two requests but
// one connection, opened by the first.
package main

import (
	"context"
	"log/slog"
	"net/http"
	"os"

	"github.com/orrery-dev/orrery/shared/api"
	"github.com/orrery-dev/orrery/shared/auth"
	"github.com/orrery-dev/orrery/shared/config"
	"github.com/orrery-dev/orrery/shared/frontend"
	"github.com/orrery-dev/orrery/shared/lambdahttp"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/telemetry"
)

// function is the folder's name, and that of the function in the table of routes.
const function = "publish"

func main() {
	settings, err := config.Load(config.Function, nil, os.LookupEnv, os.Stdout)
	log := telemetry.NewLogger(os.Stderr, settings.LogLevel, slog.String(telemetry.KeyFunction, function))
	if err != nil {
		log.Error("settings are wrong", telemetry.KeyError, err)
		os.Exit(1)
	}
	handler, err := newHandler(settings, log)
	if err != nil {
		log.Error("the function cannot start", telemetry.KeyError, err)
		os.Exit(1)
	}
	lambdahttp.Start(handler)
}

func newHandler(c config.Config, log *slog.Logger) (http.Handler, error) {
	db, err := store.Open(context.Background(), c.DatabaseURL, store.Options{MaxConns: 1, Application: "orrery-" + function})
	if err != nil {
		return nil, err
	}
	front := frontend.New(db, frontend.Options{
		SessionTimeout: c.SessionTimeout, HeartbeatInterval: c.HeartbeatInterval, NodeTimeout: c.NodeTimeout,
		MaxPayload: c.MaxPayload, Version: telemetry.Version(),
		NoHTTP: c.HTTPAllow == "", NoLambda: c.LambdaAllow == "", NoS3: c.S3Allow == "",
	})
	return api.ForFunction(function, api.Services{Workflows: front, Schedules: front}, api.Options{
		Authenticator: auth.Open{}, // the gateway has checked the caller
		Log:           log,
		MaxBody:       c.MaxBody,
		MaxPayload:    c.MaxPayload,
		Deadline:      c.RequestTimeout,
	}), nil
}
