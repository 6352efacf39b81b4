package gateway

import (
	"reflect"
	"strings"
	"testing"
)

// TestFind has the routes of API Gateway's own example of precedence, and what it leaves open.
func TestFind(t *testing.T) {
	table, err := newRouteTable([]Route{
		{"", "$default", "default"},
		{"ANY", "/{proxy+}", "proxy"},
		{"ANY", "/pets/dog/{id}", "any dog"},
		{"GET", "/pets/{proxy+}", "pets"},
		{"GET", "/pets/dog/{id}", "dog"},
		{"GET", "/pets/dog/1", "first dog"},
		{"GET", "/{kind}/dog/all", "all dogs"},
		{"GET", "/pets/{animal}/all", "all of a kind"},
		{"GET", "/", "root"},
	})
	if err != nil {
		t.Fatal(err)
	}
	type values = map[string]string
	tests := []struct {
		method, path, want string
		parameters         values
	}{
		{"GET", "/pets/dog/1", "first dog", nil},
		{"GET", "/pets/dog/2", "dog", values{"id": "2"}},
		{"POST", "/pets/dog/1", "any dog", values{"id": "1"}},
		{"GET", "/pets/dog/all", "dog", values{"id": "all"}},
		{"GET", "/pets/cat/all", "all of a kind", values{"animal": "cat"}},
		{"GET", "/wild/dog/all", "all dogs", values{"kind": "wild"}},
		{"GET", "/pets/cat/1", "pets", values{"proxy": "cat/1"}},
		{"GET", "/pets/dog/", "pets", values{"proxy": "dog/"}},
		{"GET", "/pets", "proxy", values{"proxy": "pets"}},
		{"GET", "/pets/", "proxy", values{"proxy": "pets/"}},
		{"POST", "/pets/cat", "proxy", values{"proxy": "pets/cat"}},
		{"GET", "/", "root", nil},
		{"POST", "/", "default", nil},
	}
	for _, test := range tests {
		r, parameters, ok := table.find(test.method, test.path)
		if !ok || r.Function != test.want || !reflect.DeepEqual(parameters, test.parameters) {
			t.Errorf("%s %s: got %q %v, want %q %v", test.method, test.path, r.Function, parameters, test.want, test.parameters)
		}
	}
	if _, _, ok := table[:1].find("GET", "/other"); ok {
		t.Error("a route takes what is not its own")
	}
}

// TestBadRoutes reports every fault at once.
func TestBadRoutes(t *testing.T) {
	_, err := New([]Route{
		{"GET", "v1", "f"}, {"GET", "/{a+}/b", "f"}, {"GET", "/{}", "f"}, {"GET", "/{a", "f"},
		{"GET", "/x/{a}", "f"}, {"GET", "/x/{b}", "f"}, {"GET", "/y", "g"},
	}, map[string]Invoker{"f": &Pool{}}, Options{})
	if err == nil {
		t.Fatal("they are taken")
	}
	for _, want := range []string{
		"route GET v1: a path begins with a slash", "route GET /{a+}/b: {a+} is no parameter here", "route GET /{}: {} is no",
		"route GET /{a: {a is no", "route GET /x/{b}: there are two of this form", `route GET /y: there is no function "g"`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v has no %q", err, want)
		}
	}
}
