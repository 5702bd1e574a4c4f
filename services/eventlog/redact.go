package eventlog

import (
	"regexp"
	"slices"
	"strings"
)

// struck stands where a secret stood.
const struck = "***"

// Secrets is what was struck out of a statement, to strike it out of what is said about the statement, too.
type Secrets []string

// Redact gives a statement without its secrets: the values that follow the name of a secret – an option, a setting, a column that is
// compared – and, in text of any kind, credentials of URLs and connection strings and what has the form of a key. It rather strikes
// too much: "password = 'x'" is a secret in a WHERE, too.
func Redact(statement string) (string, Secrets) {
	lower := lowerASCII(statement)
	if !slices.ContainsFunc(signs, func(s string) bool { return strings.Contains(lower, s) }) {
		return statement, nil
	}
	var (
		out     strings.Builder
		secrets Secrets
		named   bool // the token before is a secret's name, or what may stand between it and its value
		equals  bool // and it was the latter
		first   = true
		setting bool // a statement that sets something rather than asks: more names are those of secrets
	)
	for t := range tokens(statement) {
		text, plain := statement[t.from:t.to], lower[t.from:t.to]
		switch {
		case t.kind == space:
		case named && (t.kind == literal || t.kind == number && equals || t.kind == word && equals && setting):
			secrets = append(secrets, inner(text))
			text = struckLike(text)
			named = false
		case named && between(plain):
			equals = true
		default:
			if first && t.kind == word {
				setting = !slices.Contains([]string{"select", "with", "values", "from", "explain", "table", "describe", "show"}, plain)
			}
			first, equals = false, false
			named = t.kind != symbol && t.kind != number && secretName(inner(plain), setting)
		}
		if t.kind == space || t.kind == literal || t.kind == word && text[0] == '"' {
			text = scrub(text, &secrets)
		}
		out.WriteString(text)
	}
	return out.String(), secrets
}

// signs are what a statement with a secret has one of, in lower case: most have none.
var signs = []string{"pass", "pwd", "secret", "key", "token", "credential", "connection_string", "auth", "://", "sig", "code=", "bearer", "akia", "asia", "eyj"}

func lowerASCII(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c | 0x20
		}
	}
	return string(b)
}

// scrub strikes out what has the form of a secret.
func scrub(text string, secrets *Secrets) string {
	for _, p := range patterns {
		if !strings.Contains(text, p.sign) {
			continue
		}
		text = p.form.ReplaceAllStringFunc(text, func(m string) string {
			at := p.form.FindStringSubmatchIndex(m)
			from, to := at[2], at[3]
			if m[from:to] == struck {
				return m
			}
			*secrets = append(*secrets, m[from:to])
			return m[:from] + struck + m[to:]
		})
	}
	return text
}

// Strike gives text without what was struck out of its statement.
func (s Secrets) Strike(text string) string {
	for _, secret := range s {
		if len(secret) >= 3 { // shorter ones stand everywhere
			text = strings.ReplaceAll(text, secret, struck)
		}
	}
	return text
}

