package errand

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/orrery-dev/orrery/shared/builtin"
	"github.com/orrery-dev/orrery/shared/expr"
	"github.com/orrery-dev/orrery/shared/worker"
)

const (
	// tokenMargin is how long before its end a token is not used any more; at most half of its life.
	tokenMargin = time.Minute
	// usualToken is how long a token is used of which nobody says how long it lives.
	usualToken = 5 * time.Minute

	codeNotAuthorized = "Events.ConnectionResource.InvalidConnectionState"
	codeNoToken       = "Events.ConnectionResource.InternalError"
)

// OAuth gets tokens by the client's own credentials (RFC 6749, section 4.4). A token is kept in the process until shortly before
// its end. Its address must be one that the settings allow; it is asked over https, but for this very machine.
type OAuth struct {
	TokenURL     string `json:"token_url"`
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
	// Scope is what is asked for, with spaces; empty for what the server gives.
	Scope string `json:"scope"`
	// InBody sends the credentials in the body, not in the header Authorization.
	InBody bool `json:"in_body"`
	// Headers and Body are more of the request for a token; Body is for its form.
	Headers map[string]string `json:"headers"`
	Body    map[string]string `json:"body"`

	allow builtin.Allow // the address of tokens

	mu    sync.Mutex
	token string // of the header Authorization
	ends  time.Time
}

func (a *OAuth) check() error {
	u, err := url.Parse(a.TokenURL)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http":
		return errors.New("the token_url of oauth must be a URL without a user")
	case u.Scheme == "http" && !isLoopback(u.Hostname()):
		return errors.New("the token_url of oauth must be an https URL")
	case a.ClientID == "" || a.ClientSecret == "":
		return errors.New("oauth must have a client_id and a client_secret")
	}
	a.allow, err = builtin.ParseAllow(u.Host)
	return err
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// authorized makes a request with the token that its connection gives it, if it does. A token that is refused is got anew, once:
// a server that refuses it has done nothing.
func (h *requests) authorized(ctx context.Context, o *expr.Object, q builtin.Request) (builtin.Response, error) {
	c := h.connections[connectionName(connectionOf(o))]
	if c == nil || c.OAuth == nil {
		return h.caller.Do(ctx, q)
	}
	for refused := ""; ; {
		token, err := c.OAuth.get(ctx, h.caller, refused)
		if err != nil {
			return builtin.Response{}, err
		}
		q.Header.Set("Authorization", token)
		r, err := h.caller.Do(ctx, q)
		if err != nil || r.Status != http.StatusUnauthorized || refused != "" {
			return r, err
		}
		refused = token
	}
}

// get gives a token that is not the refused one. One call asks for it while others wait.
func (a *OAuth) get(ctx context.Context, caller *builtin.HTTP, refused string) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.token != "" && a.token != refused && time.Now().Before(a.ends) {
		return a.token, nil
	}
	asked := time.Now()
	r, err := caller.Do(ctx, a.request())
	switch {
	case errors.Is(err, builtin.ErrForbidden):
		return "", worker.Errorf(codePermissions, "The address of tokens is not allowed: %v", err)
	case err != nil:
		return "", worker.Errorf(codeNoToken, "No token came: %v", err)
	case r.Status >= 500 || r.Status == http.StatusTooManyRequests:
		return "", worker.Errorf(codeNoToken, "No token came: the server of tokens answers with %d", r.Status)
	case r.Status != http.StatusOK:
		return "", worker.Errorf(codeNotAuthorized, "The server of tokens refuses the connection with %d%s", r.Status, reasonOf(r.Body))
	}
	token, life, err := readToken(r.Body)
	if err != nil {
		return "", worker.Errorf(codeNoToken, "The server of tokens gives none: %v", err)
	}
	a.token, a.ends = token, asked.Add(life-min(tokenMargin, life/2))
	return a.token, nil
}

// request asks for a token.
func (a *OAuth) request() builtin.Request {
	form := url.Values{"grant_type": {"client_credentials"}}
	if a.Scope != "" {
		form.Set("scope", a.Scope)
	}
	header := http.Header{}
	for name, v := range a.Headers {
		header.Set(name, v)
	}
	if a.InBody {
		form.Set("client_id", a.ClientID)
		form.Set("client_secret", a.ClientSecret)
	} else {
		r := http.Request{Header: header}
		r.SetBasicAuth(url.QueryEscape(a.ClientID), url.QueryEscape(a.ClientSecret))
	}
	for name, v := range a.Body {
		form.Set(name, v)
	}
	header.Set("Content-Type", "application/x-www-form-urlencoded")
	header.Set("Accept", "application/json")
	return builtin.Request{Method: http.MethodPost, URL: a.TokenURL, Header: header, Body: []byte(form.Encode()), Secret: &a.allow}
}

// reasonOf is the code of an answer of RFC 6749 without a token; nothing else of it is passed on.
func reasonOf(body []byte) string {
	var said struct {
		Error string `json:"error"`
	}
	switch _ = json.Unmarshal(body, &said); said.Error {
	case "invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type", "invalid_scope":
		return " (" + said.Error + ")"
	}
	return ""
}

// readToken reads an answer: what the header is to have, and for how long. An error has nothing of the answer in it.
func readToken(body []byte) (token string, life time.Duration, err error) {
	var said struct {
		AccessToken string      `json:"access_token"`
		TokenType   string      `json:"token_type"`
		ExpiresIn   json.Number `json:"expires_in"`
	}
	if json.Unmarshal(body, &said) != nil || said.AccessToken == "" || strings.ContainsAny(said.AccessToken, "\r\n") {
		return "", 0, errors.New("the answer has no access_token")
	}
	if said.TokenType != "" && !strings.EqualFold(said.TokenType, "bearer") {
		return "", 0, fmt.Errorf("the token is of another type than Bearer")
	}
	life = usualToken
	if n, err := said.ExpiresIn.Int64(); err == nil && n > 0 {
		life = time.Duration(min(n, 86_400)) * time.Second
	}
	return "Bearer " + said.AccessToken, life, nil
}
