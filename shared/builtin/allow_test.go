package builtin

import (
	"net/url"
	"testing"
)

func allow(t *testing.T, list string) Allow {
	t.Helper()
	a, err := ParseAllow(list)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestURLs(t *testing.T) {
	tests := []struct {
		list, url string
		want      bool
	}{
		{"", "https://example.com", false},
		{"example.com", "https://example.com/x", true},
		{"example.com", "http://EXAMPLE.com./x", true},
		{"example.com", "https://example.com:8443", false},
		{"example.com:8443", "https://example.com:8443", true},
		{"example.com:8443", "https://example.com", false},
		{"example.com:*", "http://example.com:9", true},
		{"example.com", "https://api.example.com", false},
		{"*.example.com", "https://api.example.com", true},
		{"*.example.com", "https://a.b.example.com", true},
		{"*.example.com", "https://example.com", false},
		{"*.example.com", "https://evilexample.com", false},
		{"*", "https://anything.net", true},
		{"*", "ftp://anything.net", false},
		{"*", "file:///etc/passwd", false},
		{"a.com, b.com", "https://b.com", true},
		{"127.0.0.1", "http://127.0.0.1:8080", true},
		{"127.0.0.1:9000", "http://127.0.0.1:8080", false},
		{"127.0.0.1", "http://[::ffff:127.0.0.1]", true},
		{"127.0.0.1", "http://0x7f.1", false},
		{"10.0.0.0/8", "http://10.1.2.3", true},
		{"10.0.0.0/8", "http://10.1.2.3:8080", false},
		{"10.0.0.0/8", "http://11.1.2.3", false},
		{"10.0.0.0/8", "http://host.internal", false},
		{"[::1]:80", "http://[::1]", true},
	}
	for _, tt := range tests {
		u, err := url.Parse(tt.url)
		if err != nil {
			t.Fatal(err)
		}
		a := allow(t, tt.list)
		if err := a.URL(u); (err == nil) != tt.want {
			t.Errorf("%q, %s: %v, want allowed %v", tt.list, tt.url, err, tt.want)
		}
	}
}

func TestAddresses(t *testing.T) {
	open, named := allow(t, "*"), allow(t, "*,10.0.0.0/8,127.0.0.1,fd00::/8,169.254.169.254")
	tests := map[string]struct{ open, named bool }{
		"93.184.216.34:443":         {true, true},
		"[2606:2800:220:1::1]:443":  {true, true},
		"127.0.0.1:80":              {false, true},
		"127.0.0.2:80":              {false, false},
		"10.9.9.9:80":               {false, true},
		"172.16.0.1:80":             {false, false},
		"192.168.1.1:80":            {false, false},
		"169.254.169.254:80":        {false, true},
		"169.254.1.1:80":            {false, false},
		"100.64.0.1:80":             {false, false},
		"0.0.0.0:80":                {false, false},
		"255.255.255.255:80":        {false, false},
		"224.0.0.1:80":              {false, false},
		"[::1]:80":                  {false, false},
		"[::]:80":                   {false, false},
		"[fe80::1%eth0]:80":         {false, false},
		"[fd00:ec2::254]:80":        {false, true},
		"[::ffff:127.0.0.1]:80":     {false, true},
		"[::ffff:192.168.1.1]:80":   {false, false},
		"[64:ff9b::c0a8:101]:80":    {false, false},
		"[2002:c0a8:101::1]:80":     {false, false},
		"[::192.168.1.1]:80":        {false, false},
		"name-that-is-no-address:1": {false, false},
	}
	for address, want := range tests {
		if err := open.Address(address); (err == nil) != want.open {
			t.Errorf("%s: %v, want allowed %v", address, err, want.open)
		}
		if err := named.Address(address); (err == nil) != want.named {
			t.Errorf("%s, with some named: %v, want allowed %v", address, err, want.named)
		}
	}
}

func TestBadEntries(t *testing.T) {
	for _, list := range []string{"http://example.com", "a*.com", "*example.com", "a.*.com", "user@host", "1.2.3.4/99", "a b"} {
		if _, err := ParseAllow(list); err == nil {
			t.Errorf("%q is accepted", list)
		}
	}
}

func TestFunctionPatterns(t *testing.T) {
	for _, tt := range []struct {
		pattern, name string
		want          bool
	}{
		{"report", "report", true}, {"report", "reports", false}, {"report-*", "report-daily", true}, {"*-daily", "report-daily", true},
		{"a*b*c", "axxbyyc", true}, {"a*b*c", "axxc", false}, {"a*a", "a", false}, {"*", "", true},
		{"arn:aws:lambda:*:1234:function:job-*", "arn:aws:lambda:eu-west-1:1234:function:job-1", true},
	} {
		if got := matches(tt.pattern, tt.name); got != tt.want {
			t.Errorf("%q matches %q: %v", tt.pattern, tt.name, got)
		}
	}
}
