package client

import (
	"context"
	"errors"

	"connectrpc.com/connect/v2"

	"github.com/fletchdb/fletch/engine/sqlerr"
	apiv1 "github.com/fletchdb/fletch/gen/go/fletch/api/v1"
	"github.com/fletchdb/fletch/gen/go/fletch/api/v1/apiv1connect"
	"github.com/fletchdb/fletch/services/internal/rpcerr"
)

// ErrSessionLost is the cause of an error that says that a session was on a server that is gone, and what it held with it.
var ErrSessionLost = errors.New("the session is lost")

// A session lives on one server. Until a statement has run in it, it holds nothing, and another server's will do.
type session struct {
	on   *connect.Client
	id   string // there
	used bool   // a statement was accepted
}

// OpenSession makes a session for statements that know of each other. A server that has none gives "", and every statement
// stands alone.
func (c *Client) OpenSession(ctx context.Context) (id string, err error) {
	err = c.each(ctx, func(cl *connect.Client) error {
		id, err = open(ctx, cl)
		if err == nil && id != "" {
			c.keep(id, session{on: cl, id: id})
		}
		return err
	})
	return id, err
}

// open makes a session on a server; "" on one that has none. One that nobody came to know of holds nothing, so it may be opened elsewhere.
func open(ctx context.Context, cl *connect.Client) (string, error) {
	res, err := apiv1connect.NewSessionServiceClient(cl).OpenSession(ctx, &apiv1.OpenSessionRequest{})
	if connect.CodeOf(err) == connect.CodeUnimplemented {
		return "", nil
	}
	return res.GetSessionId(), anew(ctx, err)
}

// CloseSession forgets a session.
func (c *Client) CloseSession(ctx context.Context, id string) error {
	c.mu.Lock()
	s, known := c.sessions[id]
	delete(c.sessions, id)
	c.mu.Unlock()
	if !known {
		return nil
	}
	_, err := apiv1connect.NewSessionServiceClient(s.on).CloseSession(ctx, &apiv1.CloseSessionRequest{SessionId: s.id})
	return err
}

// inSession calls f for a server with the id that a session has there. A session that is elsewhere, or was on this server before it was
// replaced, is opened anew if no statement has run in it; else it is lost.
func (c *Client) inSession(ctx context.Context, cl *connect.Client, id string, f func(id string) error) error {
	c.mu.Lock()
	s, known := c.sessions[id]
	c.mu.Unlock()
	if !known {
		return f(id)
	}
	if s.on == cl {
		if err := f(s.id); !unknown(err) {
			s.used = s.used || err == nil
			c.keep(id, s)
			return err
		}
	}
	if s.used {
		return sqlerr.Newf(sqlerr.ObjectNotInState, sqlerr.Pos{}, "the session was on a server that is gone: its settings, prepared statements and temporary tables are gone with it: %w", ErrSessionLost).
			WithHint("run the statement again, in a new session")
	}
	fresh, err := open(ctx, cl)
	if err != nil {
		return err
	}
	s = session{on: cl, id: fresh}
	err = f(fresh)
	s.used = err == nil
	c.keep(id, s)
	return err
}

func (c *Client) keep(id string, s session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sessions[id] = s
}

// unknown tells whether a server says that it has no such session.
func unknown(err error) bool {
	if connect.CodeOf(err) != connect.CodeNotFound {
		return false
	}
	_, detail, _ := rpcerr.FromAPI(err) // a file that is not found has one
	return detail == nil
}
