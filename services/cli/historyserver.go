package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	queryhistory "github.com/fletchdb/fletch/services/history"
)

func historyCommand(p *process) *cobra.Command {
	var (
		f          serverFlags
		dir, cache string
		origins    []string
	)
	cmd := &cobra.Command{
		Use:   "history [flags]",
		Short: "Serve the queries of an event log",
		Long: `Serves the queries that an event log has, of every release that ever wrote it, by the same API as a
coordinator: fletch queries and fletch query --connect show them. It runs nothing and changes
nothing in the log, which coordinators may go on writing. What it has read it keeps in an index in
a folder of its own, which may be deleted.

Its first line on standard error says where it listens: fletch history at URL, log DIR.`,
		Example: `  fletch history --dir /var/log/fletch
  fletch history --dir /var/log/fletch --listen 127.0.0.1:8480 &
  fletch queries --connect http://127.0.0.1:8480 --status crashed`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			tether(p.in)
			if dir == "" {
				return usagef("name the folder of the log with --dir")
			}
			if err := checkFolder("dir", dir); err != nil {
				return err
			}
			log, err := listEventLog(dir)
			if err != nil {
				return err
			}
			if cache == "" {
				return usagef("there is no cache folder of the user: name one with --cache-dir")
			}
			s, err := queryhistory.NewServer(dir, cache, queryhistory.Config{
				Listen: f.listen, Security: f.security, AllowHosts: f.allowHosts, AllowOrigins: origins, Logger: f.logger(p),
			})
			if err != nil {
				return &usageError{err}
			}
			_, _ = fmt.Fprintf(p.err, "fletch history at %s, log %s\n", s.URL(), dir)
			noteForeign(p, log) // not before: scripts read the first line
			return serveUntilTold(cmd.Context(), p, s.Serve)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&dir, "dir", "", "`DIR` of the event log")
	cacheFlag(cmd, &cache)
	f.registerServer(cmd, "8480")
	flags.StringSliceVar(&origins, "allow-origin", nil, "`URL` of web pages' origin that may call, such as http://localhost:3000; may repeat")
	flags.StringVar(&f.security.TokenFile, "token-file", "", "`FILE` of the token that clients must show")
	groupFlags(cmd, "Security", "allow-origin", "token-file")
	return cmd
}

// cacheFlag is where a server keeps the index of an event log, which it can make anew.
func cacheFlag(cmd *cobra.Command, dir *string) {
	own := ""
	if cache, err := os.UserCacheDir(); err == nil {
		own = filepath.Join(cache, "fletch", "history")
	}
	cmd.Flags().StringVar(dir, "cache-dir", own, "`DIR` for the index of the event log, which may be deleted")
	if f := cmd.Flags().Lookup("cache-dir"); own != "" {
		f.DefValue = ""
		f.Usage += " (default in the user's cache folder)"
	}
}
