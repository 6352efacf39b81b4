package errand

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/orrery-dev/orrery/shared/builtin"
	"github.com/orrery-dev/orrery/shared/expr"
	"github.com/orrery-dev/orrery/shared/worker"
)

// Connections are what requests may be given that a document must not hold, by the name under which it asks for it.
type Connections map[string]*Connection

// Connection is added to the requests that name it.
type Connection struct {
	// Hosts is a list of patterns as [builtin.ParseAllow] reads it: requests elsewhere get nothing.
	Hosts string `json:"hosts"`
	// Basic is a user and a password for the header Authorization.
	Basic *struct {
		User     string `json:"user"`
		Password string `json:"password"`
	} `json:"basic"`
	// APIKey is a header whose value is a secret.
	APIKey *struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	} `json:"api_key"`
	// OAuth gives requests a token in the header Authorization.
	OAuth   *OAuth            `json:"oauth"`
	Headers map[string]string `json:"headers"`
	Query   map[string]string `json:"query"`
	// Body is added to a body that is an object.
	Body map[string]string `json:"body"`

	allow builtin.Allow
}

// ReadConnections reads a file with an object of connections by name, such as
//
//	{"stripe": {"hosts": "api.stripe.com", "headers": {"Authorization": "Bearer ..."}}}
//
// There are none where the file has no name. An error never shows what the file holds.
func ReadConnections(file string) (Connections, error) {
	if file == "" {
		return nil, nil
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("errand: connections: %w", err)
	}
	var list Connections
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&list); err != nil {
		return nil, fmt.Errorf("errand: connections in %s: they are not in the form of connections", file)
	}
	for name, c := range list {
		if c == nil {
			return nil, fmt.Errorf("errand: connection %q in %s: it is null", name, file)
		}
		if c.allow, err = builtin.ParseAllow(c.Hosts); err == nil && c.allow.Empty() {
			err = errors.New("hosts must name one host at least")
		}
		err = errors.Join(err, c.check())
		if err != nil {
			return nil, fmt.Errorf("errand: connection %q in %s: %w", name, file, err)
		}
	}
	return list, nil
}

// check tells what is wrong with how requests are authorized.
func (c *Connection) check() error {
	ways := 0
	for _, there := range []bool{c.Basic != nil, c.APIKey != nil, c.OAuth != nil} {
		if there {
			ways++
		}
	}
	switch {
	case ways > 1:
		return errors.New("only one of basic, api_key and oauth may be there")
	case c.APIKey != nil && (c.APIKey.Name == "" || c.APIKey.Value == ""):
		return errors.New("api_key must have a name and a value")
	case c.OAuth != nil:
		return c.OAuth.check()
	}
	return nil
}

// connectionName reads the name of a connection: as it is, or the ARN of one.
func connectionName(text string) string {
	if _, rest, ok := strings.Cut(text, ":connection/"); ok && strings.HasPrefix(text, "arn:") {
		name, _, _ := strings.Cut(rest, "/")
		return name
	}
	return text
}

// apply adds the connection to a request, in the place of what the document says under the same names.
func (c *Connection) apply(header http.Header, query url.Values, body expr.Value) (expr.Value, error) {
	for name, v := range c.Headers {
		header.Set(name, v)
	}
	if c.Basic != nil {
		r := http.Request{Header: header}
		r.SetBasicAuth(c.Basic.User, c.Basic.Password)
	}
	if c.APIKey != nil {
		header.Set(c.APIKey.Name, c.APIKey.Value)
	}
	for name, v := range c.Query {
		query.Set(name, v)
	}
	if len(c.Body) == 0 {
		return body, nil
	}
	given, ok := body.(*expr.Object)
	if !ok && body != nil {
		return nil, worker.Finalf(codeRuntime, "The field 'RequestBody' must be an Object: the connection adds to it")
	}
	whole := expr.NewObject()
	for name, v := range given.All() {
		whole.Set(name, v)
	}
	for name, v := range c.Body {
		whole.Set(name, v)
	}
	return whole, nil
}
