// Package functions_test checks the deployment against the code: the template's routes, variables and folders.
package functions_test

import (
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/local/gateway"
	"github.com/orrery-dev/orrery/shared/api"
	"github.com/orrery-dev/orrery/shared/config"
)

func readTemplate(t *testing.T) ([]gateway.Route, []gateway.Function) {
	t.Helper()
	routes, functions, err := gateway.ReadTemplate("../template.yaml", map[string]string{"DatabaseUrl": "postgres://db/orrery"})
	if err != nil {
		t.Fatal(err)
	}
	return routes, functions
}

// TestTemplateHasEveryRouteOnce compares the template with the table of routes, both ways.
func TestTemplateHasEveryRouteOnce(t *testing.T) {
	routes, _ := readTemplate(t)
	got := map[string][]string{}
	for _, r := range routes {
		got[r.Key()] = append(got[r.Key()], r.Function)
	}
	for _, r := range api.Routes() {
		key := r.Method + " " + r.Pattern
		if f := got[key]; r.NodeOnly() && len(f) > 0 {
			t.Errorf("%s is node-only, and in the template under %v", key, f)
		} else if !r.NodeOnly() && !slices.Equal(f, []string{r.Function}) {
			t.Errorf("%s is served by %v, want %s", key, f, r.Function)
		}
		delete(got, key)
	}
	for key, f := range got {
		t.Errorf("%s of %v is not in the table of routes", key, f)
	}
}

// TestTemplateHasEveryFunction: each folder but the node's is a function of the template, with an event beside it.
func TestTemplateHasEveryFunction(t *testing.T) {
	_, functions := readTemplate(t)
	inTemplate := map[string]bool{}
	for _, f := range functions {
		inTemplate[f.Name] = true
	}
	mains, err := filepath.Glob("*/main.go")
	if err != nil || len(mains) == 0 {
		t.Fatalf("no functions: %v", err)
	}
	for _, m := range mains {
		name := filepath.Dir(m)
		if (name != "node") != inTemplate[name] {
			t.Errorf("folder %s, in the template: %v", name, inTemplate[name])
		}
		delete(inTemplate, name)
	}
	for name := range inTemplate {
		t.Errorf("the template has %s, which has no folder", name)
	}
}

// TestTemplateSetsWhatFunctionsRead: every variable is one that the function reads, and what must be set is.
func TestTemplateSetsWhatFunctionsRead(t *testing.T) {
	_, functions := readTemplate(t)
	for _, f := range functions {
		program := config.Function
		switch f.Name {
		case "migrate":
			program = config.Migrate
		case "cron":
			program = config.Cron
		}
		read := map[string]bool{}
		lookup := func(name string) (string, bool) {
			read[name] = true
			v, ok := f.Env[name]
			return v, ok
		}
		if _, err := config.Load(program, nil, lookup, io.Discard); err != nil {
			t.Errorf("%s: %v", f.Name, err)
		}
		for _, name := range slices.Sorted(maps.Keys(f.Env)) {
			if !read[name] {
				t.Errorf("%s: the template sets %s, which nobody reads", f.Name, name)
			}
		}
		if len(f.Unknown) > 0 {
			t.Errorf("%s: the values of %v are not known", f.Name, f.Unknown)
		}
	}
}

// TestEvents: the recorded event of each function is one of its routes.
func TestEvents(t *testing.T) {
	_, functions := readTemplate(t)
	for _, f := range functions {
		text, err := os.ReadFile(filepath.Join(f.Name, "event.json"))
		if err != nil {
			t.Error(err)
			continue
		}
		var event struct {
			RouteKey string `json:"routeKey"`
			RawPath  string `json:"rawPath"`
		}
		if err := json.Unmarshal(text, &event); err != nil {
			t.Errorf("%s: %v", f.Name, err)
		}
		own := slices.ContainsFunc(api.Routes(), func(r api.Route) bool {
			return r.Function == f.Name && r.Method+" "+r.Pattern == event.RouteKey &&
				strings.Count(r.Pattern, "/") == strings.Count(event.RawPath, "/")
		})
		if own == (f.Name == "migrate" || f.Name == "cron") {
			t.Errorf("%s: its event is for %q", f.Name, event.RouteKey)
		}
	}
}

// TestTemplateTicks: the scheduled function runs each minute, and its time is over before the next tick.
func TestTemplateTicks(t *testing.T) {
	_, functions := readTemplate(t)
	for _, f := range functions {
		if f.Name == "cron" && f.Every == time.Minute && f.Timeout < f.Every {
			return
		}
		if f.Every != 0 {
			t.Errorf("%s runs every %v, for up to %v", f.Name, f.Every, f.Timeout)
		}
	}
	t.Error("nothing ticks")
}
