package hostile_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/net/http2"
	"google.golang.org/protobuf/proto"

	apiv1 "github.com/fletchdb/fletch/gen/go/fletch/api/v1"
	"github.com/fletchdb/fletch/gen/go/fletch/api/v1/apiv1connect"
	workerv1 "github.com/fletchdb/fletch/gen/go/fletch/worker/v1"
	"github.com/fletchdb/fletch/gen/go/fletch/worker/v1/workerv1connect"
	"github.com/fletchdb/fletch/services/client"
	"github.com/fletchdb/fletch/services/coordinator"
	"github.com/fletchdb/fletch/services/internal/clustertest"
	"github.com/fletchdb/fletch/services/internal/hostile"
	"github.com/fletchdb/fletch/services/internal/httpserve"
	"github.com/fletchdb/fletch/services/internal/identity"
	"github.com/fletchdb/fletch/services/resolver"
	"github.com/fletchdb/fletch/services/worker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A target is a server under attack: a call that opens something there, as a stranger who knows all names makes it.
type target struct {
	name, url, procedure string
	fields               []string // headers of the call
	body                 []byte   // its message in an envelope
}

func envelope(m proto.Message) []byte {
	b, _ := proto.Marshal(m)
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(b))), b...)
}

// everything gives far more rows than a connection's window holds.
const everything = "SELECT * FROM lineitem"

// cluster is a worker and a coordinator, as targets, and a client that is served meanwhile.
func cluster(t *testing.T) (targets []target, c *client.Client) {
	t.Helper()
	// A test's log is kept in memory, which is what is measured.
	quiet := slog.New(slog.DiscardHandler)
	w := clustertest.Worker(t, worker.WithVersion("v1"), worker.WithReadRoots(clustertest.TPCH(t)), worker.WithLogger(quiet))
	co := clustertest.Coordinator(t, []string{w.URL()}, coordinator.WithTables(clustertest.TPCH(t)), coordinator.WithLogger(quiet))
	dialer := httpserve.NewDialer(&httpserve.Credentials{}, "")
	t.Cleanup(dialer.Close)
	info, err := resolver.Info(t.Context(), dialer, w.URL())
	if err != nil {
		t.Fatal(err)
	}
	return []target{
		{
			"worker", w.URL(), workerv1connect.WorkerServiceWatchProcedure,
			[]string{
				strings.ToLower(identity.HeaderInstance), w.Instance(), strings.ToLower(identity.HeaderVersion), "v1",
				strings.ToLower(identity.HeaderProtocol), fmt.Sprint(identity.Protocol()), strings.ToLower(identity.HeaderCapabilities), info.GetCapabilitiesDigest(),
			},
			envelope(&workerv1.WatchRequest{Query: "hostile", Attempt: 1}),
		},
		{
			"coordinator", co.URL(), apiv1connect.QueryServiceExecuteProcedure,
			[]string{strings.ToLower(identity.HeaderAPI), identity.API().String()},
			envelope(&apiv1.ExecuteRequest{Statement: everything}),
		},
	}, connect(t, co.URL())
}

