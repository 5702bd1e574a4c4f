package eval

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/nested"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
	"github.com/fletchdb/fletch/engine/vector/int128"
)

// nullItem is NULL as an item.
const nullItem = "\x02"

// lists compiles functions of lists. Equal elements have equal items, and items compare as elements do, NULL last.
func (k call) lists() (factory, bool, error) {
	at := 0 // of the list
	if k.Func == "array_prepend" {
		at = 1
	}
	var t sqltype.Type
	if at < len(k.Args) {
		t = k.Args[at].Type()
	}
	if k.Func == "make_array" {
		return k.makeArray(), true, nil
	}
	if k.Func == "range" || k.Func == "generate_series" {
		return k.series(k.Func == "generate_series"), true, nil
	}
	if k.Func == "array_repeat" || k.Func == "array_fill" {
		return k.arrayFill(), true, nil
	}
	if k.Func == "width_bucket" && k.kind(1) == sqltype.List {
		return k.bucketOfList(), true, nil
	}
	if k.Func == "string_split" || k.Func == "string_to_array" {
		return k.splitText(), true, nil
	}
	if t.Kind != sqltype.List {
		return nil, false, nil
	}
	measure := func(f func(list string) (int32, error)) (factory, bool, error) {
		return map1(k, f), true, nil
	}
	parts := func(list string) []string { return nested.Parts(t, list) }
	// reshape is a function of a list that gives some of its items in some order.
	reshape := func(f func(items []string) []string) (factory, bool, error) {
		return text1(k, func(dst []byte, list string) ([]byte, error) { return appendList(dst, f(parts(list))), nil }), true, nil
	}
	element := func(f func(items []string) string) (factory, bool, error) {
		return k.rows(func(n *rowsNode) {
			lists, out := operand[string](n), itemResult(n, k.Typ)
			n.row = func(i int) error {
				out.set(i, f(parts(lists.at(i))))
				return nil
			}
		}), true, nil
	}
	both := func(f func(a, b []string) []string) (factory, bool, error) {
		return text2(k, func(dst []byte, a, b string) ([]byte, error) { return appendList(dst, f(parts(a), parts(b))), nil }), true, nil
	}
	switch k.Func {
	case "length", "array_length":
		if len(k.args) == 2 {
			return map2(k, func(list string, dim int32) (int32, error) {
				sizes := dimensions(t, list)
				if dim < 1 || int(dim) > len(sizes) {
					return 0, errNull
				}
				return sizes[dim-1], nil
			}), true, nil
		}
		return measure(func(list string) (int32, error) { return int32(nested.Count(t, list)), nil })
	case "cardinality":
		return measure(func(list string) (int32, error) { return leaves(t, list), nil })
	case "array_ndims":
		return measure(func(list string) (int32, error) {
			if d := len(dimensions(t, list)); d > 0 {
				return int32(d), nil
			}
			return 0, errNull
		})
	case "array_dims":
		return text1(k, func(dst []byte, list string) ([]byte, error) {
			sizes := dimensions(t, list)
			if len(sizes) == 0 {
				return nil, errNull
			}
			for _, n := range sizes {
				dst = fmt.Appendf(dst, "[1:%d]", n)
			}
			return dst, nil
		}), true, nil
	case "array_lower", "array_upper":
		return map2(k, func(list string, dim int32) (int32, error) {
			sizes := dimensions(t, list)
			switch {
			case dim < 1 || int(dim) > len(sizes):
				return 0, errNull
			case k.Func == "array_lower":
				return 1, nil
			}
			return sizes[dim-1], nil
		}), true, nil
	case "empty":
		return test1(k, func(list string) bool { return nested.Count(t, list) == 0 }), true, nil
	case "array_append", "array_prepend":
		return k.rows(func(n *rowsNode) {
			n.lenient = true
			var lists *arg[string]
			var item *itemArg
			if at == 0 {
				lists, item = operand[string](n), itemOperand(n)
			} else {
				item, lists = itemOperand(n), operand[string](n)
			}
			set := textResult(n, k.Typ)
			n.row = func(i int) error {
				body, add := "", item.at(i)
				if !n.null(at, i) {
					body = nested.Body(lists.at(i))
				}
				if at == 1 {
					body, add = add, body
				}
				return setOr(set, i, nested.EndList(append(append(n.in.mem.tail(), body...), add...)), nil)
			}
		}), true, nil
	case "array_cat":
		return k.rows(func(n *rowsNode) {
			n.lenient = true
			lists := make([]*arg[string], len(k.args))
			for j := range lists {
				lists[j] = operand[string](n)
			}
			set := textResult(n, k.Typ)
			n.row = func(i int) error {
				dst, some := n.in.mem.tail(), false
				for j, l := range lists {
					if !n.null(j, i) {
						dst, some = append(dst, nested.Body(l.at(i))...), true
					}
				}
				if !some {
					n.setNull(i)
				}
				return setOr(set, i, nested.EndList(dst), nil)
			}
		}), true, nil
	case "array_contains", "contains":
		return k.rows(func(n *rowsNode) {
			lists, item, out := operand[string](n), itemOperand(n), n.truths()
			n.row = func(i int) error {
				out.set(i, slices.Contains(parts(lists.at(i)), item.at(i)))
				return nil
			}
		}), true, nil
	case "array_has_all", "array_has_any", "<@":
		return k.rows(func(n *rowsNode) {
			a, b, out := operand[string](n), operand[string](n), n.truths()
			n.row = func(i int) error {
				x, y := parts(a.at(i)), parts(b.at(i))
				if k.Func == "<@" {
					x, y = y, x
				}
				has := itemSet(x)
				found := 0
				for _, item := range y {
					if has[item] && !nested.IsNull(item) { // NULL equals nothing
						found++
					}
				}
				out.set(i, k.Func == "array_has_any" && found > 0 || k.Func != "array_has_any" && found == len(y))
				return nil
			}
		}), true, nil
	case "array_position":
		return k.rows(func(n *rowsNode) {
			n.lenient = true
			lists, item := operand[string](n), itemOperand(n)
			from, out := optional(n, k, 2, int32(1)), values[int32](n, k.Typ)
			n.row = func(i int) error {
				out.set(i, 0)
				if n.null(0, i) || len(k.args) == 3 && n.null(2, i) {
					return errNull
				}
				items, start := parts(lists.at(i)), max(int(from.at(i))-1, 0)
				if start >= len(items) {
					return errNull
				}
				j := slices.Index(items[start:], item.at(i))
				if j < 0 {
					return errNull
				}
				out.set(i, int32(start+j+1))
				return nil
			}
		}), true, nil
	case "array_positions":
		return k.withItems(t, 1, func(items, with []string) []string {
			var out []string
			for j, item := range items {
				if item == with[0] {
					out = append(out, itemOf(of32, int64(j+1)))
				}
			}
			return out
		}), true, nil
	case "array_remove":
		return k.withItems(t, 1, func(items, with []string) []string {
			return slices.DeleteFunc(items, func(item string) bool { return item == with[0] })
		}), true, nil
	case "array_replace":
		return k.withItems(t, 2, func(items, with []string) []string {
			for j, item := range items {
				if item == with[0] {
					items[j] = with[1]
				}
			}
			return items
		}), true, nil
	case "array_to_string":
		return k.joinList(t), true, nil
	case "list_extract":
		return k.rows(func(n *rowsNode) {
			lists, index, out := operand[string](n), operand[int64](n), itemResult(n, k.Typ)
			n.row = func(i int) error {
				items, j := parts(lists.at(i)), index.at(i)
				if j < 0 {
					j += int64(len(items)) + 1
				}
				item := nullItem
				if j >= 1 && j <= int64(len(items)) {
					item = items[j-1]
				}
				out.set(i, item)
				return nil
			}
		}), true, nil
	case "list_slice":
		return k.sliceList(t), true, nil
	case "array_sort", "list_reverse_sort":
		return k.sortList(t), true, nil
	case "array_reverse":
		return reshape(func(items []string) []string {
			slices.Reverse(items)
			return items
		})
	case "array_distinct":
		return reshape(func(items []string) []string { return distinctItems(items, nil, false) })
	case "list_unique":
		return map1(k, func(list string) (int64, error) { return int64(len(distinctItems(parts(list), nil, false))), nil }), true, nil
	case "array_intersect":
		return both(func(a, b []string) []string {
			has := itemSet(b)
			return distinctItems(slices.DeleteFunc(a, func(item string) bool { return !has[item] }), nil, true)
		})
	case "array_union":
		return both(func(a, b []string) []string { return distinctItems(append(a, b...), nil, true) })
	case "array_except":
		return both(func(a, b []string) []string { return distinctItems(a, itemSet(b), true) })
	case "array_pop_back":
		return reshape(func(items []string) []string { return items[:max(len(items)-1, 0)] })
	case "array_pop_front":
		return reshape(func(items []string) []string { return items[min(1, len(items)):] })
	case "trim_array":
		return text2(k, func(dst []byte, list string, cut int32) ([]byte, error) {
			items := parts(list)
			if cut < 0 || int(cut) > len(items) {
				return nil, sqlerr.Newf(sqlerr.InvalidParameter, sqlerr.Pos{}, "number of elements to trim must be between 0 and %d", len(items))
			}
			return appendList(dst, items[:len(items)-int(cut)]), nil
		}), true, nil
	case "array_resize":
		return k.resizeList(t), true, nil
	case "flatten":
		return reshape(func(items []string) []string {
			if t.Elem.Kind != sqltype.List {
				return items
			}
			var out []string
			for _, item := range items {
				if !nested.IsNull(item) {
					out = append(out, nested.Parts(*t.Elem, item[1:])...)
				}
			}
			return out
		})
	case "list_min", "list_max":
		return element(func(items []string) string {
			best := nullItem
			for _, item := range items {
				if !nested.IsNull(item) && (best == nullItem || (item < best) == (k.Func == "list_min") && item != best) {
					best = item
				}
			}
			return best
		})
	case "list_first":
		return element(func(items []string) string { return append(items, nullItem)[0] })
	case "list_last":
		return element(func(items []string) string { return append([]string{nullItem}, items...)[len(items)] })
	case "list_count":
		return map1(k, func(list string) (int64, error) {
			n := int64(0)
			for item := range nested.Items(t, list) {
				if !nested.IsNull(item) {
					n++
				}
			}
			return n, nil
		}), true, nil
	case "list_sum", "list_avg":
		return k.sumList(t), true, nil
	}
	return nil, false, nil
}

