package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// tcp is the least that Arrow needs over a socket: a message is the lengths of header and body, then both, sent by one writev and
// read into memory that is used again. Nobody else can be on the connection, and nobody is asked who they are.
type tcp struct{}

func (tcp) serve(p *peer) (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_ = send(c, *p.batches.Load())
			}()
		}
	}()
	return l.Addr().String(), nil
}

func send(c net.Conn, batches []arrow.RecordBatch) error {
	var n uint32
	if err := binary.Read(c, binary.LittleEndian, &n); err != nil {
		return err
	}
	schema := ipc.GetSchemaPayload(batches[0].Schema(), memory.DefaultAllocator)
	if err := sendPayload(c, schema); err != nil {
		return err
	}
	for i := range int(n) {
		p, err := ipc.GetRecordBatchPayload(batches[i%len(batches)])
		if err != nil {
			return err
		}
		if err := sendPayload(c, p); err != nil {
			return err
		}
	}
	return nil
}

// gather keeps what is written to it.
type gather struct {
	parts net.Buffers
	size  int
}

func (g *gather) Write(p []byte) (int, error) {
	g.parts = append(g.parts, p)
	g.size += len(p)
	return len(p), nil
}

func sendPayload(c net.Conn, p ipc.Payload) error {
	defer p.Release()
	meta := p.Meta()
	defer meta.Release()
	lengths := make([]byte, 8)
	g := gather{parts: net.Buffers{lengths, meta.Bytes()}}
	if err := p.SerializeBody(&g); err != nil {
		return err
	}
	binary.LittleEndian.PutUint32(lengths, uint32(meta.Len()))
	binary.LittleEndian.PutUint32(lengths[4:], uint32(g.size))
	_, err := g.parts.WriteTo(c)
	return err
}

func (tcp) read(_ context.Context, url string, batches int, check func(arrow.RecordBatch) error) error {
	c, err := net.Dial("tcp", url)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := binary.Write(c, binary.LittleEndian, uint32(batches)); err != nil {
		return err
	}
	in := &incoming{c: c}
	r, err := ipc.NewReaderFromMessageReader(in)
	if err != nil {
		return err
	}
	defer r.Release()
	for r.Next() {
		if err := check(r.RecordBatch()); err != nil {
			return err
		}
	}
	if in.err != nil && !errors.Is(in.err, io.EOF) {
		return in.err
	}
	return r.Err()
}

// incoming is a connection as a stream of Arrow messages. The memory of one is that of the next.
type incoming struct {
	c      net.Conn
	header []byte
	body   []byte
	err    error
}

func (*incoming) Retain()  {}
func (*incoming) Release() {}

func (in *incoming) Message() (*ipc.Message, error) {
	var lengths [8]byte
	if _, in.err = io.ReadFull(in.c, lengths[:]); in.err != nil {
		return nil, in.err
	}
	h, b := binary.LittleEndian.Uint32(lengths[:]), binary.LittleEndian.Uint32(lengths[4:])
	if h > 1<<20 || b > 64<<20 {
		return nil, fmt.Errorf("a message of %d and %d bytes", h, b)
	}
	if cap(in.header) < int(h) {
		in.header = make([]byte, h)
	}
	if cap(in.body) < int(b) || in.body == nil {
		in.body = make([]byte, b)
	}
	in.header, in.body = in.header[:h], in.body[:b]
	if _, in.err = io.ReadFull(in.c, in.header); in.err != nil {
		return nil, in.err
	}
	if _, in.err = io.ReadFull(in.c, in.body); in.err != nil {
		return nil, in.err
	}
	return ipc.NewMessage(memory.NewBufferBytes(in.header), memory.NewBufferBytes(in.body)), nil
}