func connect(t *testing.T, url string) *client.Client {
	t.Helper()
	c, err := client.New([]string{url}, client.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// peak is the most memory and goroutines that were seen while something ran.
type peak struct{ bytes, goroutines atomic.Int64 }

// watch samples until stop is called.
func (p *peak) watch() (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(5 * time.Millisecond)
		defer ticker.Stop()
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			p.bytes.Store(max(p.bytes.Load(), int64(m.HeapInuse)))
			p.goroutines.Store(max(p.goroutines.Load(), int64(runtime.NumGoroutine())))
			select {
			case <-ticker.C:
			case <-done:
				return
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// patience is how long a server may take for what it does at once, on a machine that does much else.
const patience = 15 * time.Second

// calm is how often an endless flood is sent before the test gives up on the server's patience.
const calm = 50_000

var attacks = []struct {
	name string
	deaf bool
	do   func(p *hostile.Peer, to target) error // an error says what the server did not do
}{
	{"garbage for a preface", false, func(p *hostile.Peer, _ target) error {
		b := make([]byte, 64<<10)
		_, _ = rand.Read(b)
		b[0] = 'x'
		_ = p.Raw(b)
		_, err := p.Ended(patience)
		return err
	}},
	{"garbage after the preface", false, func(p *hostile.Peer, _ target) error {
		if err := p.Begin(); err != nil {
			return err
		}
		_ = p.Raw([]byte(strings.Repeat("GET / HTTP/1.1\r\n", 100)))
		_, err := p.Ended(patience)
		return err
	}},
	{"a frame larger than allowed", false, func(p *hostile.Peer, to target) error {
		if err := p.Begin(); err != nil {
			return err
		}
		if err := p.Call(1, to.procedure, to.fields...); err != nil {
			return err
		}
		_ = p.Raw([]byte{0x7f, 0xff, 0xff, byte(http2.FrameData), 0, 0, 0, 0, 1})
		code, err := p.Ended(patience)
		if err == nil && code != http2.ErrCodeFrameSize {
			err = fmt.Errorf("it ended with %s", code)
		}
		return err
	}},
	{"streams that break off", false, func(p *hostile.Peer, to target) error {
		if err := p.Begin(); err != nil {
			return err
		}
		for i := range uint32(200) {
			if err := p.Call(2*i+1, to.procedure, to.fields...); err != nil {
				return err
			}
			if err := p.WriteData(2*i+1, false, to.body[:len(to.body)-1]); err != nil {
				return err
			}
		}
		return nil // and the connection is cut
	}},
	{"streams that end in the middle of a message", false, func(p *hostile.Peer, to target) error {
		if err := p.Begin(); err != nil {
			return err
		}
		for i := range uint32(50) {
			if err := p.Call(2*i+1, to.procedure, to.fields...); err != nil {
				return err
			}
			if err := p.WriteData(2*i+1, true, to.body[:len(to.body)-1]); err != nil {
				return err
			}
			if _, err := p.Status(2*i+1, patience); err != nil {
				return err
			}
		}
		return nil
	}},
	{"a message that says it has 4 GiB", false, func(p *hostile.Peer, to target) error {
		if err := p.Begin(); err != nil {
			return err
		}
		if err := p.Call(1, to.procedure, to.fields...); err != nil {
			return err
		}
		if err := p.WriteData(1, true, []byte{0, 0xff, 0xff, 0xff, 0xff, 1, 2, 3}); err != nil {
			return err
		}
		_, err := p.Status(1, patience)
		return err
	}},
	{"reset storm", false, func(p *hostile.Peer, to target) error {
		if err := p.Begin(); err != nil {
			return err
		}
		for i := range uint32(calm) {
			if p.Call(2*i+1, to.procedure, to.fields...) != nil || p.WriteRSTStream(2*i+1, http2.ErrCodeCancel) != nil {
				break
			}
		}
		return nil // borne or ended, both are right: what it costs is measured
	}},
	{"reset storm with whole requests", false, func(p *hostile.Peer, to target) error {
		if err := p.Begin(); err != nil {
			return err
		}
		for i := range uint32(5000) {
			if p.Call(2*i+1, to.procedure, to.fields...) != nil || p.WriteData(2*i+1, true, to.body) != nil || p.WriteRSTStream(2*i+1, http2.ErrCodeCancel) != nil {
				break
			}
		}
		return nil
	}},
	{"more streams than allowed", false, func(p *hostile.Peer, to target) error {
		if err := p.Begin(); err != nil {
			return err
		}
		for i := range uint32(3 * httpserve.MaxStreams) {
			if p.Call(2*i+1, to.procedure, to.fields...) != nil {
				break
			}
		}
		return nil // those above the limit are refused
	}},
	{"a window that never opens", false, func(p *hostile.Peer, to target) error {
		if err := p.Begin(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}); err != nil {
			return err
		}
		for i := range uint32(20) {
			if err := p.Call(2*i+1, to.procedure, to.fields...); err != nil {
				return err
			}
			if err := p.WriteData(2*i+1, true, to.body); err != nil {
				return err
			}
		}
		_, err := p.Status(1, patience) // the answer's head needs no window
		return err
	}},
	{"a header of 64 KiB", false, func(p *hostile.Peer, to target) error {
		if err := p.Begin(); err != nil {
			return err
		}
		if err := p.Call(1, to.procedure, "large", strings.Repeat("x", 64<<10)); err != nil {
			return err
		}
		_, err := p.Ended(patience)
		return err
	}},
	{"headers of 64 KiB", false, func(p *hostile.Peer, to target) error {
		if err := p.Begin(); err != nil {
			return err
		}
		var fields []string
		for i := range 64 {
			fields = append(fields, fmt.Sprintf("large-%d", i), strings.Repeat("x", 1<<10))
		}
		if err := p.Call(1, to.procedure, fields...); err != nil {
			return err
		}
		status, err := p.Status(1, patience)
		if err == nil && status != "431" {
			err = fmt.Errorf("status %s", status)
		}
		return err
	}},
	{"small headers that grow when they are decoded", false, func(p *hostile.Peer, to target) error {
		if err := p.Begin(); err != nil {
			return err
		}
		// One entry of the dynamic table, named a thousand times by one byte each.
		block := p.Block(to.procedure, "large", strings.Repeat("x", 3<<10))
		for range 10_000 {
			block = append(block, 0x80|62)
		}
		if err := p.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block, EndHeaders: true}); err != nil {
			return err
		}
		if status, err := p.Status(1, patience); err == nil && status != "431" {
			return fmt.Errorf("status %s", status)
		}
		return nil
	}},
	{"headers that never end", false, func(p *hostile.Peer, to target) error {
		if err := p.Begin(); err != nil {
			return err
		}
		if err := p.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: p.Block(to.procedure)}); err != nil {
			return err
		}
		block := p.Block(to.procedure, "large", strings.Repeat("x", 15<<10))
		for range calm {
			if p.WriteContinuation(1, false, block) != nil {
				break
			}
		}
		_, err := p.Ended(patience)
		return err
	}},
	{"empty headers that never end", false, func(p *hostile.Peer, to target) error {
		if err := p.Begin(); err != nil {
			return err
		}
		if err := p.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: p.Block(to.procedure)}); err != nil {
			return err
		}
		for range calm {
			if p.WriteContinuation(1, false, nil) != nil {
				break
			}
		}
		return nil
	}},
	{"settings without end, deaf", true, func(p *hostile.Peer, _ target) error {
		if err := p.Begin(); err != nil {
			return err
		}
		for range calm {
			if p.WriteSettings() != nil {
				break
			}
		}
		return nil // they may share an acknowledgement
	}},
	{"pings without end, deaf", true, func(p *hostile.Peer, _ target) error {
		if err := p.Begin(); err != nil {
			return err
		}
		ping := append([]byte{0, 0, 8, byte(http2.FramePing), 0, 0, 0, 0, 0}, make([]byte, 8)...)
		for range calm {
			if p.Raw(bytes.Repeat(ping, 100)) != nil {
				return nil
			}
		}
		return fmt.Errorf("%d pings were borne", 100*calm)
	}},
	{"pings without end", false, func(p *hostile.Peer, _ target) error {
		if err := p.Begin(); err != nil {
			return err
		}
		for range calm {
			if p.WritePing(false, [8]byte{}) != nil {
				break
			}
		}
		return nil
	}},
	{"a window that overflows", false, func(p *hostile.Peer, _ target) error {
		if err := p.Begin(); err != nil {
			return err
		}
		for range 3 {
			_ = p.WriteWindowUpdate(0, 1<<31-1)
		}
		code, err := p.Ended(patience)
		if err == nil && code != http2.ErrCodeFlowControl {
			err = fmt.Errorf("it ended with %s", code)
		}
		return err
	}},
	{"more data than the window allows", false, func(p *hostile.Peer, to target) error {
		if err := p.Begin(); err != nil {
			return err
		}
		if err := p.Call(1, to.procedure, to.fields...); err != nil {
			return err
		}
		for range 64 { // nobody reads the body of a message that is not whole
			if p.WriteData(1, false, make([]byte, 1<<20)) != nil {
				break
			}
		}
		return nil
	}},
	{"silence", false, func(p *hostile.Peer, _ target) error { return late(p) }},
	{"half a preface", false, func(p *hostile.Peer, _ target) error { return late(p, p.Raw([]byte(http2.ClientPreface[:10]))) }},
	{"half a request line", false, func(p *hostile.Peer, _ target) error { return late(p, p.Raw([]byte("GET / HT"))) }},
	{"headers that do not go on", false, func(p *hostile.Peer, to target) error {
		return late(p, p.Begin(), p.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: p.Block(to.procedure)}))
	}},
}