var of32 = sqltype.Of(sqltype.Int32)

func itemOf(t sqltype.Type, i int64) string {
	return string(nested.Append(nil, t, nested.Scalar{Int: i}))
}

func appendList(dst []byte, items []string) []byte {
	for _, item := range items {
		dst = append(dst, item...)
	}
	return nested.EndList(dst)
}

func itemSet(items []string) map[string]bool {
	set := make(map[string]bool, len(items))
	for _, item := range items {
		set[item] = true
	}
	return set
}

// distinctItems are items once each, in order, but for those of without; NULL only where nulls.
func distinctItems(items []string, without map[string]bool, nulls bool) []string {
	seen := make(map[string]bool, len(items))
	out := items[:0]
	for _, item := range items {
		if !seen[item] && !without[item] && (nulls || !nested.IsNull(item)) {
			seen[item] = true
			out = append(out, item)
		}
	}
	return out
}

// dimensions are the lengths of a list, of the first list in it, and so on; none for an empty one.
func dimensions(t sqltype.Type, list string) []int32 {
	n := nested.Count(t, list)
	if n == 0 {
		return nil
	}
	out := []int32{int32(n)}
	if t.Elem.Kind == sqltype.List {
		for item := range nested.Items(t, list) {
			if !nested.IsNull(item) {
				return append(out, dimensions(*t.Elem, item[1:])...)
			}
		}
	}
	return out
}

