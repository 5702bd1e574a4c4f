package clustertest

import (
	"net"
	"net/url"
	"sync"
	"testing"
)

// A Proxy is an address behind which servers come and go, and a wire that can be cut.
type Proxy struct {
	URL string

	listener net.Listener
	wg       sync.WaitGroup

	mu     sync.Mutex
	target string        // host:port; "": nobody answers
	frozen chan struct{} // closed: bytes pass
	conns  map[net.Conn]bool
}

// NewProxy listens in front of the server at target, a URL, until the test ends.
func NewProxy(tb testing.TB, target string) *Proxy {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	p := &Proxy{URL: "http://" + l.Addr().String(), listener: l, conns: map[net.Conn]bool{}, frozen: make(chan struct{})}
	close(p.frozen)
	p.Switch(target)
	p.wg.Go(p.accept)
	tb.Cleanup(func() {
		_ = l.Close()
		p.Thaw()
		p.Switch("")
		p.wg.Wait()
	})
	return p
}

// Switch cuts all connections and puts another server behind the address; "" is none.
func (p *Proxy) Switch(target string) {
	if u, err := url.Parse(target); err == nil {
		target = u.Host
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
	for c := range p.conns {
		_ = c.Close()
	}
}

// Freeze holds back every byte, of new connections too, until Thaw: to callers the server hangs.
func (p *Proxy) Freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frozen = make(chan struct{})
}

// Thaw ends a Freeze.
func (p *Proxy) Thaw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.frozen:
	default:
		close(p.frozen)
	}
}

func (p *Proxy) accept() {
	for {
		in, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		target := p.target
		p.mu.Unlock()
		out, err := net.Dial("tcp", target)
		if err != nil {
			_ = in.Close()
			continue
		}
		p.mu.Lock()
		if p.target != target {
			_, _ = in.Close(), out.Close()
		}
		p.conns[in], p.conns[out] = true, true
		p.mu.Unlock()
		p.wg.Go(func() { p.copy(in, out) })
		p.wg.Go(func() { p.copy(out, in) })
	}
}

func (p *Proxy) copy(to, from net.Conn) {
	defer func() {
		_, _ = to.Close(), from.Close()
		p.mu.Lock()
		delete(p.conns, to)
		delete(p.conns, from)
		p.mu.Unlock()
	}()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			p.mu.Lock()
			pass := p.frozen
			p.mu.Unlock()
			<-pass
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
