package errand_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/orrery-dev/orrery/shared/errand"
)

// TestOAuth has a server of tokens and one that wants them.
func TestOAuth(t *testing.T) {
	var given, other atomic.Int64
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { other.Add(1) }))
	defer elsewhere.Close()
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.ParseForm()
		id, secret, basic := r.BasicAuth()
		id, _ = url.QueryUnescape(id) // as RFC 6749 has it
		if !basic {
			id, secret = r.PostForm.Get("client_id"), r.PostForm.Get("client_secret")
		}
		switch {
		case r.URL.Path == "/moved":
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		case r.URL.Path == "/down":
			w.WriteHeader(http.StatusBadGateway)
		case r.URL.Path == "/empty":
			fmt.Fprint(w, `{"secret-x": 1}`)
		case id != "me:1" || secret != "secret-c" || r.PostForm.Get("grant_type") != "client_credentials":
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"error": "invalid_client", "error_description": "secret-d"}`)
		default:
			fmt.Fprintf(w, `{"access_token":"secret-t%d %s %s","token_type":"bearer","expires_in":3600}`,
				given.Add(1), r.PostForm.Get("scope"), r.PostForm.Get("audience"))
		}
	}))
	defer tokens.Close()
	var refuse atomic.Value
	refuse.Store("")
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		token := r.Header.Get("Authorization")
		switch {
		case r.URL.Path == "/moved":
			http.Redirect(w, r, elsewhere.URL, http.StatusPermanentRedirect)
		case token == "" || token == refuse.Load():
			w.WriteHeader(http.StatusUnauthorized)
		default:
			fmt.Fprintf(w, "%s key=%s body=%s", strings.ReplaceAll(token, "secret-", ""), strings.TrimPrefix(r.Header.Get("X-Key"), "secret-"), body)
		}
	}))
	defer api.Close()
	host := func(s *httptest.Server) string { return strings.TrimPrefix(s.URL, "http://") }
	connection := func(name, path, more string) string {
		return fmt.Sprintf(`%q: {"hosts": %q, "oauth": {"token_url": "%s%s", "client_id": "me:1", "client_secret": "secret-c"%s}}`, name, host(api), tokens.URL, path, more)
	}
	file := filepath.Join(t.TempDir(), "connections.json")
	content := "{" + strings.Join([]string{
		connection("good", "/", `, "scope": "read write", "body": {"audience": "api"}`), connection("in body", "/", `, "in_body": true`),
		strings.Replace(connection("wrong", "/", ""), "secret-c", "secret-w", 1), connection("down", "/down", ""), connection("empty", "/empty", ""), connection("moved", "/moved", ""),
		fmt.Sprintf(`"far": {"hosts": %q, "oauth": {"token_url": "https://tokens.example.com/", "client_id": "a", "client_secret": "secret-f"}}`, host(api)),
		fmt.Sprintf(`"key": {"hosts": %q, "api_key": {"name": "X-Key", "value": "secret-k"}, "headers": {"Authorization": "plain"}, "body": {"token": "secret-b"}}`, host(api)),
	}, ",") + "}"
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	d := open(t, errand.Config{HTTPAllow: strings.Join([]string{host(api), host(tokens), host(elsewhere)}, ","), Connections: file})
	do := func(path, name string) report {
		r := d.do(t, errand.HTTPTask, `{"ApiEndpoint":"`+api.URL+path+`","Method":"POST","RequestBody":{"n":1},"InvocationConfig":{"ConnectionArn":"`+name+`"}}`)
		if strings.Contains(strings.ReplaceAll(r.cause+r.output, "secret-b", ""), "secret") {
			t.Errorf("%s: a secret is told: %+v", name, r)
		}
		return r
	}
	for _, tt := range []struct{ name, path, output, code, cause string }{
		{"good", "/", "Bearer t1 read write api key= body={", "", ""},
		{"good", "/", "Bearer t1 ", "", ""}, // kept
		{"in body", "/", "Bearer t2 ", "", ""},
		{"wrong", "/", "", "Events.ConnectionResource.InvalidConnectionState", "with 401 (invalid_client)"},
		{"down", "/", "", "Events.ConnectionResource.InternalError", "answers with 502"},
		{"empty", "/", "", "Events.ConnectionResource.InternalError", "has no access_token"},
		{"moved", "/", "", "States.Permissions", "a redirect with the body"},
		{"far", "/", "", "States.Permissions", "the host tokens.example.com"},
		{"key", "/", "plain key=k body={", "", ""},
		{"key", "/moved", "", "States.Permissions", "a redirect with the body"},
	} {
		if r := do(tt.path, tt.name); !strings.Contains(r.output, tt.output) || r.code != tt.code || !strings.Contains(r.cause, tt.cause) {
			t.Errorf("%s: got %+v, want %s %s %s", tt.name, r, tt.output, tt.code, tt.cause)
		}
	}
	refuse.Store("Bearer secret-t1 read write api")
	if r := do("/", "good"); !strings.Contains(r.output, "Bearer t3 ") {
		t.Errorf("a token that was refused is not got anew: %+v", r)
	}
	refuse.Store("Bearer secret-t3 read write api")
	before := given.Load()
	if r := do("/", "good"); !strings.Contains(r.output, "Bearer t4 ") || given.Load() != before+1 {
		t.Errorf("got %+v", r)
	}
	if other.Load() != 0 {
		t.Error("a body with secrets was sent to another host")
	}
}

func TestBadAuthorization(t *testing.T) {
	for _, way := range []string{
		`"oauth": {"token_url": "http://example.com/", "client_id": "a", "client_secret": "b"}`,
		`"oauth": {"token_url": "https://u:p@example.com/", "client_id": "a", "client_secret": "b"}`,
		`"oauth": {"token_url": "ftp://example.com/", "client_id": "a", "client_secret": "b"}`,
		`"oauth": {"token_url": "https://example.com/", "client_id": "a"}`,
		`"api_key": {"name": "X"}`,
		`"api_key": {"name": "X", "value": "v"}, "basic": {"user": "u", "password": "p"}`,
	} {
		file := filepath.Join(t.TempDir(), "c.json")
		if err := os.WriteFile(file, []byte(`{"c": {"hosts": "x", `+way+`}}`), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := errand.New(t.Context(), errand.Config{HTTPAllow: "x", Connections: file}, nil); err == nil {
			t.Errorf("%s is accepted", way)
		}
	}
}
