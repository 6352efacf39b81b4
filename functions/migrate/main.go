// Command migrate brings the schema up to date before anything else of a new version runs: as a Lambda function that a
// deployment invokes directly, and outside of Lambda as a job that does it once and ends. Any number at once are harmless.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/cfn"
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
	// Restored is set once after the database was restored from a backup: every node is fenced and joins again, and all task
	// tokens are refused.
	Restored bool `json:"restored"`
}

// Answer is what the function returns when the schema is up to date.
type Answer struct {
	// Version is that of the build whose schema is there now.
	Version string `json:"version"`
}

func main() {
	settings, err := config.Load(config.Migrate, os.Args[1:], os.LookupEnv, os.Stdout)
	if errors.Is(err, config.ErrHelp) {
		return
	}
	log := telemetry.NewLogger(os.Stderr, settings.LogLevel, slog.String(telemetry.KeyFunction, "migrate"))
	if err != nil {
		log.Error("settings are wrong", telemetry.KeyError, err)
		os.Exit(1)
	}
	if os.Getenv("AWS_LAMBDA_RUNTIME_API") != "" {
		lambda.Start(func(ctx context.Context, e json.RawMessage) (any, error) { return invoked(ctx, settings, e) })
		return
	}
	answer, err := migrate(context.Background(), settings, Event{Restored: settings.Restored})
	if err != nil {
		log.Error("the schema could not be brought up to date", telemetry.KeyError, err)
		os.Exit(1)
	}
	log.Info("the schema is up to date", telemetry.KeyVersion, answer.Version)
}

// invoked serves Lambda: an Event, or, within a deployment, an event of CloudFormation's, which waits for its answer before it
// makes what depends on the schema. Its end changes nothing: a database outlives the stack that used it.
func invoked(ctx context.Context, c config.Config, text json.RawMessage) (any, error) {
	var deployment cfn.Event
	if err := json.Unmarshal(text, &deployment); err == nil && deployment.ResponseURL != "" {
		return cfn.LambdaWrap(func(ctx context.Context, e cfn.Event) (string, map[string]any, error) {
			if e.RequestType == cfn.RequestDelete {
				return e.PhysicalResourceID, nil, nil
			}
			answer, err := migrate(ctx, c, Event{})
			return "schema", map[string]any{"Version": answer.Version}, err
		})(ctx, deployment)
	}
	var e Event
	if err := json.Unmarshal(text, &e); err != nil {
		return nil, fmt.Errorf("read the event: %w", err)
	}
	return migrate(ctx, c, e)
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
	if e.Restored {
		if err := migrations.Restored(ctx, conn); err != nil {
			return Answer{}, err
		}
	}
	return Answer{Version: telemetry.Version()}, nil
}
