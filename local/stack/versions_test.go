package stack

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/orrery-dev/orrery/shared/wire"
	"github.com/orrery-dev/orrery/shared/worker"
)

// firstVersion is the commit that v0.1.0 names, for clones that have no tags.
const firstVersion = "204a86eaaeb1fcdb44d3e73cff2fbe872ea3511c"

// previousNode builds the node of the last tagged version, from the repository's own history, and gives its binary.
func previousNode(t *testing.T) string {
	t.Helper()
	git := func(args ...string) (string, error) {
		out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", "../.."}, args...)...).Output()
		return strings.TrimSpace(string(out)), err
	}
	version := firstVersion
	if tags, err := git("tag", "--list", "v*", "--sort=-version:refname"); err == nil && tags != "" {
		version = strings.Fields(tags)[0]
	}
	if _, err := git("cat-file", "-e", version+"^{commit}"); err != nil {
		t.Fatalf("the repository has neither a tag of a version nor the commit %s: clone it with its history (%v)", firstVersion, err)
	}
	dir := t.TempDir()
	unpack := exec.CommandContext(t.Context(), "sh", "-c", `git -C ../.. archive "$0" | tar -x -C "$1"`, version, dir)
	if out, err := unpack.CombinedOutput(); err != nil {
		t.Fatalf("unpack %s: %v\n%s", version, err, out)
	}
	binary := filepath.Join(dir, "previous-node")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", binary, "./functions/node")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the node of %s: %v\n%s", version, err, out)
	}
	t.Logf("the previous version is %s", version)
	return binary
}

// TestPreviousVersionBesideThisOne: on the newest schema, a node of the last tagged version works beside one of this version.
// Executions that began under each go on under the other.
func TestPreviousVersionBesideThisOne(t *testing.T) {
	t.Parallel()
	binary := previousNode(t)
	s := newSystem(t, Options{})
	this, previous := s.Nodes[0], s.Nodes[1]
	if err := previous.Stop(); err != nil {
		t.Fatal(err)
	}
	previous.binary = binary
	if err := previous.Start(); err != nil {
		t.Fatal(err)
	}
	if err := previous.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.ownedBy(30*time.Second, this.ID, previous.ID)

	s.publish("orders", `{"StartAt": "Charge", "States": {
		"Charge": {"Type": "Task", "Resource": "task:charge", "Next": "Packed"},
		"Packed": {"Type": "Task", "Resource": "signal:packed", "Next": "Ship"},
		"Ship": {"Type": "Task", "Resource": "task:charge", "End": true}}}`)
	w := worker.New(s.workerConfig("w", s.URL))
	worker.Handle(w, "charge", 1, func(_ context.Context, _ worker.Task, in json.RawMessage) (json.RawMessage, error) {
		return in, nil
	})
	s.work(w)
	const each = 10
	for i := range each {
		for k, c := range s.nodes {
			name := fmt.Sprintf("e%d-%d", k, i)
			s.call(c, "POST", "/v1/executions", wire.StartRequest{Workflow: "orders", Name: name, Input: json.RawMessage(`{"a":1}`)}, nil)
		}
	}
	signalled := func(c *wire.Client, from, to int) {
		for i := from; i < to; i++ {
			for k := range s.nodes {
				s.call(c, "POST", fmt.Sprintf("/v1/executions/e%d-%d/signals/packed", k, i), wire.SignalRequest{Payload: json.RawMessage("1")}, nil)
			}
		}
	}
	// The previous version takes everything over, and gives it back by dying.
	if err := this.Stop(); err != nil {
		t.Fatal(err)
	}
	s.ownedBy(30*time.Second, previous.ID)
	signalled(s.nodes[1], 0, each/2)
	if err := this.Start(); err != nil {
		t.Fatal(err)
	}
	if err := this.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.ownedBy(30*time.Second, this.ID, previous.ID)
	signalled(s.nodes[0], each/2, each-1)
	if err := previous.Kill(); err != nil {
		t.Fatal(err)
	}
	s.ownedBy(30*time.Second, this.ID)
	signalled(s.nodes[0], each-1, each)
	s.awaitEnd(60 * time.Second)
	for i := range each {
		for k := range s.nodes {
			if d := s.detail(fmt.Sprintf("e%d-%d", k, i)); d.Status != wire.Succeeded {
				t.Errorf("%s is %s", d.ID, d.Status)
			}
		}
	}
}