// leaves is the number of elements that are no lists.
func leaves(t sqltype.Type, list string) int32 {
	if t.Elem.Kind != sqltype.List {
		return int32(nested.Count(t, list))
	}
	n := int32(0)
	for item := range nested.Items(t, list) {
		if !nested.IsNull(item) {
			n += leaves(*t.Elem, item[1:])
		}
	}
	return n
}

func (k call) makeArray() factory {
	return k.rows(func(n *rowsNode) {
		n.lenient = true
		items := make([]*itemArg, len(k.args))
		for j := range items {
			items[j] = itemOperand(n)
		}
		set := textResult(n, k.Typ)
		n.row = func(i int) error {
			dst := n.in.mem.tail()
			for _, item := range items {
				dst = nested.AppendRow(dst, item.v, i)
			}
			return setOr(set, i, nested.EndList(dst), nil)
		}
	})
}

// withItems is a function of a list and values, which may be NULL.
func (k call) withItems(t sqltype.Type, values int, f func(items, with []string) []string) factory {
	return k.rows(func(n *rowsNode) {
		n.lenient = true
		lists, with := operand[string](n), make([]*itemArg, values)
		for j := range with {
			with[j] = itemOperand(n)
		}
		set, at := textResult(n, k.Typ), make([]string, values)
		n.row = func(i int) error {
			if n.null(0, i) {
				return setOr(set, i, nil, errNull)
			}
			for j, w := range with {
				at[j] = w.at(i)
			}
			return setOr(set, i, appendList(n.in.mem.tail(), f(nested.Parts(t, lists.at(i)), at)), nil)
		}
	})
}

