// Package resolver finds workers and keeps asking each who it is: an address is never taken for an identity. It knows where
// workers are and what they say of themselves; it must never decide which of them a query may use.
package resolver

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
)

// A Resolver names the addresses where workers may be. Resolve gives their URLs – scheme and authority only – in any order; it is
// called every second, from one goroutine at a time, for as long as a coordinator runs, and must come back when ctx ends. An
// error keeps what was known before.
type Resolver interface {
	Resolve(ctx context.Context) ([]string, error)
}

// Static is the resolver of a fixed list of URLs.
type Static []string

// Resolve gives the list.
func (s Static) Resolve(context.Context) ([]string, error) { return s, nil }

// File is the resolver of a file that holds one URL per line; empty lines and lines that begin with # are left out. It is read
// again each time, so whoever replaces it by rename changes the cluster.
type File string

// Resolve reads the file.
func (f File) Resolve(context.Context) ([]string, error) {
	file, err := os.Open(string(f))
	if err != nil {
		return nil, fmt.Errorf("read workers file: %w", err)
	}
	defer func() { _ = file.Close() }()
	var urls []string
	lines := bufio.NewScanner(file)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if line, err = CheckURL(line); err != nil {
			return nil, fmt.Errorf("workers file %s, line %d: %w", string(f), n, err)
		}
		urls = append(urls, line)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read workers file: %w", err)
	}
	return urls, nil
}

// DNS is the resolver of a name with a port, such as a Kubernetes headless service: every address of the name is a worker.
type DNS struct {
	Name   string // host:port
	Scheme string // http or https
}

// Resolve looks the name up.
func (d DNS) Resolve(ctx context.Context) ([]string, error) {
	host, port, err := net.SplitHostPort(d.Name)
	if err != nil {
		return nil, fmt.Errorf("--workers-dns %q is not NAME:PORT", d.Name)
	}
	addrs, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil {
		return nil, fmt.Errorf("look up workers: %w", err)
	}
	slices.Sort(addrs)
	urls := make([]string, len(addrs))
	for i, a := range addrs {
		urls[i] = d.Scheme + "://" + net.JoinHostPort(a, port)
	}
	return urls, nil
}

// CheckURL gives a worker's or coordinator's URL in its one form, scheme and authority, or tells what is wrong with it.
func CheckURL(s string) (string, error) {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("%q is not a URL such as http://127.0.0.1:8471", s)
	}
	if strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return "", fmt.Errorf("%q: a server's URL is scheme, host and port only", s)
	}
	return u.Scheme + "://" + u.Host, nil
}
