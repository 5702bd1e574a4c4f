// Package hostile holds peers that break the rules of HTTP/2 or of Fletch on purpose: callers written frame by frame, and workers
// that lie. Its tests set them on real servers. Nothing that ships may import it.
package hostile

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// A Peer is a caller with a connection of its own that sends what it likes, frame by frame. What the server sends is read and
// dropped, so that it is never the server's waiting that ends an attack, unless the peer is deaf. It is for one goroutine.
type Peer struct {
	*http2.Framer

	conn   net.Conn
	header bytes.Buffer
	hpack  *hpack.Encoder
	reads  sync.WaitGroup

	mu      sync.Mutex
	status  map[uint32]string // of the streams' first answers
	goAway  http2.ErrCode     // of the server's GOAWAY; 0: none came
	changed chan struct{}
	over    bool // the server closed the connection
}

// Dial connects to the server at url, until the test ends. A deaf peer never reads.
func Dial(tb testing.TB, url string, deaf bool) *Peer {
	tb.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		tb.Fatal(err)
	}
	p := &Peer{Framer: http2.NewFramer(conn, conn), conn: conn, status: map[uint32]string{}, changed: make(chan struct{})}
	p.AllowIllegalWrites = true
	p.hpack = hpack.NewEncoder(&p.header)
	if deaf {
		err = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	} else {
		p.reads.Go(p.read)
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(p.Close)
	return p
}

// Close cuts the connection. The peer is of no use afterwards, but may be closed again.
func (p *Peer) Close() {
	_ = p.conn.Close()
	p.reads.Wait()
	p.Framer = nil // its buffers are not to be mistaken for a server's
}

// Raw sends bytes that are no frame.
func (p *Peer) Raw(b []byte) error {
	_, err := p.conn.Write(b)
	return err
}

// Begin sends the preface and settings.
func (p *Peer) Begin(settings ...http2.Setting) error {
	if err := p.Raw([]byte(http2.ClientPreface)); err != nil {
		return err
	}
	return p.WriteSettings(settings...)
}

// Block encodes the header fields of a gRPC call, further pairs of names and values last.
func (p *Peer) Block(procedure string, fields ...string) []byte {
	p.header.Reset()
	all := append([]string{
		":method", "POST", ":scheme", "http", ":authority", p.conn.RemoteAddr().String(), ":path", procedure,
		"content-type", "application/grpc", "te", "trailers",
	}, fields...)
	for i := 0; i+1 < len(all); i += 2 {
		_ = p.hpack.WriteField(hpack.HeaderField{Name: all[i], Value: all[i+1]})
	}
	return bytes.Clone(p.header.Bytes())
}

// Call opens a stream.
func (p *Peer) Call(stream uint32, procedure string, fields ...string) error {
	return p.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: p.Block(procedure, fields...), EndHeaders: true})
}

func (p *Peer) read() {
	decoder := hpack.NewDecoder(4096, nil)
	var stream uint32
	decoder.SetEmitFunc(func(f hpack.HeaderField) {
		if f.Name == ":status" {
			p.note(func() { p.status[stream] = f.Value })
		}
	})
	for {
		f, err := p.ReadFrame()
		if err != nil {
			p.note(func() { p.over = true })
			return
		}
		switch f := f.(type) {
		case *http2.HeadersFrame:
			stream = f.StreamID
			_, _ = decoder.Write(f.HeaderBlockFragment())
		case *http2.GoAwayFrame:
			p.note(func() { p.goAway = f.ErrCode })
		}
	}
}

func (p *Peer) note(set func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	set()
	close(p.changed)
	p.changed = make(chan struct{})
}

// Ended waits until the server has closed the connection, and gives its GOAWAY's code.
func (p *Peer) Ended(limit time.Duration) (http2.ErrCode, error) {
	err := p.until(limit, func() bool { return p.over })
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.goAway, err
}

// Status waits until the server has begun to answer a stream, and gives the HTTP status.
func (p *Peer) Status(stream uint32, limit time.Duration) (string, error) {
	err := p.until(limit, func() bool { return p.status[stream] != "" || p.over })
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil && p.status[stream] == "" {
		err = io.ErrUnexpectedEOF
	}
	return p.status[stream], err
}

func (p *Peer) until(limit time.Duration, ok func() bool) error {
	over := time.NewTimer(limit)
	defer over.Stop()
	for {
		p.mu.Lock()
		done, changed := ok(), p.changed
		p.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-over.C:
			return fmt.Errorf("nothing came of it within %s", limit)
		}
	}
}