// joinList is array_to_string.
func (k call) joinList(t sqltype.Type) factory {
	return k.rows(func(n *rowsNode) {
		n.lenient = true
		lists, sep := operand[string](n), operand[string](n)
		null, set := optional(n, k, 2, ""), textResult(n, k.Typ)
		n.row = func(i int) error {
			if n.null(0, i) || n.null(1, i) {
				return setOr(set, i, nil, errNull)
			}
			dst, first := n.in.mem.tail(), true
			var write func(t sqltype.Type, list string)
			write = func(t sqltype.Type, list string) {
				for item := range nested.Items(t, list) {
					isNull := nested.IsNull(item)
					if t.Elem.Kind == sqltype.List && !isNull {
						write(*t.Elem, item[1:])
						continue
					}
					if isNull && (len(k.args) < 3 || n.null(2, i)) {
						continue
					}
					if !first {
						dst = append(dst, sep.at(i)...)
					}
					first = false
					if isNull {
						dst = append(dst, null.at(i)...)
					} else {
						dst = nested.AppendScalar(dst, *t.Elem, nested.Get(*t.Elem, item))
					}
				}
			}
			write(t, lists.at(i))
			return setOr(set, i, dst, nil)
		}
	})
}

func (k call) sliceList(t sqltype.Type) factory {
	return k.rows(func(n *rowsNode) {
		lists, low, high := operand[string](n), operand[int64](n), operand[int64](n)
		step, set := optional(n, k, 3, int64(1)), textResult(n, k.Typ)
		n.row = func(i int) error {
			items, by := nested.Parts(t, lists.at(i)), step.at(i)
			size := int64(len(items))
			bound := func(b int64) int64 {
				if b < 0 {
					b += size + 1
				}
				return b
			}
			from, to := max(bound(low.at(i)), 1), min(bound(high.at(i)), size)
			dst := n.in.mem.tail()
			switch {
			case by == 0:
				return sqlerr.New(sqlerr.InvalidParameter, sqlerr.Pos{}, "slice step cannot be zero")
			case by > 0:
				for j := from; j <= to; j += by {
					dst = append(dst, items[j-1]...)
					if by > size {
						break
					}
				}
			default:
				from, to = min(bound(low.at(i)), size), max(bound(high.at(i)), 1)
				for j := from; j >= to; j += by {
					dst = append(dst, items[j-1]...)
					if by < -size {
						break
					}
				}
			}
			return setOr(set, i, nested.EndList(dst), nil)
		}
	})
}

func (k call) sortList(t sqltype.Type) factory {
	return k.rows(func(n *rowsNode) {
		lists := operand[string](n)
		order := optional(n, k, 1, "ASC")
		nulls, set := optional(n, k, 2, "NULLS LAST"), textResult(n, k.Typ)
		n.row = func(i int) error {
			desc := k.Func == "list_reverse_sort"
			switch word := strings.ToUpper(strings.TrimSpace(order.at(i))); word {
			case "ASC":
			case "DESC":
				desc = true
			default:
				return sqlerr.Newf(sqlerr.InvalidParameter, sqlerr.Pos{}, "sort order %q is not ASC or DESC", order.at(i))
			}
			first := false
			switch word := strings.ToUpper(strings.TrimSpace(nulls.at(i))); word {
			case "NULLS LAST":
			case "NULLS FIRST":
				first = true
			default:
				return sqlerr.Newf(sqlerr.InvalidParameter, sqlerr.Pos{}, "null order %q is not NULLS FIRST or NULLS LAST", nulls.at(i))
			}
			items := nested.Parts(t, lists.at(i))
			slices.SortStableFunc(items, func(a, b string) int {
				switch x, y := nested.IsNull(a), nested.IsNull(b); {
				case x && y:
					return 0
				case x || y:
					if x == first {
						return -1
					}
					return 1
				case desc:
					return cmp.Compare(b, a)
				}
				return cmp.Compare(a, b)
			})
			return setOr(set, i, appendList(n.in.mem.tail(), items), nil)
		}
	})
}

