package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// same compares two answers, as sequences if they are ordered, else as multisets; "" if they are the same. Numbers may be written
// otherwise (DECIMAL beside DOUBLE) and differ by 1e-9 of their size: sums of floating point numbers have no order.
func same(a, b rows, ordered bool) string {
	if len(a) != len(b) {
		return fmt.Sprintf("%d rows, not %d", len(a), len(b))
	}
	x, y := canonical(a), canonical(b)
	inPlace := slices.EqualFunc(x, y, sameRow)
	if inPlace {
		return ""
	}
	slices.SortFunc(x, slices.Compare)
	slices.SortFunc(y, slices.Compare)
	for i := range x {
		if sameRow(x[i], y[i]) {
			continue
		}
		// Close numbers may have sorted elsewhere: find each row a fellow.
		rest := slices.Clone(y[i:])
		for _, row := range x[i:] {
			j := slices.IndexFunc(rest, func(o []string) bool { return sameRow(row, o) })
			if j < 0 {
				return fmt.Sprintf("row (%s) is not in the other answer, which has (%s)", strings.Join(row, ", "), strings.Join(rest[0], ", "))
			}
			rest = slices.Delete(rest, j, j+1)
		}
		break
	}
	if ordered {
		return "rows in another order"
	}
	return ""
}

func sameRow(a, b []string) bool { return slices.EqualFunc(a, b, sameValue) }

func canonical(in rows) [][]string {
	out := make([][]string, len(in))
	for i, row := range in {
		for _, v := range row {
			out[i] = append(out[i], value(v))
		}
	}
	return out
}

// value is a value in one way of writing.
func value(v *string) string {
	if v == nil {
		return "NULL"
	}
	s := *v
	if strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]") {
		parts := strings.Split(s[1:len(s)-1], ", ")
		for i, p := range parts {
			parts[i] = value(&p)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil && s[0] != '+' {
		return strconv.FormatInt(n, 10)
	}
	if strings.ContainsRune(s, '.') && strings.Trim(s, "-.0123456789") == "" {
		s = strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
		if s == "-0" || s == "" || s == "-" {
			s = "0"
		}
		return s
	}
	if strings.ContainsAny(s, "xX_") {
		return s // no number, though Go may read one
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil {
		switch {
		case f == 0:
			return "0"
		case math.IsNaN(f):
			return "NaN"
		case math.IsInf(f, 1):
			return "Infinity"
		case math.IsInf(f, -1):
			return "-Infinity"
		}
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return s
}

func sameValue(a, b string) bool {
	if a == b {
		return true
	}
	if strings.HasPrefix(a, "[") && strings.HasPrefix(b, "[") {
		return slices.EqualFunc(strings.Split(strings.Trim(a, "[]"), ", "), strings.Split(strings.Trim(b, "[]"), ", "), sameValue)
	}
	f, err1 := strconv.ParseFloat(a, 64)
	g, err2 := strconv.ParseFloat(b, 64)
	if err1 != nil || err2 != nil {
		return false
	}
	whole := func(s string) bool { return !strings.ContainsAny(s, ".eE") }
	if whole(a) && whole(b) && math.Abs(f) < 1e22 { // integers are exact, unless so large that only a DOUBLE prints like that
		return f == g && math.Abs(f) > 1<<53
	}
	return math.Abs(f-g) <= 1e-9*max(math.Abs(f), math.Abs(g), 1e-3)
}
