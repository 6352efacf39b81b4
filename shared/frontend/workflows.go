package frontend

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/orrery-dev/orrery/shared/auth"
	"github.com/orrery-dev/orrery/shared/definition"
	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/wire"
)

// Publish checks a document and stores it as a version; a dry run stores nothing.
func (f *Frontend) Publish(ctx context.Context, c auth.Call, q wire.PublishRequest, dryRun bool) (wire.Workflow, bool, error) {
	ns, err := f.namespace(ctx, c)
	if err != nil {
		return wire.Workflow{}, false, err
	}
	doc, warnings, err := parseDocument(q.Document, definition.Options{Strict: q.Strict, Off: f.off()})
	if err != nil {
		return wire.Workflow{}, false, err
	}
	d := store.Definition{Namespace: ns, Name: q.Name, Version: q.Version, Hash: doc.Hash, Document: doc.Normalised, Strict: q.Strict}
	var created bool
	if dryRun {
		d, err = f.wouldPublish(ctx, d)
	} else {
		err = retried(ctx, true, func() (err error) { d, created, err = f.store.Publish(ctx, d); return err })
	}
	if err != nil {
		return wire.Workflow{}, false, failed("publish "+q.Name, err)
	}
	w := workflowOf(d)
	w.Warnings = warnings
	return w, created, nil
}

// parseDocument reads the document of a request, and gives its warnings: a string is the text of one, as JSON or YAML.
func parseDocument(raw json.RawMessage, o definition.Options) (*definition.Document, []wire.Detail, error) {
	text := []byte(raw)
	if len(raw) > 0 && raw[0] == '"' {
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return nil, nil, wire.Invalid(wire.Detail{Field: "document", Rule: "type=string", Message: err.Error()})
		}
		text = []byte(s)
	}
	doc, problems := definition.Parse(text, o)
	var invalid *definition.InvalidError
	if err := problems.Err(); errors.As(err, &invalid) {
		e := wire.Errorf(wire.InvalidWorkflow, "the document is refused; details has every problem")
		e.Details = detailsOf(invalid.Problems)
		return nil, nil, e
	}
	return doc, detailsOf(problems), nil
}

func detailsOf(problems definition.Problems) (list []wire.Detail) {
	for _, p := range problems {
		list = append(list, wire.Detail{Field: p.Pointer, Rule: p.Rule, Message: p.Message})
	}
	return list
}

// off are the resources that no node serves, with the reason.
func (f *Frontend) off() map[definition.ResourceKind]string {
	off := map[definition.ResourceKind]string{}
	if f.options.NoHTTP {
		off[definition.ResourceHTTP] = "no host is allowed (ORRERY_HTTP_ALLOW)"
	}
	if f.options.NoLambda {
		off[definition.ResourceLambda] = "no function is allowed (ORRERY_LAMBDA_ALLOW)"
	}
	if f.options.NoS3 {
		off[definition.ResourceItems] = "no bucket is allowed (ORRERY_S3_ALLOW)"
	}
	return off
}

// wouldPublish says what Publish would make of d.
func (f *Frontend) wouldPublish(ctx context.Context, d store.Definition) (store.Definition, error) {
	old, _, err := f.store.Definition(ctx, d.Namespace, d.Name, d.Version)
	switch {
	case errors.Is(err, store.ErrNotFound):
		d.Version = max(d.Version, 1)
	case err != nil:
		return d, err
	case old.Hash == d.Hash:
		d.Version = old.Version
	case d.Version != 0:
		return d, store.ErrVersionExists
	default:
		d.Version = old.Version + 1
	}
	return d, nil
}

// GetWorkflow reads one version with its document; 0 is the newest, with the list of all versions.
func (f *Frontend) GetWorkflow(ctx context.Context, c auth.Call, name string, version int) (wire.Workflow, error) {
	ns, err := f.namespace(ctx, c)
	if err != nil {
		return wire.Workflow{}, err
	}
	d, _, err := f.store.Definition(ctx, ns, name, version)
	if err != nil {
		return wire.Workflow{}, notFound(err, noWorkflow, history.WorkflowRef{Name: name, Version: version}.String())
	}
	w := workflowOf(d)
	w.Document = d.Document
	if m, err := f.machines.parse(&d); err == nil { // one that this version cannot read is shown as well
		w.VariableReferences = m.VariableReferences()
	}
	if version == 0 {
		if w.Versions, err = f.store.Versions(ctx, ns, name); err != nil {
			return wire.Workflow{}, failed("list the versions of "+name, err)
		}
	}
	return w, nil
}

// ListWorkflows lists the newest version of each workflow by name; the cursor is the last name of the page before.
func (f *Frontend) ListWorkflows(ctx context.Context, c auth.Call, q wire.PageQuery) (wire.WorkflowList, error) {
	ns, err := f.namespace(ctx, c)
	if err != nil {
		return wire.WorkflowList{}, err
	}
	list, err := f.store.Workflows(ctx, ns, q.Cursor, q.Limit+1)
	if err != nil {
		return wire.WorkflowList{}, failed("list workflows", err)
	}
	a := wire.WorkflowList{Workflows: []wire.Workflow{}}
	if len(list) > q.Limit {
		list = list[:q.Limit]
		a.Next = list[q.Limit-1].Name
	}
	for _, d := range list {
		a.Workflows = append(a.Workflows, workflowOf(d))
	}
	return a, nil
}

func workflowOf(d store.Definition) wire.Workflow {
	return wire.Workflow{Name: d.Name, Version: d.Version, Hash: d.Hash, Strict: d.Strict, PublishedAt: d.PublishedAt.Time()}
}
