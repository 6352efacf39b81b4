package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/google/uuid"

	"github.com/orrery-dev/orrery/shared/lambdahttp"
)

// Cold makes what an instance is made of when it starts: a function with its own connections, and what ends them (nil
// for nothing).
type Cold func() (lambdahttp.Func, func(), error)

// Shared makes every instance of one function, which is then called several times at once.
func Shared(f lambdahttp.Func) Cold {
	return func() (lambdahttp.Func, func(), error) { return f, nil, nil }
}

// InProcess makes a pool whose instances are in this process. A function that does not return at its timeout is left
// alone, as nothing can end it, and counts as ended.
func InProcess(f Function, limits Limits, cold Cold) *Pool {
	return newPool(f.Name, limits, func() (instance, error) {
		fn, end, err := cold()
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithCancel(context.Background())
		return &inProcess{function: f, fn: fn, end: end, ctx: ctx, cancel: cancel}, nil
	})
}

type inProcess struct {
	function Function
	fn       lambdahttp.Func
	end      func()
	ctx      context.Context // ends with the instance
	cancel   context.CancelFunc
	timedOut atomic.Bool
	calls    sync.WaitGroup
	ending   sync.Once
}

func (i *inProcess) invoke(event []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(i.ctx, i.function.Timeout)
	ctx = lambdacontext.NewContext(ctx, &lambdacontext.LambdaContext{
		AwsRequestID:       uuid.NewString(),
		InvokedFunctionArn: "arn:aws:lambda:us-east-1:012345678912:function:" + i.function.Name,
	})
	type outcome struct {
		result []byte
		err    error
	}
	done := make(chan outcome, 1)
	i.calls.Go(func() {
		defer cancel()
		resp, err := i.fn(ctx, event)
		if err != nil {
			done <- outcome{nil, &FunctionError{reflect.TypeOf(err).String(), err.Error()}}
			return
		}
		result, err := json.Marshal(resp)
		if err != nil {
			err = fmt.Errorf("encoding the result: %w", err)
		}
		done <- outcome{result, err}
	})
	o := outcome{err: ErrClosed} // for a call that outlasts its instance
	select {
	case o = <-done:
	case <-ctx.Done():
		select {
		case o = <-done: // the context ended with the call
		default:
		}
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		i.timedOut.Store(true)
		return nil, ErrTimeout
	}
	return o.result, o.err
}

func (i *inProcess) usable() bool { return !i.timedOut.Load() && i.ctx.Err() == nil }

func (i *inProcess) stop() {
	i.cancel()
	i.calls.Wait()
	i.ending.Do(func() {
		if i.end != nil {
			i.end()
		}
	})
}
