package eval

import (
	"crypto/md5"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"math/bits"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/fletchdb/fletch/engine/nested"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector/int128"
	"github.com/fletchdb/fletch/engine/vector/kernel"
)

var digests = map[string]func(b []byte) []byte{
	"md5":    func(b []byte) []byte { h := md5.Sum(b); return h[:] },
	"sha1":   func(b []byte) []byte { h := sha1.Sum(b); return h[:] },
	"sha224": func(b []byte) []byte { h := sha256.Sum224(b); return h[:] },
	"sha256": func(b []byte) []byte { h := sha256.Sum256(b); return h[:] },
	"sha384": func(b []byte) []byte { h := sha512.Sum384(b); return h[:] },
	"sha512": func(b []byte) []byte { h := sha512.Sum512(b); return h[:] },
}

// bytesOf is the bytes of s, to be read only.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// bytes compiles functions of BYTEA and hashes.
func (k call) bytes() (factory, bool, error) {
	if digest := digests[k.Func]; digest != nil {
		inHex := k.Typ.Kind == sqltype.Utf8
		return text1(k, func(dst []byte, s string) ([]byte, error) {
			if inHex {
				return hex.AppendEncode(dst, digest(bytesOf(s))), nil
			}
			return append(dst, digest(bytesOf(s))...), nil
		}), true, nil
	}
	switch k.Func {
	case "crc32":
		return map1(k, func(s string) (int64, error) { return int64(crc32.ChecksumIEEE(bytesOf(s))), nil }), true, nil
	case "crc32c":
		table := crc32.MakeTable(crc32.Castagnoli)
		return map1(k, func(s string) (int64, error) { return int64(crc32.Checksum(bytesOf(s), table)), nil }), true, nil
	case "hash":
		return k.rows(func(n *rowsNode) {
			n.lenient = true
			items := make([]*itemArg, len(k.args))
			for j := range items {
				items[j] = itemOperand(n)
			}
			out := values[uint64](n, k.Typ)
			var buf []byte
			n.row = func(i int) error {
				buf = buf[:0]
				for _, item := range items {
					buf = nested.AppendRow(buf, item.v, i)
				}
				out.set(i, kernel.HashBytes(buf, 0))
				return nil
			}
		}), true, nil
	case "encode":
		return text2(k, func(dst []byte, s, format string) ([]byte, error) {
			switch strings.ToLower(format) {
			case "hex":
				return hex.AppendEncode(dst, bytesOf(s)), nil
			case "base64":
				return appendBase64(dst, s), nil
			case "escape":
				return appendEscape(dst, s), nil
			}
			return nil, sqlerr.Newf(sqlerr.InvalidParameter, sqlerr.Pos{}, "unrecognized encoding: %q", format).WithHint("the encodings are hex, base64 and escape")
		}), true, nil
	case "decode":
		return text2(k, func(dst []byte, s, format string) ([]byte, error) {
			switch strings.ToLower(format) {
			case "hex":
				return appendUnhex(dst, s)
			case "base64":
				return appendUnbase64(dst, s)
			case "escape":
				return appendUnescape(dst, s)
			}
			return nil, sqlerr.Newf(sqlerr.InvalidParameter, sqlerr.Pos{}, "unrecognized encoding: %q", format).WithHint("the encodings are hex, base64 and escape")
		}), true, nil
	case "hex":
		if k.kind(0) == sqltype.Int64 {
			return text1(k, func(dst []byte, x int64) ([]byte, error) { return fmt.Appendf(dst, "%X", uint64(x)), nil }), true, nil
		}
		return text1(k, func(dst []byte, s string) ([]byte, error) { return fmt.Appendf(dst, "%X", bytesOf(s)), nil }), true, nil
	case "unhex":
		return text1(k, func(dst []byte, s string) ([]byte, error) {
			if len(s)%2 == 1 {
				s = "0" + s
			}
			return appendUnhex(dst, s)
		}), true, nil
	case "to_base64":
		return text1(k, func(dst []byte, s string) ([]byte, error) {
			return base64.StdEncoding.AppendEncode(dst, bytesOf(s)), nil
		}), true, nil
	case "from_base64":
		return text1(k, appendUnbase64), true, nil
	case "convert_from", "convert_to":
		return text2(k, func(dst []byte, s, encoding string) ([]byte, error) {
			switch strings.NewReplacer("-", "", "_", "").Replace(strings.ToUpper(encoding)) {
			case "UTF8", "UNICODE":
				if !utf8.ValidString(s) {
					return nil, sqlerr.New(sqlerr.InvalidUTF8, sqlerr.Pos{}, `invalid byte sequence for encoding "UTF8"`)
				}
				return append(dst, s...), nil
			case "LATIN1", "ISO88591":
				return appendLatin1(dst, s, k.Func == "convert_from")
			}
			return nil, sqlerr.Newf(sqlerr.InvalidParameter, sqlerr.Pos{}, "invalid encoding name %q", encoding).WithHint("the encodings are UTF8 and LATIN1")
		}), true, nil
	case "get_byte", "get_bit":
		return map2(k, func(s string, at int64) (int32, error) {
			if k.Func == "get_byte" {
				if err := indexIn(at, len(s)); err != nil {
					return 0, err
				}
				return int32(s[at]), nil
			}
			if err := indexIn(at, 8*len(s)); err != nil {
				return 0, err
			}
			return int32(s[at>>3] >> (at & 7) & 1), nil
		}), true, nil
	case "set_byte":
		return text3(k, func(dst []byte, s string, at int64, b int32) ([]byte, error) {
			if err := indexIn(at, len(s)); err != nil {
				return nil, err
			}
			dst = append(dst, s...)
			dst[at] = byte(b)
			return dst, nil
		}), true, nil
	case "set_bit":
		return text3(k, func(dst []byte, s string, at int64, b int32) ([]byte, error) {
			if err := indexIn(at, 8*len(s)); err != nil {
				return nil, err
			}
			if b != 0 && b != 1 {
				return nil, invalidArgument("new bit must be 0 or 1")
			}
			dst = append(dst, s...)
			dst[at>>3] = dst[at>>3]&^(1<<(at&7)) | byte(b)<<(at&7)
			return dst, nil
		}), true, nil
	case "bit_count":
		return k.bitCount(), true, nil
	case "gen_random_uuid":
		return k.rows(func(n *rowsNode) {
			n.perRow = true
			out := values[int128.Int128](n, k.Typ)
			n.row = func(i int) error {
				var raw [16]byte
				_, _ = rand.Read(raw[:]) // never fails
				raw[6], raw[8] = raw[6]&0x0f|0x40, raw[8]&0x3f|0x80
				out.set(i, int128.Int128{Hi: int64(binary.BigEndian.Uint64(raw[:8])), Lo: binary.BigEndian.Uint64(raw[8:])})
				return nil
			}
		}), true, nil
	}
	return nil, false, nil
}

