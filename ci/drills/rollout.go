package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// fleetSize is how many workers there are.
const fleetSize = 6

// A roll is the drill of rollouts: a steady load while workers, and then coordinators, are replaced one by one.
type roll struct {
	old, new     side // programs
	dir, tables  string
	workersFile  string
	kill         bool
	pause        time.Duration // after each replacement, beside what it takes itself
	log          io.Writer
	began        time.Time
	load         *traffic
	coordinators []*process
	names        map[*process]string
	fleet        []*process // by place

	mu        sync.Mutex
	instances map[string]bool // all that were seen
	replaced  map[int]int     // by place
	least     int64           // queries in flight at any switch
}

// A side is the programs of one build of Fletch.
type side struct{ fletch, v1, v2 string }

func sideIn(dir string) side {
	return side{filepath.Join(dir, "fletch"), filepath.Join(dir, "v1"), filepath.Join(dir, "v2")}
}

// rolled is the drill's result.
type rolled struct {
	Queries   int     `json:"queries"`
	Failed    int     `json:"failed"`     // without a row
	Wrong     int     `json:"wrong"`      // answers
	Mixed     int     `json:"mixed"`      // queries that more than one version computed
	AfterRows int     `json:"after_rows"` // that failed when rows had come
	Replaced  int     `json:"replaced"`   // places whose worker was really replaced, in each leg
	Switches  int     `json:"switches"`   // workers and coordinators that were replaced, in all
	InFlight  int64   `json:"in_flight"`  // queries that were running, at the switch that had fewest
	Again     int     `json:"again"`      // queries that took a second attempt
	Before    float64 `json:"p99_before_ms"`
	During    float64 `json:"p99_roll_ms"`
	ByVersion string  `json:"by_version"` // queries
	Bumped    int     `json:"bumped"`     // queries on the other side of a protocol bump
}

