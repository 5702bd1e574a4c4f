package coordinator

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"sync"
	"time"

	"connectrpc.com/connect/v2"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/fletchdb/fletch/engine"
	"github.com/fletchdb/fletch/engine/sqlerr"
	apiv1 "github.com/fletchdb/fletch/gen/go/fletch/api/v1"
	"github.com/fletchdb/fletch/gen/go/fletch/api/v1/apiv1connect"
	"github.com/fletchdb/fletch/services/internal/rpcerr"
)

// Bounds of sessions: how long one lives without a statement, and how many there are.
const (
	sessionIdle = 30 * time.Minute
	maxSessions = 10_000
)

// sessionMemory is the bytes that the tables of one session may take.
const sessionMemory = 256 << 20

// sessions is the API's sessions by id.
type sessions struct {
	engine   *engine.Engine
	steering *steering

	mu   sync.Mutex
	open map[string]*session
}

// A session is an engine's session with the clock of its idle time.
type session struct {
	*engine.Session
	id    string // empty: of one statement
	taken string // version of the ramp that took the session when it was opened; empty: none did
	idle  *time.Timer
}

func newSessions(e *engine.Engine, s *steering) *sessions {
	return &sessions{engine: e, steering: s, open: map[string]*session{}}
}

// ramped tells whether the ramp there is now takes a query of the session. One that was opened before is taken never: a ramp takes what
// is new. What stands alone is taken by the query's id.
func (s *session) ramped(by *steering, query string) bool {
	if s.id == "" {
		_, takes := by.takes(query)
		return takes
	}
	version, takes := by.takes(s.id)
	return takes && s.taken == version
}

// add makes a session.
func (s *sessions) add() (id string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open) >= maxSessions {
		return "", sqlerr.Newf(sqlerr.TooManyQueries, sqlerr.Pos{}, "%d sessions are open", maxSessions).WithHint("close sessions that are not used")
	}
	var b [16]byte
	_, _ = rand.Read(b[:])
	id = "s" + hex.EncodeToString(b[:])
	o := &session{Session: s.engine.NewSession(), id: id, idle: time.AfterFunc(sessionIdle, func() { s.drop(id) })}
	if version, takes := s.steering.takes(id); takes {
		o.taken = version
	}
	s.open[id] = o
	return id, nil
}

func (s *sessions) drop(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.open[id]; o != nil {
		o.idle.Stop()
		delete(s.open, id)
	}
}

// of is the session that a statement asks for: a fresh one for no id.
func (s *sessions) of(id string) (*session, error) {
	if id == "" {
		return &session{Session: s.engine.NewSession()}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.open[id]
	if o == nil {
		return nil, connect.Errorf(connect.CodeNotFound, "no such session: it was closed, or not used for %s, or is another server's", sessionIdle)
	}
	o.idle.Reset(sessionIdle)
	return o, nil
}

// count is how many sessions are open.
func (s *sessions) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open)
}

func (s *sessions) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, o := range s.open {
		o.idle.Stop()
		delete(s.open, id)
	}
}

// sessionService opens and closes sessions.
type sessionService struct{ coordinator *Coordinator }

var _ apiv1connect.SessionServiceHandler = (*sessionService)(nil)

func (s *sessionService) OpenSession(_ context.Context, req *apiv1.OpenSessionRequest) (*apiv1.OpenSessionResponse, error) {
	if err := known(req); err != nil {
		return nil, err
	}
	if err := s.coordinator.refuseDraining(); err != nil {
		return nil, rpcerr.ToAPI(err, "", 0)
	}
	id, err := s.coordinator.sessions.add()
	if err != nil {
		return nil, rpcerr.ToAPI(err, "", 0)
	}
	return &apiv1.OpenSessionResponse{SessionId: id, IdleTimeout: durationpb.New(sessionIdle)}, nil
}

func (s *sessionService) CloseSession(_ context.Context, req *apiv1.CloseSessionRequest) (*apiv1.CloseSessionResponse, error) {
	if err := known(req); err != nil {
		return nil, err
	}
	s.coordinator.sessions.drop(req.GetSessionId())
	return &apiv1.CloseSessionResponse{}, nil
}
