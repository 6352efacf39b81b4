// Command probe is a Lambda function for the tests of the gateway.
package main

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/orrery-dev/orrery/local/gateway/testdata/probe/handler"
	"github.com/orrery-dev/orrery/shared/lambdahttp"
)

func main() {
	function := lambdahttp.Handler(handler.New())
	// Direct events reach what a handler of requests cannot do: to fail, to give a result that is no answer, and to see what
	// the caller says beside the payload.
	lambda.Start(func(ctx context.Context, payload json.RawMessage) (any, error) {
		var direct struct {
			Fail, Text, Custom string
		}
		_ = json.Unmarshal(payload, &direct) // another event has neither
		switch {
		case direct.Fail != "":
			return nil, errors.New(direct.Fail)
		case direct.Text != "":
			return direct.Text, nil
		case direct.Custom != "":
			about, _ := lambdacontext.FromContext(ctx)
			return about.ClientContext.Custom[direct.Custom], nil
		}
		return function(ctx, payload)
	})
}