func (k call) resizeList(t sqltype.Type) factory {
	return k.rows(func(n *rowsNode) {
		n.lenient = true
		lists, size := operand[string](n), operand[int64](n)
		var with *itemArg
		if len(k.args) == 3 {
			with = itemOperand(n)
		}
		set := textResult(n, k.Typ)
		n.row = func(i int) error {
			if n.null(0, i) || n.null(1, i) {
				return setOr(set, i, nil, errNull)
			}
			items, want := nested.Parts(t, lists.at(i)), size.at(i)
			fill := nullItem
			if with != nil {
				fill = with.at(i)
			}
			dst := appendItems(n.in.mem.tail(), items[:min(max(want, 0), int64(len(items)))])
			if more := want - int64(len(items)); more > 0 {
				if more > int64(maxText/len(fill)) {
					return tooLong()
				}
				for range more {
					dst = append(dst, fill...)
				}
			}
			return setOr(set, i, nested.EndList(dst), nil)
		}
	})
}

func appendItems(dst []byte, items []string) []byte {
	for _, item := range items {
		dst = append(dst, item...)
	}
	return dst
}

// arrayFill is array_repeat, and array_fill with the lengths of dimensions.
func (k call) arrayFill() factory {
	return k.rows(func(n *rowsNode) {
		n.lenient = true
		item := itemOperand(n)
		var times *arg[int64]
		var sizes *arg[string]
		if k.Func == "array_repeat" {
			times = operand[int64](n)
		} else {
			sizes = operand[string](n)
		}
		set := textResult(n, k.Typ)
		n.row = func(i int) error {
			if n.null(1, i) {
				return setOr(set, i, nil, errNull)
			}
			count := int64(0)
			if times != nil {
				count = max(times.at(i), 0)
			} else {
				t := k.Args[1].Type()
				lengths := nested.Parts(t, sizes.at(i))
				if len(lengths) != 1 || !t.Elem.IsInteger() || nested.IsNull(lengths[0]) {
					return sqlerr.New(sqlerr.InvalidParameter, sqlerr.Pos{}, "array_fill needs a list of one length").WithHint("lists of lists can be made by filling one with another")
				}
				count = max(nested.Get(*t.Elem, lengths[0]).Int, 0)
			}
			add := item.at(i)
			if count > int64(maxText/len(add)) {
				return tooLong()
			}
			dst := n.in.mem.tail()
			for range count {
				dst = append(dst, add...)
			}
			return setOr(set, i, nested.EndList(dst), nil)
		}
	})
}

func (k call) sumList(t sqltype.Type) factory {
	elem := *t.Elem
	return k.rows(func(n *rowsNode) {
		lists, out := operand[string](n), itemResult(n, k.Typ)
		n.row = func(i int) error {
			var exact int128.Int128
			var approx float64
			count, ok := 0, true
			for item := range nested.Items(t, lists.at(i)) {
				if nested.IsNull(item) {
					continue
				}
				count++
				s := nested.Get(elem, item)
				switch {
				case elem.IsFloat():
					approx += s.Float
					continue
				case elem.Kind == sqltype.Uint64:
					s.Wide = int128.FromUint64(uint64(s.Int))
				case elem.IsInteger():
					s.Wide = int128.FromInt64(s.Int)
				}
				var fits bool
				exact, fits = exact.AddChecked(s.Wide)
				ok = ok && fits
			}
			sum := nested.Scalar{Null: count == 0, Float: approx, Wide: exact, Int: int64(exact.Lo)}
			switch {
			case k.Func == "list_avg":
				if !elem.IsFloat() {
					sum.Float = exact.Float64(int(elem.Scale))
				}
				sum.Float /= float64(max(count, 1))
			case k.Typ.Kind == sqltype.Decimal:
				ok = ok && exact.FitsDigits(int(k.Typ.Precision))
			case k.Typ.IsInteger():
				_, fits := exact.Int64()
				ok = ok && fits
			}
			if !ok {
				return sqlerr.Newf(sqlerr.OutOfRange, sqlerr.Pos{}, "the sum does not fit %s", k.Typ)
			}
			out.set(i, string(nested.Append(nil, k.Typ, sum)))
			return nil
		}
	})
}

