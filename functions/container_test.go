package functions_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/orrery-dev/orrery/shared/api"
	"github.com/orrery-dev/orrery/shared/config"
)

// isSetting tells whether a node or the migration reads a variable: the help lists all that they read.
func isSetting(name string) bool {
	for _, line := range strings.Split(config.Help(config.Node)+config.Help(config.Migrate), "\n") {
		if slices.Contains(strings.Fields(line), name) {
			return true
		}
	}
	return false
}

// readManifests reads all documents of a file of manifests.
func readManifests(t *testing.T, path string) (documents []map[string]any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for d := yaml.NewDecoder(strings.NewReader(string(text))); ; {
		var m map[string]any
		if err := d.Decode(&m); errors.Is(err, io.EOF) {
			return documents
		} else if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		documents = append(documents, m)
	}
}

// dig follows the members and places of a document.
func dig(t *testing.T, document any, path ...any) any {
	t.Helper()
	for _, step := range path {
		switch d := document.(type) {
		case map[string]any:
			document = d[step.(string)]
		case []any:
			document = d[step.(int)]
		}
		if document == nil {
			t.Fatalf("%v: there is no %v", path, step)
		}
	}
	return document
}

// checkVariables checks that an image's settings are ones that its programs read.
func checkVariables(t *testing.T, where string, names ...string) {
	t.Helper()
	for _, name := range names {
		if strings.HasPrefix(name, "ORRERY_") || strings.HasPrefix(name, "DATABASE_") {
			if !isSetting(name) {
				t.Errorf("%s sets %s, which nobody reads", where, name)
			}
		}
	}
}

// TestDockerfile: the image is built with the module's version of Go, from folders that exist, and sets what a node reads.
func TestDockerfile(t *testing.T) {
	text, err := os.ReadFile("../infra/node/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	module, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(module)
	if !strings.Contains(string(text), "FROM golang:"+string(version[1])+" ") {
		t.Errorf("the image is not built with Go %s", version[1])
	}
	built := regexp.MustCompile(`\./functions/(\w+)`).FindAllStringSubmatch(string(text), -1)
	for _, b := range built {
		if _, err := os.Stat(filepath.Join(b[1], "main.go")); err != nil {
			t.Error(err)
		}
	}
	if len(built) != 2 || !strings.Contains(string(text), "\nFROM scratch\n") || !strings.Contains(string(text), "\nUSER 65532:65532\n") {
		t.Errorf("the image has %v, and is to be from scratch and run by nobody of rights", built)
	}
	for _, set := range regexp.MustCompile(`(?m)^ENV (\w+)=`).FindAllStringSubmatch(string(text), -1) {
		checkVariables(t, "the image", set[1])
	}
}

// TestCompose: what the containers are told is what their programs read.
func TestCompose(t *testing.T) {
	services := dig(t, readManifests(t, "../local/compose.yaml")[0], "services").(map[string]any)
	for name, service := range services {
		for variable := range dig(t, service, "environment").(map[string]any) {
			checkVariables(t, name, variable)
		}
	}
	for _, name := range []string{"migrate", "node-1", "node-2"} {
		if services[name] == nil {
			t.Errorf("there is no %s", name)
		}
	}
}

// TestKubernetes: the manifests of the kustomization exist, select each other, and tell nodes what they read; the probes ask
// for routes that nodes serve.
func TestKubernetes(t *testing.T) {
	const folder = "../infra/kubernetes/"
	kinds := map[string]map[string]any{}
	for _, file := range dig(t, readManifests(t, folder+"kustomization.yaml")[0], "resources").([]any) {
		for _, m := range readManifests(t, folder+file.(string)) {
			kinds[m["kind"].(string)+"/"+dig(t, m, "metadata", "name").(string)] = m
		}
	}
	set := kinds["StatefulSet/node"]
	labels := dig(t, set, "spec", "template", "metadata", "labels").(map[string]any)
	for name, path := range map[string][]any{
		"StatefulSet/node": {"spec", "selector", "matchLabels"}, "PodDisruptionBudget/node": {"spec", "selector", "matchLabels"},
		"Service/orrery": {"spec", "selector"}, "Service/nodes": {"spec", "selector"}, "NetworkPolicy/nodes": {"spec", "podSelector", "matchLabels"},
	} {
		for key, value := range dig(t, kinds[name], path...).(map[string]any) {
			if labels[key] != value {
				t.Errorf("%s selects %s=%v, the pods have %v", name, key, value, labels[key])
			}
		}
	}
	pod := dig(t, set, "spec", "template", "spec")
	for _, container := range []any{dig(t, pod, "containers", 0), dig(t, pod, "initContainers", 0)} {
		name := dig(t, container, "name").(string)
		for _, variable := range dig(t, container, "env").([]any) {
			checkVariables(t, name, dig(t, variable, "name").(string))
		}
		if dig(t, container, "securityContext", "readOnlyRootFilesystem") != true {
			t.Errorf("%s may write to its files", name)
		}
	}
	path := dig(t, pod, "containers", 0, "readinessProbe", "httpGet", "path").(string)
	if !slices.ContainsFunc(api.Routes(), func(r api.Route) bool { return r.Method == "GET" && r.Pattern == path }) {
		t.Errorf("the readiness probe asks for %s, which is no route", path)
	}
}