func rollout(ctx context.Context, args []string) (bad bool, err error) {
	fs := flag.NewFlagSet("rollout", flag.ContinueOnError)
	short := fs.Bool("short", false, "about one minute: there in place, back on new addresses, no protocol bump")
	kill := fs.Bool("kill", false, "workers are ended by SIGKILL")
	unchecked := fs.Bool("without-check", false, "build without the check of every call: the drill passes if it finds mixed queries")
	asJSON := fs.Bool("json", false, "print JSON; the timeline goes to standard error")
	bin := fs.String("fletch", "", "the fletch binary")
	if err := fs.Parse(args); err != nil {
		return false, err
	}
	dir, err := os.MkdirTemp("", "fletch-rollout-")
	if err != nil {
		return false, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	r := &roll{
		dir: dir, tables: filepath.Join(dir, "data"), workersFile: filepath.Join(dir, "workers"), kill: *kill, log: os.Stdout, began: time.Now(),
		names: map[*process]string{}, instances: map[string]bool{}, replaced: map[int]int{}, least: 1 << 30,
	}
	if *asJSON {
		r.log = os.Stderr
	}
	tags, commands := "", []string{"./ci/drills/fleet/v1", "./ci/drills/fleet/v2"}
	if *unchecked {
		tags, commands = "fletch_unchecked", append(commands, "./services/cmd/fletch")
	}
	r.say("building")
	if err := build(ctx, ".", dir, tags, commands...); err != nil {
		return false, err
	}
	r.old = sideIn(dir)
	if !*unchecked {
		r.old.fletch = *bin
	}
	legs := []func(context.Context) error{r.inPlace(r.old.v2), r.newAddresses(r.old.v1)}
	if *unchecked {
		legs = []func(context.Context) error{r.inPlace(r.old.v2), r.inPlace(r.old.v1)}
	}
	before := 12 * time.Second
	r.pause = time.Second
	if !*short && !*unchecked {
		before, r.pause = 25*time.Second, 2500*time.Millisecond
		r.say("building the other side of a protocol bump")
		if r.new, err = r.bumped(ctx); err != nil {
			return false, err
		}
		legs = []func(context.Context) error{
			r.inPlace(r.old.v2), r.inPlace(r.old.v1), r.newAddresses(r.old.v2), r.newAddresses(r.old.v1), r.rollCoordinators, r.acrossBump,
		}
	} else if !*unchecked {
		legs = append(legs, r.rollCoordinators)
	}
	defer r.stop()
	found, err := r.run(ctx, before, legs)
	if err != nil {
		return false, err
	}
	return r.report(found, *asJSON, *unchecked)
}

func (r *roll) say(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, _ = fmt.Fprintf(r.log, "%6.1f s  %s\n", time.Since(r.began).Seconds(), fmt.Sprintf(format, args...))
}

// run starts everything, goes the legs under load, and looks at what the load saw.
func (r *roll) run(ctx context.Context, before time.Duration, legs []func(context.Context) error) (found rolled, err error) {
	if err := generate(ctx, r.old.fletch, r.tables); err != nil {
		return found, err
	}
	for place := range fleetSize {
		w, err := r.worker(r.old.v1, "127.0.0.1:0", nil)
		if err != nil {
			return found, err
		}
		r.fleet = append(r.fleet, w)
		r.say("worker %d: v1 at %s, instance %s", place+1, w.url, w.instance())
	}
	if err := r.list(r.fleet...); err != nil {
		return found, err
	}
	for _, name := range []string{"A", "B"} {
		c, err := r.coordinator(r.old.fletch, name, "127.0.0.1:0")
		if err != nil {
			return found, err
		}
		r.coordinators = append(r.coordinators, c)
	}
	// Where the other side will be is known to clients from the beginning.
	third, err := freeAddress()
	if err != nil {
		return found, err
	}
	want, err := known(ctx, r.old.fletch, r.tables)
	if err != nil {
		return found, err
	}
	r.load = &traffic{bin: r.old.fletch, urls: []string{r.coordinators[0].url, r.coordinators[1].url, "http://" + third}, want: want, pace: 250 * time.Millisecond}
	for _, w := range r.fleet {
		if err := r.settled(ctx, w); err != nil {
			return found, err
		}
	}
	loading, end := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer end()
	wg.Go(func() { r.watch(loading) })
	wg.Go(func() { r.load.run(loading, 4) })
	steady := time.Now()
	r.say("steady load")
	if err := wait(ctx, before); err != nil {
		return found, err
	}
	rolling := time.Now()
	for _, leg := range legs {
		if err := leg(ctx); err != nil {
			return found, err
		}
	}
	if err := wait(ctx, r.pause); err != nil {
		return found, err
	}
	over := time.Now()
	end()
	wg.Wait()
	r.say("the load has ended")
	found.Before, found.During = p99(r.load.during(steady, rolling)), p99(r.load.during(rolling, over))
	r.count(&found)
	return found, nil
}

// count sums up what the load saw.
func (r *roll) count(found *rolled) {
	versions := map[string]int{}
	told := map[string]int{}
	fault := func(a asked, what, why string) {
		if told[what]++; told[what] <= 5 {
			r.say("%s at %.1f s: %s", what, a.began.Sub(r.began).Seconds(), why)
		}
	}
	var protocol uint32 // of the first side
	for _, a := range r.load.asked {
		found.Queries++
		switch {
		case a.failed != "" && a.afterRows:
			found.AfterRows++
		case a.failed != "":
			found.Failed++
			fault(a, "failed", a.failed)
		}
		if a.wrong != "" {
			found.Wrong++
			fault(a, "wrong", a.wrong)
		}
		if a.mixed != "" {
			found.Mixed++
			fault(a, "mixed", a.mixed)
		}
		if a.attempts > 1 {
			found.Again++
		}
		if a.failed == "" {
			versions[a.version]++
			protocol = cmp.Or(protocol, a.protocol)
		}
		if protocol > 0 && a.protocol > protocol {
			found.Bumped++
		}
	}
	var parts []string
	for v, n := range versions {
		parts = append(parts, fmt.Sprintf("%s %d", v, n))
	}
	slices.Sort(parts)
	found.ByVersion, found.InFlight = strings.Join(parts, ", "), r.least
	for place := range r.fleet {
		if r.replaced[place] > 0 {
			found.Replaced++
		}
		found.Switches += r.replaced[place]
	}
}

func (r *roll) report(found rolled, asJSON, unchecked bool) (bad bool, err error) {
	limit := max(3*found.Before, 300)
	bad = found.Queries == 0 || found.Failed+found.Wrong+found.Mixed > 0 || found.Replaced < fleetSize || found.InFlight < 1 || found.During > limit || !r.kill && found.AfterRows > 0
	bad = bad || r.new != side{} && found.Bumped == 0
	if unchecked {
		bad = found.Mixed == 0
	}
	if asJSON {
		e := json.NewEncoder(os.Stdout)
		e.SetIndent("", "  ")
		return bad, e.Encode(found)
	}
	fmt.Printf("\n%d queries (%s), of which %d failed, %d failed after rows, %d wrong, %d mixed, %d took a second attempt\n",
		found.Queries, found.ByVersion, found.Failed, found.AfterRows, found.Wrong, found.Mixed, found.Again)
	fmt.Printf("%d workers replaced, %d replacements, %d instances seen; at least %d queries in flight at each\n", found.Replaced, found.Switches, len(r.instances), found.InFlight)
	if found.Bumped > 0 {
		fmt.Printf("%d queries on the other side of the protocol bump\n", found.Bumped)
	}
	fmt.Printf("p99 %.0f ms before, %.0f ms during the roll; allowed are %.0f ms\n", found.Before, found.During, limit)
	switch {
	case unchecked && bad:
		fmt.Println("no query was mixed without the check: the drill cannot see what it is for")
	case unchecked:
		fmt.Println("without the check of every call queries are mixed, and the drill sees it")
	case bad:
		fmt.Println("not as it should be")
	default:
		fmt.Println("as it should be")
	}
	return bad, nil
}

// worker starts a program of ci/drills/fleet. waiting, if not nil, is closed when the program waits for its address.
func (r *roll) worker(program, listen string, waiting chan<- struct{}) (*process, error) {
	return begin(exec.Command(program, "--listen", listen, "--read-root", r.tables), waiting)
}

func (r *roll) coordinator(fletch, name, listen string) (*process, error) {
	c, err := start(fletch, "serve", "--listen", listen, "--tables", r.tables, "--workers-file", r.workersFile)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	r.names[c] = name
	r.mu.Unlock()
	r.say("coordinator %s at %s", name, c.url)
	return c, nil
}

func (r *roll) stop() {
	for _, p := range append(r.fleet, r.coordinators...) {
		p.kill()
	}
}

// list writes the file of workers, as whoever deploys them would.
func (r *roll) list(workers ...*process) error {
	var b bytes.Buffer
	for _, w := range workers {
		_, _ = fmt.Fprintln(&b, w.url)
	}
	fresh := r.workersFile + ".new"
	if err := os.WriteFile(fresh, b.Bytes(), 0o600); err != nil {
		return err
	}
	return os.Rename(fresh, r.workersFile)
}

// endWorker ends a worker, while it runs part of a query where its cohort is the current one.
func (r *roll) endWorker(ctx context.Context, w *process) (inFlight int64, err error) {
	_ = until(ctx, time.Second, "it has an attempt", func() bool {
		l, err := w.load(ctx)
		return err == nil && l.Attempts > 0
	})
	return r.end(ctx, w, r.kill)
}

// end tells a process to end, or ends it, when a query is on its way, and waits until it is gone.
func (r *roll) end(ctx context.Context, p *process, kill bool) (inFlight int64, err error) {
	if err := until(ctx, 20*time.Second, "a query is on its way", func() bool { inFlight = r.load.asking.Load(); return inFlight > 0 }); err != nil {
		return 0, err
	}
	r.least = min(r.least, inFlight)
	if kill {
		p.kill()
		return inFlight, nil
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return inFlight, err
	}
	done := make(chan error, 1)
	go func() { done <- p.cmd.Wait() }()
	select {
	case err := <-done:
		if err != nil {
			return inFlight, fmt.Errorf("%s did not drain: %w", p.url, err)
		}
		return inFlight, nil
	case <-time.After(40 * time.Second):
		return inFlight, fmt.Errorf("%s did not drain within 40 s", p.url)
	}
}

// novelty says whether novel may be asked for: from when every coordinator knows a worker that has it until the last such worker is
// told to end. Then no such query is on its way.
func (r *roll) novelty(is bool) {
	r.load.novel.Lock()
	defer r.load.novel.Unlock()
	r.load.newer = is
}

// moved notes that the worker at a place was replaced.
func (r *roll) moved(place int, fresh *process, how string, from *process, inFlight int64) error {
	if from.instance() == fresh.instance() || fresh.instance() == "" {
		return fmt.Errorf("worker %d was not replaced: it is instance %q", place+1, fresh.instance())
	}
	r.fleet[place] = fresh
	r.replaced[place]++
	r.say("worker %d: %s, instance %s → %s, in flight: %d", place+1, how, from.instance()[:8], fresh.instance()[:8], inFlight)
	return nil
}

// inPlace replaces every worker by program at its own address. The successor waits for the address, and takes it at once.
func (r *roll) inPlace(program string) func(context.Context) error {
	return func(ctx context.Context) error {
		version := filepath.Base(program)
		r.say("— in place to %s", version)
		for place, predecessor := range r.fleet {
			waiting, taken := make(chan struct{}), make(chan error, 1)
			var fresh *process
			go func() {
				var err error
				fresh, err = r.worker(program, strings.TrimPrefix(predecessor.url, "http://"), waiting)
				taken <- err
			}()
			select {
			case <-waiting:
			case err := <-taken:
				return fmt.Errorf("the successor did not wait: %w", err)
			}
			if version == "v1" && place == fleetSize-1 {
				r.novelty(false)
			}
			inFlight, err := r.endWorker(ctx, predecessor)
			if err != nil {
				return err
			}
			if err := <-taken; err != nil {
				return err
			}
			if err := r.moved(place, fresh, "in place to "+version, predecessor, inFlight); err != nil {
				return err
			}
			if err := r.next(ctx, version, fresh); err != nil {
				return err
			}
		}
		return nil
	}
}

// newAddresses replaces every worker by program at another address: the new one is listed beside the old one, which then ends.
func (r *roll) newAddresses(program string) func(context.Context) error {
	return func(ctx context.Context) error {
		version := filepath.Base(program)
		r.say("— on new addresses to %s", version)
		for place, predecessor := range r.fleet {
			fresh, err := r.worker(program, "127.0.0.1:0", nil)
			if err != nil {
				return err
			}
			if err := r.list(append(slices.Clone(r.fleet), fresh)...); err != nil {
				return err
			}
			if err := r.settled(ctx, fresh); err != nil {
				return err
			}
			if version == "v1" && place == fleetSize-1 {
				r.novelty(false)
			}
			inFlight, err := r.endWorker(ctx, predecessor)
			if err != nil {
				return err
			}
			if err := r.moved(place, fresh, "at "+fresh.url+" to "+version, predecessor, inFlight); err != nil {
				return err
			}
			if err := r.list(r.fleet...); err != nil {
				return err
			}
			if err := r.next(ctx, version, fresh); err != nil {
				return err
			}
		}
		return nil
	}
}

// next waits until the coordinators know a fresh worker, and a moment more.
func (r *roll) next(ctx context.Context, version string, fresh *process) error {
	if err := r.settled(ctx, fresh); err != nil {
		return err
	}
	if version == "v2" {
		r.novelty(true)
	}
	return wait(ctx, r.pause)
}

// rollCoordinators replaces one coordinator after the other in place, while clients have the other.
func (r *roll) rollCoordinators(ctx context.Context) error {
	r.say("— coordinators")
	for i, c := range r.coordinators {
		inFlight, err := r.end(ctx, c, false)
		if err != nil {
			return err
		}
		r.mu.Lock()
		name := r.names[c]
		delete(r.names, c)
		r.mu.Unlock()
		r.say("coordinator %s has ended, in flight: %d", name, inFlight)
		fresh, err := r.coordinator(r.old.fletch, name, strings.TrimPrefix(c.url, "http://"))
		if err != nil {
			return err
		}
		r.coordinators[i] = fresh
		if err := wait(ctx, r.pause); err != nil {
			return err
		}
	}
	return nil
}

// acrossBump brings up a second side of another protocol beside the first, and ends the first.
func (r *roll) acrossBump(ctx context.Context) error {
	r.say("— across a protocol bump")
	first := slices.Clone(r.fleet)
	var second []*process
	for place := range fleetSize {
		w, err := r.worker(r.new.v2, "127.0.0.1:0", nil)
		if err != nil {
			return err
		}
		second = append(second, w)
		r.fleet = append(r.fleet, w) // so that it is stopped, whatever comes
		r.say("worker %d of the other side at %s, instance %s", place+1, w.url, w.instance())
	}
	if err := r.list(r.fleet...); err != nil {
		return err
	}
	c, err := r.coordinator(r.new.fletch, "C", strings.TrimPrefix(r.load.urls[2], "http://"))
	if err != nil {
		return err
	}
	previous := r.coordinators
	r.coordinators = append(slices.Clone(previous), c)
	for _, w := range r.fleet {
		if err := r.settled(ctx, w); err != nil {
			return err
		}
	}
	if err := wait(ctx, r.pause); err != nil {
		return err
	}
	for _, p := range previous {
		inFlight, err := r.end(ctx, p, false)
		if err != nil {
			return err
		}
		r.mu.Lock()
		name := r.names[p]
		delete(r.names, p)
		r.mu.Unlock()
		r.say("coordinator %s has ended, in flight: %d", name, inFlight)
		if err := wait(ctx, r.pause); err != nil {
			return err
		}
	}
	r.coordinators = []*process{c}
	for place, w := range first {
		inFlight, err := r.end(ctx, w, r.kill)
		if err != nil {
			return err
		}
		if err := r.moved(place, second[place], "by the other side's", w, inFlight); err != nil {
			return err
		}
	}
	r.fleet = second
	if err := r.list(r.fleet...); err != nil {
		return err
	}
	r.novelty(true)
	return wait(ctx, 2*r.pause)
}

var protocolOption = regexp.MustCompile(`(?m)^option \(fletch\.options\.v1\.protocol_version\) = (\d+);$`)

// bumped builds the tree as it will be after the next bump of the worker protocol: a copy whose schema says so, its code generated
// anew. There is no other way to another number.
func (r *roll) bumped(ctx context.Context) (s side, err error) {
	root := filepath.Join(r.dir, "bumped")
	list, err := exec.CommandContext(ctx, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		return s, fmt.Errorf("list the tree's files: %w", err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(list), "\x00"), "\x00") {
		if err := copyFile(name, filepath.Join(root, name)); err != nil {
			return s, err
		}
	}
	// The tools that generate are those of this tree.
	if tools, err := filepath.Abs("ci/tools/node_modules"); err == nil {
		if _, err := os.Stat(tools); err == nil {
			if out, err := exec.CommandContext(ctx, "cp", "-r", tools, filepath.Join(root, "ci/tools/node_modules")).CombinedOutput(); err != nil {
				return s, fmt.Errorf("copy tools: %w\n%s", err, out)
			}
		}
	}
	schema := filepath.Join(root, "proto/worker/fletch/worker/v1/worker.proto")
	text, err := os.ReadFile(schema)
	if err != nil {
		return s, err
	}
	m := protocolOption.FindSubmatch(text)
	if m == nil {
		return s, fmt.Errorf("%s declares no protocol version", schema)
	}
	n, _ := strconv.Atoi(string(m[1]))
	raised := protocolOption.ReplaceAll(text, fmt.Appendf(nil, "option (fletch.options.v1.protocol_version) = %d;", n+1))
	if err := os.WriteFile(schema, raised, 0o600); err != nil {
		return s, err
	}
	generate := exec.CommandContext(ctx, "bash", "-c", `source ci/steps.sh; rm -rf gen/go/fletch gen/ts/src; GOWORK=off buf generate -o .`)
	generate.Dir = root
	if out, err := generate.CombinedOutput(); err != nil {
		return s, fmt.Errorf("generate code: %w\n%s", err, out)
	}
	out := filepath.Join(r.dir, "other")
	if err := build(ctx, root, out, "", "./services/cmd/fletch", "./ci/drills/fleet/v2"); err != nil {
		return s, err
	}
	r.say("the other side speaks protocol %d, this one %d", n+1, n)
	return sideIn(out), nil
}

func copyFile(from, to string) error {
	info, err := os.Lstat(from)
	if errors.Is(err, os.ErrNotExist) {
		return nil // deleted, and not committed yet
	}
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if info.Mode()&os.ModeSymlink != 0 {
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	}
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, info.Mode().Perm())
}