// late waits until the server has sent away, by the clock, a peer that says nothing or not enough: a ping after 10 s, its time-out
// 5 s later, and what a loaded machine takes on top.
func late(p *hostile.Peer, said ...error) error {
	if err := errors.Join(said...); err != nil {
		return err
	}
	_, err := p.Ended(22 * time.Second)
	return err
}

// Whatever peers send, and all of them at once, a server ends it or bears it at a bounded cost, serves others meanwhile, and holds
// nothing afterwards.
func TestPeers(t *testing.T) {
	const (
		most   = 256 << 20                 // bytes of heap in use, above what was before: both sides', and garbage
		many   = 12 * httpserve.MaxStreams // goroutines
		kept   = 8 << 20                   // bytes that live afterwards
		served = 20 * time.Second
	)
	targets, c := cluster(t)
	ask := func() error {
		r, err := c.Query(t.Context(), "SELECT count(*) FROM lineitem JOIN orders ON l_orderkey = o_orderkey", client.Options{Timeout: served})
		if err != nil {
			return err
		}
		defer r.Close()
		rows, err := clustertest.Collect(r)
		if got := fmt.Sprint(rows); err == nil && got != "[[60175]]" {
			err = fmt.Errorf("the answer is %s", got)
		}
		return err
	}
	if err := ask(); err != nil {
		t.Fatal(err)
	}
	before, goroutines := heap(), runtime.NumGoroutine()
	var p peak
	stop := p.watch()
	asking, enough := context.WithCancel(t.Context())
	answered := make(chan int)
	go func() {
		n := 0
		for ; asking.Err() == nil; n++ {
			if err := ask(); err != nil {
				t.Errorf("another client: %v", err)
				break
			}
		}
		answered <- n
	}()
	var wg sync.WaitGroup
	for _, to := range targets {
		for _, attack := range attacks {
			peer := hostile.Dial(t, to.url, attack.deaf)
			wg.Go(func() {
				defer peer.Close()
				if err := attack.do(peer, to); err != nil {
					t.Errorf("%s: %s: %v", to.name, attack.name, err)
				}
			})
		}
	}
	wg.Wait()
	enough()
	n := <-answered
	stop()
	settled := func() bool { return runtime.NumGoroutine() <= goroutines+5 && heap() <= before+kept }
	for limit := time.Now().Add(patience); !settled(); {
		if time.Now().After(limit) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("goroutines %d, then %d; heap %d, then %d\n%s", goroutines, runtime.NumGoroutine(), before, heap(), stacks[:runtime.Stack(stacks, true)])
		}
	}
	grown, more := p.bytes.Load()-before, p.goroutines.Load()-int64(goroutines)
	t.Logf("at most %d MiB and %d goroutines more; %d queries of another client answered", grown>>20, more, n)
	if grown > most || more > many || n == 0 {
		t.Errorf("at most %d MiB and %d goroutines more, and some query answered, are allowed", most>>20, many)
	}
}
