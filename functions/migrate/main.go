// Command migrate is the Lambda function that brings the schema up to date; a deployment invokes it directly, before
// anything else of the new version runs. Any number of invocations at once are harmless.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/jackc/pgx/v5"

	"github.com/orrery-dev/orrery/migrations"
	"github.com/orrery-dev/orrery/shared/config"
	"github.com/orrery-dev/orrery/shared/telemetry"
)

// Event is what the function is invoked with.
type Event struct {
	// Partitions is over how many parts executions are spread, fixed when a database is initialised; 256 when left out.
	Partitions int `json:"partitions"`
}

// Answer is what the function returns when the schema is up to date.
type Answer struct {
	// Version is that of the build whose schema is there now.
	Version string `json:"version"`
}

func main() {
	settings, err := config.Load(config.Migrate, nil, os.LookupEnv, os.Stdout)
	log := telemetry.NewLogger(os.Stderr, settings.LogLevel, slog.String(telemetry.KeyFunction, "migrate"))
	if err != nil {
		log.Error("settings are wrong", telemetry.KeyError, err)
		os.Exit(1)
	}
	lambda.Start(func(ctx context.Context, e Event) (Answer, error) { return migrate(ctx, settings, e) })
}

func migrate(ctx context.Context, c config.Config, e Event) (Answer, error) {
	if e.Partitions == 0 {
		e.Partitions = migrations.Partitions
	}
	conn, err := pgx.Connect(ctx, c.DirectURL)
	if err != nil {
		return Answer{}, fmt.Errorf("connect: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if err := migrations.ApplyWithPartitions(ctx, conn, e.Partitions); err != nil {
		return Answer{}, err
	}
	return Answer{Version: telemetry.Version()}, nil
}
