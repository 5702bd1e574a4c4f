package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fletchdb/fletch/services/client"
	"github.com/fletchdb/fletch/services/resolver"
)

// connectFlags are which server a command asks, and how it shows who it is.
type connectFlags struct {
	urls     []string
	security client.Security
}

func (f *connectFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringSliceVar(&f.urls, "connect", nil, "`URL[,URL]` of coordinators, of which the first that answers is used")
	flags.StringVar(&f.security.CAFile, "tls-ca", "", "PEM `FILE` of the authorities that may sign the server's certificate (default the system's)")
	flags.StringVar(&f.security.CertFile, "tls-cert", "", "PEM `FILE` of the client's certificate, for servers that ask for one")
	flags.StringVar(&f.security.KeyFile, "tls-key", "", "PEM `FILE` of the certificate's key")
	flags.StringVar(&f.security.TokenFile, "token-file", "", "`FILE` of the token that the server asks for")
	groupFlags(cmd, "Servers", "connect", "tls-ca", "tls-cert", "tls-key", "token-file")
}

// client is of the servers that are named. A server of another API version is told of once.
func (f *connectFlags) client(p *process) (*client.Client, error) {
	if len(f.urls) == 0 {
		return nil, usagef("name a server with --connect URL, or by the variable FLETCH_CONNECT")
	}
	for _, u := range f.urls {
		if _, err := resolver.CheckURL(u); err != nil {
			return nil, usagef("--connect: %w", err)
		}
	}
	c, err := client.New(f.urls, client.Config{Security: f.security, Differ: func(what string) {
		_, _ = fmt.Fprintf(p.err, "note: %s\n", what)
	}})
	if err != nil {
		return nil, &usageError{err}
	}
	return c, nil
}