// maxSeries is the most elements that a series has as a list.
const maxSeries = maxText / 9

// series is range and generate_series.
func (k call) series(inclusive bool) factory {
	elem := *k.Typ.Elem
	if k.kind(0) != sqltype.Int64 {
		return k.rows(func(n *rowsNode) {
			from, to, step, set := operand[int64](n), operand[int64](n), operand[vector.Interval](n), textResult(n, k.Typ)
			n.row = func(i int) error {
				by, at, end := step.at(i), from.at(i), to.at(i)
				sign := intervalSpan(by).Sign()
				if sign == 0 {
					return invalidArgument("step size cannot equal zero")
				}
				if steps, _ := int128.FromInt64(end).Sub(int128.FromInt64(at)).DivMod(intervalSpan(by)); !steps.Less(int128.FromInt64(maxSeries)) {
					return tooLong()
				}
				dst := n.in.mem.tail()
				for sign > 0 && at < end || sign < 0 && at > end || inclusive && at == end {
					if len(dst) > maxText { // months are shorter than they count
						return tooLong()
					}
					dst = nested.Append(dst, elem, nested.Scalar{Int: at})
					next, err := addInterval(at, by)
					if err != nil || next == at {
						break
					}
					at = next
				}
				return setOr(set, i, nested.EndList(dst), nil)
			}
		})
	}
	return k.rows(func(n *rowsNode) {
		from := &arg[int64]{vals: []int64{0}}
		if len(k.args) > 1 {
			from = operand[int64](n)
		}
		to := operand[int64](n)
		step, set := optional(n, k, 2, int64(1)), textResult(n, k.Typ)
		n.row = func(i int) error {
			at, end, by := from.at(i), to.at(i), step.at(i)
			if by == 0 {
				return invalidArgument("step size cannot equal zero")
			}
			if steps, _ := int128.FromInt64(end).Sub(int128.FromInt64(at)).DivMod(int128.FromInt64(by)); !steps.Less(int128.FromInt64(maxSeries)) {
				return tooLong()
			}
			dst := n.in.mem.tail()
			for by > 0 && at < end || by < 0 && at > end || inclusive && at == end {
				dst = nested.Append(dst, elem, nested.Scalar{Int: at})
				next := at + by
				if (at^next)&(by^next) < 0 { // over the end of 64 bits
					break
				}
				at = next
			}
			return setOr(set, i, nested.EndList(dst), nil)
		}
	})
}

// bucketOfList is width_bucket over ascending bounds.
func (k call) bucketOfList() factory {
	t := k.Args[1].Type()
	return k.rows(func(n *rowsNode) {
		item, lists, out := itemOperand(n), operand[string](n), values[int32](n, k.Typ)
		n.row = func(i int) error {
			bounds := nested.Parts(t, lists.at(i))
			if slices.ContainsFunc(bounds, nested.IsNull) {
				return sqlerr.New(sqlerr.InvalidParameter, sqlerr.Pos{}, "thresholds array must not contain nulls")
			}
			x := item.at(i)
			at, _ := slices.BinarySearchFunc(bounds, x, func(bound, x string) int {
				if bound <= x {
					return -1
				}
				return 1
			})
			out.set(i, int32(at))
			return nil
		}
	})
}

// splitText is string_split and string_to_array.
func (k call) splitText() factory {
	text := sqltype.Of(sqltype.Utf8)
	toArray := k.Func == "string_to_array"
	return k.rows(func(n *rowsNode) {
		n.lenient = toArray
		a, b := operand[string](n), operand[string](n)
		null, set := optional(n, k, 2, ""), textResult(n, k.Typ)
		n.row = func(i int) error {
			if toArray && n.null(0, i) {
				return setOr(set, i, nil, errNull)
			}
			s, sep := a.at(i), b.at(i)
			var parts []string
			switch {
			case toArray && n.null(1, i), !toArray && sep == "":
				for _, r := range s {
					parts = append(parts, string(r))
				}
			case toArray && s == "":
			case sep == "":
				parts = []string{s}
			default:
				parts = strings.Split(s, sep)
			}
			dst := n.in.mem.tail()
			for _, p := range parts {
				isNull := len(k.args) == 3 && !n.null(2, i) && p == null.at(i)
				dst = nested.Append(dst, text, nested.Scalar{Str: p, Null: isNull})
			}
			return setOr(set, i, nested.EndList(dst), nil)
		}
	})
}