func indexIn(at int64, n int) error {
	if at < 0 || at >= int64(n) {
		return sqlerr.Newf(sqlerr.OutOfRange, sqlerr.Pos{}, "index %d out of valid range, 0..%d", at, n-1)
	}
	return nil
}

// appendBase64 breaks lines after 76 characters, as PostgreSQL does.
func appendBase64(dst []byte, s string) []byte {
	for len(s) > 57 {
		dst = append(base64.StdEncoding.AppendEncode(dst, bytesOf(s[:57])), '\n')
		s = s[57:]
	}
	return base64.StdEncoding.AppendEncode(dst, bytesOf(s))
}

func withoutSpaces(s string) string {
	if strings.ContainsAny(s, " \t\r\n") {
		return strings.Join(strings.Fields(s), "")
	}
	return s
}

func appendUnbase64(dst []byte, s string) ([]byte, error) {
	out, err := base64.StdEncoding.AppendDecode(dst, bytesOf(withoutSpaces(s)))
	if err != nil {
		return nil, invalidArgument("invalid base64 data")
	}
	return out, nil
}

// appendUnhex reads pairs of digits, between which there may be spaces.
func appendUnhex(dst []byte, s string) ([]byte, error) {
	if strings.ContainsAny(s, " \t\r\n") {
		words := strings.Fields(s)
		for i, w := range words {
			if len(w)%2 == 1 && i < len(words)-1 {
				return nil, invalidArgument("invalid hexadecimal digit: \" \"")
			}
		}
		s = strings.Join(words, "")
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'f') {
			r, _ := utf8.DecodeRuneInString(s[i:])
			return nil, sqlerr.Newf(sqlerr.InvalidParameter, sqlerr.Pos{}, "invalid hexadecimal digit: %q", string(r))
		}
	}
	if len(s)%2 == 1 {
		return nil, invalidArgument("invalid hexadecimal data: odd number of digits")
	}
	return hex.AppendDecode(dst, bytesOf(s))
}

func appendEscape(dst []byte, s string) []byte {
	for i := range len(s) {
		switch c := s[i]; {
		case c == 0 || c >= 0x80:
			dst = fmt.Appendf(dst, `\%03o`, c)
		case c == '\\':
			dst = append(dst, `\\`...)
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

func appendUnescape(dst []byte, s string) ([]byte, error) {
	for s != "" {
		switch {
		case s[0] != '\\':
			dst, s = append(dst, s[0]), s[1:]
		case strings.HasPrefix(s, `\\`):
			dst, s = append(dst, '\\'), s[2:]
		case len(s) >= 4 && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' && s[2] <= '7' && s[3] >= '0' && s[3] <= '7':
			dst, s = append(dst, (s[1]-'0')<<6|(s[2]-'0')<<3|s[3]-'0'), s[4:]
		default:
			return nil, sqlerr.New(sqlerr.InvalidText, sqlerr.Pos{}, "invalid input syntax for type bytea")
		}
	}
	return dst, nil
}

func appendLatin1(dst []byte, s string, from bool) ([]byte, error) {
	if from {
		for i := range len(s) {
			dst = utf8.AppendRune(dst, rune(s[i]))
		}
		return dst, nil
	}
	for _, r := range s {
		if r > 0xff {
			return nil, sqlerr.Newf(sqlerr.InvalidUTF8, sqlerr.Pos{}, "character %q has no equivalent in encoding LATIN1", string(r))
		}
		dst = append(dst, byte(r))
	}
	return dst, nil
}

func (k call) bitCount() factory {
	if k.kind(0) == sqltype.Binary {
		return map1(k, func(s string) (int32, error) {
			n := 0
			for i := range len(s) {
				n += bits.OnesCount8(s[i])
			}
			return int32(n), nil
		})
	}
	width, _ := intWidth(k.kind(0))
	return k.rows(func(n *rowsNode) {
		a := &anyInt{}
		n.loads = append(n.loads, a)
		out := values[int32](n, k.Typ)
		n.row = func(i int) error {
			out.set(i, int32(bits.OnesCount64(uint64(a.at(i))<<(64-width))))
			return nil
		}
	})
}
