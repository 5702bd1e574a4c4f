package eventlog

import (
	"strings"
	"testing"
)

func TestRedact(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"SELECT 1", "SELECT 1"},
		{"SET s3_secret_access_key = 'abc123'", "SET s3_secret_access_key = '***'"},
		{"SET s3_session_token TO \"abc\"", "SET s3_session_token TO \"***\""},
		{"SET x.token=abc", "SET x.token='***'"},
		{"COPY t TO 'f.csv' (FORMAT csv, PASSWORD 'it''s')", "COPY t TO 'f.csv' (FORMAT csv, PASSWORD '***')"},
		{"COPY t TO 'f' (encryption_key $x$a'b$x$)", "COPY t TO 'f' (encryption_key '***')"},
		{"CREATE SECRET s (TYPE s3, KEY_ID 'k', \"Secret\" E'a\\'b')", "CREATE SECRET s (TYPE s3, KEY_ID 'k', \"Secret\" '***')"},
		{"SELECT * FROM read('x', password => 'p w', n => 1)", "SELECT * FROM read('x', password => '***', n => 1)"},
		{"SELECT * FROM u WHERE password = 'p' AND token = 'kept' AND key = 3", "SELECT * FROM u WHERE password = '***' AND token = 'kept' AND key = 3"},
		{"SELECT * FROM 's3://AK:sk/x+y@bucket/f.parquet'", "SELECT * FROM 's3://***@bucket/f.parquet'"},
		{"SELECT * FROM 'https://me:pw@host/f.parquet'", "SELECT * FROM 'https://***@host/f.parquet'"},
		{"SELECT * FROM 'https://h/f?sv=1&sig=a%2Bb&X-Amz-Signature=ff&x=1'", "SELECT * FROM 'https://h/f?sv=1&sig=***&X-Amz-Signature=***&x=1'"},
		{"SELECT * FROM f('host=h password=pw user=u')", "SELECT * FROM f('host=h password=*** user=u')"},
		{"SELECT 'AKIAABCDEFGHIJKLMNOP'", "SELECT '***'"},
		{"-- password='x'\nSELECT password FROM u", "-- password='x'\nSELECT password FROM u"},
		{"SELECT 1 -- password=x", "SELECT 1 -- password=***"},
		{"SET password = 'no end", "SET password = '***'"},
		{"SET a = 'password', b = 'c'", "SET a = 'password', b = 'c'"},
		{"SELECT a FROM t JOIN u ON t.password = u.password WHERE u.secret IS NOT NULL", "SELECT a FROM t JOIN u ON t.password = u.password WHERE u.secret IS NOT NULL"},
		{"SELECT $1, password = $2", "SELECT $1, password = $2"},
	} {
		if got, _ := Redact(tc.in); got != tc.want {
			t.Errorf("Redact(%q)\n is %q\nwant %q", tc.in, got, tc.want)
		}
	}
}

// What was struck out of a statement is struck out of what is said about it.
func TestStrike(t *testing.T) {
	_, s := Redact("SET secret_key = 'hunter2'")
	if got := s.Strike(`invalid value "hunter2" for secret_key`); got != `invalid value "***" for secret_key` {
		t.Error(got)
	}
}

func FuzzRedact(f *testing.F) {
	f.Add("SET password = $x$ y $x$ --\n/* */ E'\\'")
	f.Fuzz(func(t *testing.T, s string) {
		clean, secrets := Redact(s)
		if len(secrets) == 0 && clean != s {
			t.Errorf("%q became %q, and nothing was struck out", s, clean)
		}
		if len(secrets) > 0 && !strings.Contains(clean, struck) {
			t.Errorf("%q became %q", s, clean)
		}
	})
}
