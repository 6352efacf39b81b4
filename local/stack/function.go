package stack

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/orrery-dev/orrery/local/gateway"
	"github.com/orrery-dev/orrery/shared/api"
	"github.com/orrery-dev/orrery/shared/auth"
	"github.com/orrery-dev/orrery/shared/config"
	"github.com/orrery-dev/orrery/shared/frontend"
	"github.com/orrery-dev/orrery/shared/lambdahttp"
	"github.com/orrery-dev/orrery/shared/store"
)

// queueWait is how long a call may wait for an instance, as the gateway's clients would for a Lambda that scales.
const queueWait = 10 * time.Second

// variables are what a deployment would give the functions besides the template.
func (s *Stack) variables() map[string]string {
	v := map[string]string{"DATABASE_URL": s.DatabaseURL}
	if t := s.options.SessionTimeout; t > 0 {
		v["ORRERY_SESSION_TIMEOUT"] = t.String()
	}
	passOn(v)
	return v
}

// templateValues are the parameters of the template.
func (s *Stack) templateValues() map[string]string {
	return map[string]string{"DatabaseUrl": s.DatabaseURL}
}

// binaries names what must be built: under the emulator every function that exists, else the node alone.
func (s *Stack) binaries() []string {
	if !s.options.RIE {
		return []string{"node"}
	}
	var names []string
	mains, _ := filepath.Glob(filepath.Join(s.options.Root, "functions", "*", "main.go"))
	for _, m := range mains {
		names = append(names, filepath.Base(filepath.Dir(m)))
	}
	return names
}

func (s *Stack) pool(ctx context.Context, f gateway.Function, bootstrap string) (*gateway.Pool, error) {
	limits := gateway.Limits{Instances: s.options.Instances, Queue: 1000, Wait: queueWait}
	if !s.options.RIE {
		return gateway.InProcess(f, limits, func() (lambdahttp.Func, func(), error) { return s.cold(f) }), nil
	}
	emulator, err := gateway.InstallEmulator(ctx, "")
	if err != nil {
		return nil, err
	}
	return emulator.Pool(f, bootstrap, s.variables(), limits, s.options.Log)
}

// settings are those of a function: what the template sets, and what a deployment would.
func (s *Stack) settings(p config.Program, f gateway.Function) (config.Config, error) {
	env := map[string]string{}
	maps.Copy(env, f.Env)
	maps.Copy(env, s.variables())
	c, err := config.Load(p, nil, func(k string) (string, bool) { v, ok := env[k]; return v, ok }, os.Stderr)
	if err != nil {
		return c, fmt.Errorf("settings of function %s: %w", f.Name, err)
	}
	return c, nil
}

// cold makes one instance of a function in this process, from the same settings and the same handler as its binary, with
// one connection of its own.
func (s *Stack) cold(f gateway.Function) (lambdahttp.Func, func(), error) {
	c, err := s.settings(config.Function, f)
	if err != nil {
		return nil, nil, err
	}
	db, err := store.Open(context.Background(), c.DatabaseURL, store.Options{MaxConns: 1, Application: "orrery-" + f.Name})
	if err != nil {
		return nil, nil, err
	}
	front := frontend.New(db, frontend.Options{
		SessionTimeout: c.SessionTimeout, HeartbeatInterval: c.HeartbeatInterval, NodeTimeout: c.NodeTimeout, MaxPayload: c.MaxPayload,
		NoHTTP: c.HTTPAllow == "", NoLambda: c.LambdaAllow == "", NoS3: c.S3Allow == "",
	})
	handler := api.ForFunction(f.Name,
		api.Services{Workers: front, Tasks: front, Executions: front, Workflows: front, Schedules: front, Cluster: front},
		api.Options{Authenticator: auth.Open{}, Log: s.options.Log, MaxBody: c.MaxBody, MaxPayload: c.MaxPayload, Deadline: c.RequestTimeout})
	return lambdahttp.Handler(handler), db.Close, nil
}