// structs compiles functions of structs.
func (k call) structs() (factory, bool, error) {
	switch k.Func {
	case "row":
		return k.rows(func(n *rowsNode) {
			n.lenient = true
			items := make([]*itemArg, len(k.args))
			for j := range items {
				items[j] = itemOperand(n)
			}
			set := textResult(n, k.Typ)
			n.row = func(i int) error {
				dst := n.in.mem.tail()
				for _, item := range items {
					dst = nested.AppendRow(dst, item.v, i)
				}
				return setOr(set, i, dst, nil)
			}
		}), true, nil
	case "struct_extract":
		t := k.Args[0].Type()
		return k.rows(func(n *rowsNode) {
			values, place, out := operand[string](n), operand[int64](n), itemResult(n, k.Typ)
			n.row = func(i int) error {
				out.set(i, nested.Field(t, values.at(i), int(place.at(i))-1))
				return nil
			}
		}), true, nil
	}
	return nil, false, nil
}

// A castNested casts lists element by element and structs field by field.
type castNested struct {
	in    *instance
	x     node
	from  sqltype.Type
	to    sqltype.Type
	of    []int // field of from per part of to; of a list the element
	parts []node
	cols  []*nested.Column
	vs    []*vector.Vector
	out   column[string]
	pick  chooser
}

func (c *compiler) castNested(x factory, from, to sqltype.Type, makePart func(from, to sqltype.Type) (factory, error)) (factory, error) {
	base := castNested{from: from, to: to, of: []int{0}}
	if to.Kind == sqltype.Struct {
		base.of, _ = expr.StructCast(from, to)
	}
	var makes []factory
	for i, f := range base.of {
		m, err := makePart(nested.PartType(from, f), nested.PartType(to, i))
		if err != nil {
			return nil, err
		}
		makes = append(makes, m)
	}
	return func(in *instance) node {
		n := base
		n.in, n.x = in, x(in)
		n.cols, n.vs = make([]*nested.Column, len(makes)), make([]*vector.Vector, len(makes))
		for i, m := range makes {
			n.parts = append(n.parts, m(in))
			n.cols[i] = nested.NewColumn(nested.PartType(from, n.of[i]))
		}
		return &n
	}, nil
}

func (n *castNested) eval(f frame) (*vector.Vector, error) {
	v, err := n.x.eval(f)
	if err != nil {
		return nil, err
	}
	if v.IsConstNull() {
		return n.out.null(n.to, f), nil
	}
	g, one := single(f, v)
	valid := v.Valid
	if one {
		valid = nil
	}
	sel := n.pick.choose(n.in, g, valid)
	for _, c := range n.cols {
		c.Reset()
	}
	lengths := make([]int, len(sel))
	for j, i := range sel {
		parts := nested.Parts(n.from, nested.At(v, int(i)).Str)
		lengths[j] = len(parts)
		if n.from.Kind == sqltype.List {
			for _, p := range parts {
				n.cols[0].AddItem(p)
			}
			continue
		}
		for c, p := range n.of {
			n.cols[c].AddItem(parts[p])
		}
	}
	for c, part := range n.parts {
		in := n.cols[c].Vector()
		if n.vs[c], err = part.eval(frame{cols: []*vector.Vector{in}, n: in.Len}); err != nil {
			return nil, err
		}
	}
	out := n.out.make(g.n)
	clear(out)
	at := 0
	for j, i := range sel {
		dst := n.in.mem.tail()
		if n.from.Kind == sqltype.List {
			for range lengths[j] {
				dst = nested.AppendRow(dst, n.vs[0], at)
				at++
			}
			dst = nested.EndList(dst)
		} else {
			for c := range n.parts {
				dst = nested.AppendRow(dst, n.vs[c], j)
			}
		}
		out[i] = n.in.mem.keep(dst)
	}
	return n.out.give(n.to, f, one, valid), nil
}
