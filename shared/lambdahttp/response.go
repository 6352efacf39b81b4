package lambdahttp

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"
)

// recorder is a ResponseWriter that keeps the answer until the handler has returned: Lambda takes it whole.
type recorder struct {
	header   http.Header // what the handler fills
	sent     http.Header // its copy at the time of WriteHeader
	status   int
	body     bytes.Buffer
	tooLarge bool
}

func (w *recorder) Header() http.Header { return w.header }

// WriteHeader takes the first final status, as a server does. Informational ones cannot be passed on.
func (w *recorder) WriteHeader(status int) {
	if status < 100 || status > 999 {
		panic(fmt.Sprintf("invalid status %d", status))
	}
	if w.status != 0 || status < 200 {
		return
	}
	w.status, w.sent = status, w.header.Clone()
}

func (w *recorder) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if w.status == http.StatusNoContent || w.status == http.StatusNotModified {
		return 0, http.ErrBodyNotAllowed
	}
	if w.body.Len()+len(p) > MaxPayload {
		w.tooLarge = true
	}
	if w.tooLarge {
		return 0, fmt.Errorf("an answer of more than %d bytes", MaxPayload)
	}
	return w.body.Write(p)
}

// result is the answer to a request of the method.
func (w *recorder) result(method string) events.APIGatewayV2HTTPResponse {
	w.WriteHeader(http.StatusOK)
	body := w.body.Bytes()
	if len(body) > 0 && w.sent.Get("Content-Type") == "" && w.sent.Get("Content-Encoding") == "" {
		w.sent.Set("Content-Type", http.DetectContentType(body))
	}
	resp := events.APIGatewayV2HTTPResponse{StatusCode: w.status, Headers: map[string]string{}}
	for name, values := range w.sent {
		switch name {
		case "Set-Cookie":
			resp.Cookies = values
		case "Content-Length": // whoever sends the answer counts again
		default:
			resp.Headers[name] = strings.Join(values, ",")
		}
	}
	if method != http.MethodHead {
		resp.Body, resp.IsBase64Encoded = encodeBody(body, w.sent.Get("Content-Encoding") != "")
	}
	if w.tooLarge || encodesTooLarge(&resp) {
		return failure(http.StatusInternalServerError, "RESPONSE_TOO_LARGE",
			fmt.Sprintf("the answer is larger than the %d bytes that Lambda carries", MaxPayload))
	}
	return resp
}

// encodeBody gives the body as text where it is some, else in base64.
func encodeBody(body []byte, binary bool) (text string, isBase64 bool) {
	if binary || !utf8.Valid(body) {
		return base64.StdEncoding.EncodeToString(body), true
	}
	return string(body), false
}

// encodesTooLarge tells whether the result is over the limit as JSON, which is how it travels: a quote takes two bytes
// there and a control character six. A body of an eighth of the limit cannot reach it.
func encodesTooLarge(resp *events.APIGatewayV2HTTPResponse) bool {
	if len(resp.Body) <= MaxPayload/8 {
		return false
	}
	var n counter
	e := json.NewEncoder(&n)
	e.SetEscapeHTML(false) // as the Lambda runtime client encodes
	return e.Encode(resp) != nil || n > MaxPayload
}

// counter counts what is written to it.
type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}
