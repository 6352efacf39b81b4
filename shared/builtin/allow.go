package builtin

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// ErrForbidden is a call to what the settings do not allow.
var ErrForbidden = errors.New("builtin: not allowed by the settings")

// Allow is what may be called over HTTP. The zero value allows nothing.
type Allow struct {
	hosts    []hostPattern
	prefixes []netip.Prefix // addresses that are named
}

// hostPattern is a name, or the end of one.
type hostPattern struct {
	name   string // in lower case; ".example.com" for *.example.com, "" for every host
	suffix bool
	port   string // empty for those of http and https, "*" for any
}

// ParseAllow reads a list with commas. Each entry is
//
//	api.example.com          a host, at the ports of http and https
//	*.example.com            every host below it
//	*                        every host
//	api.example.com:8443     another port; ":*" is any
//	10.1.0.0/16, 127.0.0.1   addresses: those that are not public are called only if they are named here, and a name that leads
//	                         to one needs an entry besides
//
// An address with a port stands for the host of that name as well.
func ParseAllow(list string) (Allow, error) {
	var a Allow
	var faults []error
	for entry := range strings.SplitSeq(list, ",") {
		if entry = strings.ToLower(strings.TrimSpace(entry)); entry == "" {
			continue
		}
		if err := a.add(entry); err != nil {
			faults = append(faults, err)
		}
	}
	return a, errors.Join(faults...)
}

func (a *Allow) add(entry string) error {
	if prefix, err := netip.ParsePrefix(entry); err == nil {
		a.prefixes = append(a.prefixes, prefix.Masked())
		return nil
	}
	host, port := splitPort(entry)
	if addr, err := netip.ParseAddr(host); err == nil {
		a.prefixes = append(a.prefixes, netip.PrefixFrom(addr.Unmap(), addr.Unmap().BitLen()))
		a.hosts = append(a.hosts, hostPattern{name: addr.Unmap().String(), port: or(port, "*")})
		return nil
	}
	p := hostPattern{name: host, port: port}
	if rest, ok := strings.CutPrefix(host, "*"); ok {
		p.name, p.suffix = rest, true
	}
	if strings.Contains(p.name, "*") || p.suffix && p.name != "" && p.name[0] != '.' || !p.suffix && p.name == "" ||
		strings.ContainsAny(p.name, "/@:[] ") || !isPort(port) {
		return fmt.Errorf("builtin: %q is no host, no pattern and no address", entry)
	}
	a.hosts = append(a.hosts, p)
	return nil
}

// splitPort takes a port off the end, which may be a star.
func splitPort(entry string) (host, port string) {
	if h, p, err := net.SplitHostPort(entry); err == nil {
		return h, p
	}
	return strings.Trim(entry, "[]"), ""
}

func isPort(s string) bool {
	_, err := strconv.ParseUint(s, 10, 16)
	return s == "" || s == "*" || err == nil
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// Empty tells whether nothing is allowed.
func (a *Allow) Empty() bool { return len(a.hosts)+len(a.prefixes) == 0 }

// URL tells whether a URL may be called, as far as its text says.
func (a *Allow) URL(u *url.URL) error {
	if u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("%w: the scheme %q", ErrForbidden, u.Scheme)
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	port := or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	addr, err := netip.ParseAddr(host)
	if err == nil {
		host = addr.Unmap().String()
	}
	usual := port == "80" || port == "443"
	ok := slices.ContainsFunc(a.hosts, func(p hostPattern) bool {
		named := host == p.name || p.suffix && strings.HasSuffix(host, p.name) && host != strings.TrimPrefix(p.name, ".")
		return named && (p.port == "*" || p.port == port || p.port == "" && usual)
	})
	if !ok && !(err == nil && usual && a.named(addr.Unmap())) {
		return fmt.Errorf("%w: the host %s", ErrForbidden, u.Host)
	}
	return nil
}

// Address tells whether a connection may be made to an address, as a dialler has it after it has resolved a name.
func (a *Allow) Address(address string) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: the address %s", ErrForbidden, address)
	}
	if addr := ap.Addr().Unmap().WithZone(""); !public(addr) && !a.named(addr) {
		return fmt.Errorf("%w: the address %s is not public", ErrForbidden, addr)
	}
	return nil
}

func (a *Allow) named(addr netip.Addr) bool {
	return slices.ContainsFunc(a.prefixes, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// special are the parts of the address space that lead elsewhere than to a public host, besides those that package netip knows.
var special = prefixes(
	"0.0.0.0/8",     // this network
	"100.64.0.0/10", // between a provider and its customers
	"192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
	"::/96",                                       // an IPv4 address inside
	"64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", // the same
	"2001::/23", "2001:db8::/32", "100::/64", "3fff::/20", "5f00::/16", "fec0::/10",
)

func prefixes(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(list))
	for i, s := range list {
		out[i] = netip.MustParsePrefix(s)
	}
	return out
}

func public(addr netip.Addr) bool {
	if !addr.IsGlobalUnicast() || addr.IsPrivate() {
		return false
	}
	return !slices.ContainsFunc(special, func(p netip.Prefix) bool { return p.Contains(addr) })
}