// A seen is a worker as a coordinator shows it.
type seen struct {
	URL, InstanceID, Version, State, Reason string
	Protocol                                uint32
	Used                                    bool
}

func view(ctx context.Context, c *process) ([]seen, error) {
	var got struct{ Workers []seen }
	err := post(ctx, c.url+"/fletch.api.v1.ClusterService/ListWorkers", &got)
	return got.Workers, err
}

// settled waits until every coordinator knows who w is.
func (r *roll) settled(ctx context.Context, w *process) error {
	return until(ctx, 20*time.Second, "every coordinator knows "+w.url, func() bool {
		for _, c := range r.coordinators {
			workers, err := view(ctx, c)
			if err != nil || !slices.ContainsFunc(workers, func(s seen) bool {
				return s.URL == w.url && s.InstanceID == w.instance() && s.State == "WORKER_STATE_READY"
			}) {
				return false
			}
		}
		return true
	})
}

// watch prints each coordinator's view of the cohorts whenever it changes.
func (r *roll) watch(ctx context.Context) {
	last := map[string]string{}
	ticker := time.NewTicker(250 * time.Millisecond)
	defer ticker.Stop()
	for ctx.Err() == nil {
		r.mu.Lock()
		coordinators := map[string]*process{}
		for c, name := range r.names {
			coordinators[name] = c
		}
		r.mu.Unlock()
		for name, c := range coordinators {
			workers, err := view(ctx, c)
			if err != nil {
				continue
			}
			if now := r.cohorts(workers); now != last[name] {
				last[name] = now
				r.say("%s: %s", name, now)
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
}

// cohorts is a view in a line: of each version, workers that are used of those that are there.
func (r *roll) cohorts(workers []seen) string {
	type group struct{ used, ready, draining int }
	groups := map[string]*group{}
	gone := 0
	for _, w := range workers {
		r.mu.Lock()
		r.instances[w.InstanceID] = true
		r.mu.Unlock()
		if w.State == "WORKER_STATE_UNREACHABLE" {
			gone++
			continue
		}
		key := fmt.Sprintf("%s (protocol %d)", w.Version, w.Protocol)
		if groups[key] == nil {
			groups[key] = &group{}
		}
		g := groups[key]
		switch {
		case w.State == "WORKER_STATE_DRAINING":
			g.draining++
		case w.Used:
			g.used++
			g.ready++
		default:
			g.ready++
		}
	}
	var parts []string
	for key, g := range groups {
		part := fmt.Sprintf("%s %d ready", key, g.ready)
		if g.used > 0 {
			part = fmt.Sprintf("%s current with %d", key, g.used)
		}
		if g.draining > 0 {
			part += fmt.Sprintf(", %d draining", g.draining)
		}
		parts = append(parts, part)
	}
	slices.Sort(parts)
	if gone > 0 {
		parts = append(parts, fmt.Sprintf("%d gone", gone))
	}
	return strings.Join(parts, "; ")
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String(), nil
}

// announce closes waiting when a process has said that it waits.
func announce(out io.Reader, waiting chan<- struct{}) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if lines.Text() == "waits" && waiting != nil {
			close(waiting)
			waiting = nil
		}
	}
}