// patterns find secrets by their form; what the first group matches is struck out. Where the sign is not, nothing is looked for.
var patterns = []struct {
	sign string
	form *regexp.Regexp
}{
	{"://", regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://([^/?#@\s'":]*:[^@\s'"]*|[^/?#@\s'"]+)@`)},                                                                                     // scheme://user:password@
	{"=", regexp.MustCompile(`(?i)[?&;](?:sig|signature|token|key|code|password|pwd|secret|[a-z0-9_-]*(?:signature|credential|token|secret|apikey|api_key|accesskeyid))=([^&\s'"#;]+)`)}, // ?sig=…
	{"=", regexp.MustCompile(`(?i)\b(?:password|passwd|pwd|secret|accountkey|sharedaccesskey|secret_?key|access_?key)\s*=\s*([^&\s'";,)>$]+)`)},                                          // password=… in a text
	{" ", regexp.MustCompile(`(?i)\bbearer\s+([A-Za-z0-9._~+/=-]{8,})`)},
	{"A", regexp.MustCompile(`\b((?:AKIA|ASIA)[0-9A-Z]{16})\b`)},
	{"eyJ", regexp.MustCompile(`\b(eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*)`)},
	{"PRIVATE KEY", regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----([^-]*)`)},
}

// secretName tells whether a name, in lower case, is that of a secret, in a statement that sets something or in any.
func secretName(name string, setting bool) bool {
	for _, part := range []string{"password", "passwd", "passphrase", "secret", "private_key", "access_key", "api_key", "apikey", "account_key", "encryption_key", "credential", "connection_string"} {
		if strings.Contains(name, part) {
			return len(name) <= 64
		}
	}
	return setting && len(name) <= 64 && (strings.Contains(name, "token") || strings.HasSuffix(name, "key") || strings.HasSuffix(name, "pwd") || strings.HasSuffix(name, "auth"))
}

// between tells whether a token may stand between the name of a secret and its value.
func between(text string) bool {
	switch text {
	case "=", ":", ":=", "=>", "to":
		return true
	}
	return false
}

// inner is a literal without its quotes.
func inner(text string) string {
	i := strings.IndexAny(text, "'\"$")
	if i < 0 {
		return text
	}
	if text[i] == '$' {
		if j := strings.IndexByte(text[i+1:], '$'); j >= 0 {
			tag := text[i : i+j+2]
			return strings.TrimSuffix(text[i+j+2:], tag)
		}
		return text
	}
	return strings.TrimSuffix(text[i+1:], text[i:i+1])
}

func struckLike(text string) string {
	if strings.HasPrefix(text, `"`) {
		return `"` + struck + `"`
	}
	return "'" + struck + "'"
}

// The kinds of tokens that redaction tells apart.
const (
	space   = iota // white space and comments
	word           // a name or keyword, quoted or not
	literal        // a string
	number
	symbol
)

type span struct{ kind, from, to int }

// tokens cuts a statement up, also one that no parser takes: what has no end ends with the statement.
func tokens(s string) func(yield func(span) bool) {
	return func(yield func(span) bool) {
		for i := 0; i < len(s); {
			kind, to := token(s, i)
			if !yield(span{kind, i, to}) {
				return
			}
			i = to
		}
	}
}

func token(s string, i int) (kind, to int) {
	rest := s[i:]
	end := func(skip int, until string) int {
		if j := strings.Index(rest[skip:], until); j >= 0 {
			return i + skip + j + len(until)
		}
		return len(s)
	}
	run := func(is func(c byte) bool) int {
		j := i + 1
		for j < len(s) && is(s[j]) {
			j++
		}
		return j
	}
	c := s[i]
	switch {
	case strings.HasPrefix(rest, "--"):
		return space, end(2, "\n")
	case strings.HasPrefix(rest, "/*"):
		return space, end(2, "*/")
	case c <= ' ':
		return space, run(func(c byte) bool { return c <= ' ' })
	case c == '\'':
		return literal, quoted(s, i, false)
	case (c == 'e' || c == 'E') && strings.HasPrefix(rest[1:], "'"):
		return literal, quoted(s, i+1, true)
	case c == '"':
		return word, quoted(s, i, false)
	case c == '$':
		if j := strings.IndexByte(rest[1:], '$'); j >= 0 && !strings.ContainsAny(rest[1:1+j], " \t\n'\"(),;=") {
			return literal, end(j+2, rest[:j+2])
		}
		return symbol, i + 1
	case c >= '0' && c <= '9':
		return number, run(func(c byte) bool { return c >= '0' && c <= '9' || c == '.' || isLetter(c) })
	case isLetter(c):
		return word, run(func(c byte) bool { return isLetter(c) || c >= '0' && c <= '9' || c == '.' })
	case strings.HasPrefix(rest, ":=") || strings.HasPrefix(rest, "=>"):
		return symbol, i + 2
	}
	return symbol, i + 1
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c >= 0x80 }

// quoted is the end of what is quoted from i on; a doubled quote does not end it, nor, where backslashes count, does one behind one.
func quoted(s string, i int, backslash bool) int {
	q := s[i]
	for j := i + 1; j < len(s); j++ {
		switch {
		case backslash && s[j] == '\\':
			j++
		case s[j] == q && j+1 < len(s) && s[j+1] == q:
			j++
		case s[j] == q:
			return j + 1
		}
	}
	return len(s)
}
