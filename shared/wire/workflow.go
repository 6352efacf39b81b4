package wire

import (
	"encoding/json"
	"time"
)

// PublishRequest is the body of POST /v1/workflows.
type PublishRequest struct {
	Name string `json:"name" check:"required,name"`
	// Version is from 1. Left out, it is the newest version when that has the same content, else the next one.
	Version int `json:"version,omitempty" check:"min=1,max=2147483647"`
	// Document is the document itself, or a string with its text in JSON or YAML.
	Document json.RawMessage `json:"document" check:"required"`
	// Strict refuses the additions to Amazon States Language, and keeps to the limits of its reference service.
	Strict bool `json:"strict,omitempty"`
}

// PublishQuery is the query of POST /v1/workflows.
type PublishQuery struct {
	// DryRun checks the document and stores nothing.
	DryRun bool `json:"dry_run"`
}

// Workflow is one published version. It answers a PublishRequest, and GET /v1/workflows/{name} and
// GET /v1/workflows/{name}/versions/{version} with the document.
type Workflow struct {
	Name    string `json:"name"`
	Version int    `json:"version"`
	// Hash is the SHA-256 of the normalised document and its rules in hexadecimal.
	Hash string `json:"hash"`
	// Strict tells that it was published so.
	Strict bool `json:"strict,omitempty"`
	// PublishedAt is absent in the answer to a dry run.
	PublishedAt time.Time `json:"published_at,omitzero"`
	// VariableReferences are the variables that each state reads, by its name; in the answer to GET of one version only.
	VariableReferences map[string][]string `json:"variable_references,omitempty"`
	// Warnings are what will probably not do what the author meant; in answers to publishing only.
	Warnings []Detail `json:"warnings,omitempty"`
	// Document is the normalised document; absent in lists and in answers to publishing.
	Document json.RawMessage `json:"document,omitempty"`
	// Versions are all published versions, newest first; only in the answer to GET /v1/workflows/{name}.
	Versions []int `json:"versions,omitempty"`
}

// PageQuery is the query of GET /v1/workflows.
type PageQuery struct {
	// Limit is how many entries a page has at most, from 1 to 1000; 100 when left out.
	Limit int `json:"limit" check:"min=1,max=1000,default=100"`
	// Cursor is Next of the page before; left out for the first page.
	Cursor string `json:"cursor" check:"max=512"`
}

// WorkflowList answers GET /v1/workflows: the newest version of each workflow, by name.
type WorkflowList struct {
	Workflows []Workflow `json:"workflows"`
	// Next is the cursor of the next page; absent on the last.
	Next string `json:"next,omitempty"`
}

// WorkflowPath is the path of GET /v1/workflows/{name}.
type WorkflowPath struct {
	Name string `json:"name" check:"required,name"`
}

// VersionPath is the path of GET /v1/workflows/{name}/versions/{version}.
type VersionPath struct {
	Name    string `json:"name" check:"required,name"`
	Version int    `json:"version" check:"required,min=1,max=2147483647"`
}

// AliasPath is the path of /v1/workflows/{name}/aliases/{alias}.
type AliasPath struct {
	Name  string `json:"name" check:"required,name"`
	Alias string `json:"alias" check:"required,alias"`
}

// AliasRequest is the body of PUT /v1/workflows/{name}/aliases/{alias}.
type AliasRequest struct {
	// Versions are between which starts are split: from 1 to 10, each once, whose weights add up to 100.
	Versions []AliasVersion `json:"versions" check:"required,min=1,max=10"`
}

// AliasVersion is a version for which an alias stands.
type AliasVersion struct {
	Version int `json:"version" check:"required,min=1,max=2147483647"`
	// Weight is how many of a hundred executions start with it.
	Weight int `json:"weight" check:"required,min=0,max=100"`
}

// Alias is a name for versions of a workflow. Which of them an execution starts with follows from its id.
type Alias struct {
	Workflow  string         `json:"workflow"`
	Alias     string         `json:"alias"`
	Versions  []AliasVersion `json:"versions"`
	CreatedAt time.Time      `json:"created_at"`
	UpdatedAt time.Time      `json:"updated_at"`
}

// AliasList answers GET /v1/workflows/{name}/aliases: by alias. A workflow has at most 100.
type AliasList struct {
	Aliases []Alias `json:"aliases"`
}

// ContractPath is the path of /v1/contracts/{task}/{version}.
type ContractPath struct {
	Task    string `json:"task" check:"required,name"`
	Version int    `json:"version" check:"required,min=1,max=2147483647"`
}

// ContractRequest is the body of PUT /v1/contracts/{task}/{version}: JSON Schemas of up to 16 KiB, one of them at least.
type ContractRequest struct {
	// Input is what the input of each task must be like: one that is not is handed to no worker.
	Input json.RawMessage `json:"input,omitempty"`
	// Output is what a worker's output must be like: one that is not fails the attempt.
	Output json.RawMessage `json:"output,omitempty"`
}

// ContractSchemas are the schemas of a version of a contract. They never change; lists leave them out.
type ContractSchemas struct {
	Task         string          `json:"task"`
	Version      int             `json:"version"`
	Hash         string          `json:"hash"`
	Input        json.RawMessage `json:"input,omitempty"`
	Output       json.RawMessage `json:"output,omitempty"`
	RegisteredAt time.Time       `json:"registered_at"`
}

// ContractList answers GET /v1/contracts: by task and version. A namespace has at most 500.
type ContractList struct {
	Contracts []ContractSchemas `json:"contracts"`
}
