package datagen

import (
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
)

// Rows of the tables at scale factor 1, clause 4.2.5.1. The rows of a unit of partsupp are those of a part, of lineitem
// those of an order.
const (
	supplierBase = 10_000
	partBase     = 200_000
	customerBase = 150_000
	orderBase    = 1_500_000
	clerkBase    = 1000

	suppliersPerPart = 4
	maxLines         = 7
)

// Dates as days since 1970-01-01. An order's date leaves room for its last line to arrive before the end of 1998.
const (
	firstOrderDay = 8035        // 1992-01-01
	lastOrderDay  = 8035 + 2405 // 1998-08-02
	currentDay    = 9298        // 1995-06-17
)

// A scale factor, and what follows from it for keys.
type scale float64

// rows is the number of rows of a table with base rows at scale 1, at least 1. A product that is a whole number but for its
// rounding is that number.
func (s scale) rows(base int64) int64 { return max(1, int64(float64(base)*float64(s)+1e-6)) }

// A filler makes rows of one table; each goroutine has its own.
type filler interface {
	// fill adds the rows of units [from, to), from 0, to the columns.
	fill(from, to int64)
	columns() []column
}

// A table is what is known of one without making it.
type table struct {
	name    string
	names   []string            // of its columns
	units   func(s scale) int64 // what fill counts in
	perUnit int64               // rows of a unit; for lineitem the average
	batch   int64               // units of a batch
	filler  func(s scale, t *text) filler
}

var tables = []table{
	{
		"region",
		[]string{"r_regionkey", "r_name", "r_comment"},
		func(scale) int64 { return int64(len(regions)) }, 1, 25,
		func(_ scale, t *text) filler { return newRegions(t) },
	},
	{
		"nation",
		[]string{"n_nationkey", "n_name", "n_regionkey", "n_comment"},
		func(scale) int64 { return int64(len(nations)) }, 1, 25,
		func(_ scale, t *text) filler { return newNations(t) },
	},
	{
		"supplier",
		[]string{"s_suppkey", "s_name", "s_address", "s_nationkey", "s_phone", "s_acctbal", "s_comment"},
		func(s scale) int64 { return s.rows(supplierBase) }, 1, 8192,
		func(_ scale, t *text) filler { return newSuppliers(t) },
	},
	{
		"customer",
		[]string{"c_custkey", "c_name", "c_address", "c_nationkey", "c_phone", "c_acctbal", "c_mktsegment", "c_comment"},
		func(s scale) int64 { return s.rows(customerBase) }, 1, 8192,
		func(_ scale, t *text) filler { return newCustomers(t) },
	},
	{
		"part",
		[]string{
			"p_partkey", "p_name", "p_mfgr", "p_brand", "p_type", "p_size", "p_container", "p_retailprice", "p_comment",
		},
		func(s scale) int64 { return s.rows(partBase) }, 1, 8192,
		func(_ scale, t *text) filler { return newParts(t) },
	},
	{
		"partsupp",
		[]string{"ps_partkey", "ps_suppkey", "ps_availqty", "ps_supplycost", "ps_comment"},
		func(s scale) int64 { return s.rows(partBase) }, suppliersPerPart, 4096,
		func(s scale, t *text) filler { return newPartSuppliers(s, t) },
	},
	{
		"orders",
		[]string{
			"o_orderkey", "o_custkey", "o_orderstatus", "o_totalprice", "o_orderdate", "o_orderpriority", "o_clerk",
			"o_shippriority", "o_comment",
		},
		func(s scale) int64 { return s.rows(orderBase) }, 1, 8192,
		func(s scale, t *text) filler { return newOrders(s, t) },
	},
	{
		"lineitem",
		[]string{
			"l_orderkey", "l_partkey", "l_suppkey", "l_linenumber", "l_quantity", "l_extendedprice", "l_discount", "l_tax",
			"l_returnflag", "l_linestatus", "l_shipdate", "l_commitdate", "l_receiptdate", "l_shipinstruct", "l_shipmode",
			"l_comment",
		},
		func(s scale) int64 { return s.rows(orderBase) }, 4, 4096,
		func(s scale, t *text) filler { return newLineItems(s, t) },
	},
}

// schema has the columns of f under the table's names, none of them nullable.
func (t *table) schema(f filler) *arrow.Schema {
	fields := make([]arrow.Field, len(t.names))
	for i, c := range f.columns() {
		fields[i] = arrow.Field{Name: t.names[i], Type: c.dataType()}
	}
	return arrow.NewSchema(fields, nil)
}

// seek takes streams to row; next takes them to the row after the one they are in.
func seek(row int64, streams []*stream) {
	for _, s := range streams {
		s.seek(row)
	}
}

func next(streams []*stream) {
	for _, s := range streams {
		s.nextRow()
	}
}

type regionFiller struct {
	key     integers
	name    codes
	comment texts
	draws   commenter
}

func newRegions(t *text) *regionFiller {
	return &regionFiller{name: newCodes(regions), draws: newCommenter(t, 1500869201, 72, 1)}
}

func (f *regionFiller) columns() []column { return []column{&f.key, &f.name, &f.comment} }

func (f *regionFiller) fill(from, to int64) {
	f.draws.seek(from)
	for i := from; i < to; i++ {
		f.key.v = append(f.key.v, int32(i))
		f.name.v = append(f.name.v, uint8(i))
		f.draws.add(&f.comment)
		f.draws.nextRow()
	}
}

type nationFiller struct {
	key, region integers
	name        texts
	comment     texts
	draws       commenter
}

func newNations(t *text) *nationFiller {
	return &nationFiller{draws: newCommenter(t, 606179079, 72, 1)}
}

func (f *nationFiller) columns() []column { return []column{&f.key, &f.name, &f.region, &f.comment} }

func (f *nationFiller) fill(from, to int64) {
	f.draws.seek(from)
	for i := from; i < to; i++ {
		f.key.v = append(f.key.v, int32(i))
		f.name.data = append(f.name.data, nations[i].name...)
		f.name.end()
		f.region.v = append(f.region.v, nations[i].region)
		f.draws.add(&f.comment)
		f.draws.nextRow()
	}
}

// Suppliers and customers have these in common.
type party struct {
	key     bigints
	name    texts
	address texts
	nation  integers
	phone   texts
	balance amounts
	comment texts

	addresses, nations, phones, balances stream
	comments                             commenter
}

func (p *party) fill(i int64, title string) {
	p.key.v = append(p.key.v, i+1)
	p.name.data = appendPadded(append(p.name.data, title...), i+1)
	p.name.end()
	p.address.data = appendAddress(p.address.data, &p.addresses)
	p.address.end()
	nation := p.nations.between(0, int64(len(nations))-1)
	p.nation.v = append(p.nation.v, int32(nation))
	p.phone.data = appendPhone(p.phone.data, nation, &p.phones)
	p.phone.end()
	p.balance.add(p.balances.between(-99_999, 999_999))
}

// appendPadded adds n with zeros to nine digits.
func appendPadded(dst []byte, n int64) []byte {
	for limit := int64(100_000_000); limit > n && limit > 1; limit /= 10 {
		dst = append(dst, '0')
	}
	return strconv.AppendInt(dst, n, 10)
}

const addressLetters = "0123456789abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ,"

// An address is 10 to 40 letters, five of a draw.
const addressDraws = 9

func appendAddress(dst []byte, s *stream) []byte {
	n := s.between(10, 40)
	var letters int64
	for i := range n {
		if i%5 == 0 {
			letters = s.bits()
		}
		dst = append(dst, addressLetters[letters&63])
		letters >>= 6
	}
	return dst
}

func appendPhone(dst []byte, nation int64, s *stream) []byte {
	dst = append(strconv.AppendInt(dst, nation+10, 10), '-')
	dst = append(strconv.AppendInt(dst, s.between(100, 999), 10), '-')
	dst = append(strconv.AppendInt(dst, s.between(100, 999), 10), '-')
	return strconv.AppendInt(dst, s.between(1000, 9999), 10)
}

type supplierFiller struct {
	party
	odds, noise, offset, praise stream
	streams                     []*stream
}

func newSuppliers(t *text) *supplierFiller {
	f := &supplierFiller{
		party: party{
			addresses: newStream(706178559, addressDraws), nations: newStream(110356601, 1), phones: newStream(884434366, 3),
			balances: newStream(962338209, 1), comments: newCommenter(t, 1341315363, 63, 1),
		},
		odds: newStream(202794285, 1), noise: newStream(263032577, 1), offset: newStream(715851524, 1),
		praise: newStream(753643799, 1),
	}
	f.streams = []*stream{
		&f.addresses, &f.nations, &f.phones, &f.balances, &f.comments.stream, &f.odds, &f.noise, &f.offset, &f.praise,
	}
	return f
}

func (f *supplierFiller) columns() []column {
	return []column{&f.key, &f.name, &f.address, &f.nation, &f.phone, &f.balance, &f.comment}
}

func (f *supplierFiller) fill(from, to int64) {
	seek(from, f.streams)
	for i := from; i < to; i++ {
		f.party.fill(i, "Supplier#")
		start := len(f.comment.data)
		f.comments.add(&f.comment)
		// Ten of 10,000 suppliers have "Customer", noise, and "Complaints" or "Recommends" written over their comment.
		if f.odds.between(1, supplierBase) <= 10 {
			const customer, opinion = "Customer ", len("Complaints")
			comment := f.comment.data[start:]
			room := int64(len(comment) - len(customer) - opinion)
			noise := f.noise.between(0, room)
			at := f.offset.between(0, room-noise)
			copy(comment[at:], customer)
			word := "Recommends"
			if f.praise.between(0, 100) < 50 {
				word = "Complaints"
			}
			copy(comment[at+int64(len(customer))+noise:], word)
		}
		next(f.streams)
	}
}

type customerFiller struct {
	party
	segment  codes
	segments stream
	streams  []*stream
}

func newCustomers(t *text) *customerFiller {
	f := &customerFiller{
		party: party{
			addresses: newStream(881155353, addressDraws), nations: newStream(1489529863, 1), phones: newStream(1521138112, 3),
			balances: newStream(298370230, 1), comments: newCommenter(t, 1335826707, 73, 1),
		},
		segment: newCodes(segments), segments: newStream(1140279430, 1),
	}
	f.streams = []*stream{&f.addresses, &f.nations, &f.phones, &f.balances, &f.comments.stream, &f.segments}
	return f
}

func (f *customerFiller) columns() []column {
	return []column{&f.key, &f.name, &f.address, &f.nation, &f.phone, &f.balance, &f.segment, &f.comment}
}

func (f *customerFiller) fill(from, to int64) {
	seek(from, f.streams)
	for i := from; i < to; i++ {
		f.party.fill(i, "Customer#")
		f.segment.draw(&f.segments)
		f.comments.add(&f.comment)
		next(f.streams)
	}
}

// draw adds a word of the list.
func (c *codes) draw(s *stream) {
	c.v = append(c.v, uint8(s.between(0, int64(c.words.Len())-1)))
}

type partFiller struct {
	key       bigints
	name      texts
	maker     codes
	brand     codes
	kind      codes
	size      integers
	container codes
	price     amounts
	comment   texts

	names, makers, brands, kinds, sizes, containers stream
	comments                                        commenter
	streams                                         []*stream
}

// A part's name has five colors; dbgen's stream allows for drawing all of them.
const nameColors = 5

func newParts(t *text) *partFiller {
	var makers, brands []string
	for maker := range 5 {
		makers = append(makers, "Manufacturer#"+strconv.Itoa(maker+1))
		for brand := range 5 {
			brands = append(brands, "Brand#"+strconv.Itoa(maker+1)+strconv.Itoa(brand+1))
		}
	}
	f := &partFiller{
		maker: newCodes(makers), brand: newCodes(brands), kind: newCodes(partTypes), container: newCodes(containers),
		names: newStream(709314158, int64(len(colors))), makers: newStream(1, 1), brands: newStream(46831694, 1),
		kinds: newStream(1841581359, 1), sizes: newStream(1193163244, 1), containers: newStream(727633698, 1),
		comments: newCommenter(t, 804159733, 14, 1),
	}
	f.streams = []*stream{&f.names, &f.makers, &f.brands, &f.kinds, &f.sizes, &f.containers, &f.comments.stream}
	return f
}

func (f *partFiller) columns() []column {
	return []column{&f.key, &f.name, &f.maker, &f.brand, &f.kind, &f.size, &f.container, &f.price, &f.comment}
}

func (f *partFiller) fill(from, to int64) {
	seek(from, f.streams)
	var order [92]uint8
	for i := from; i < to; i++ {
		key := i + 1
		f.key.v = append(f.key.v, key)
		for c := range order {
			order[c] = uint8(c)
		}
		for c := range nameColors {
			with := f.names.between(int64(c), int64(len(order))-1)
			order[c], order[with] = order[with], order[c]
			if c > 0 {
				f.name.data = append(f.name.data, ' ')
			}
			f.name.data = append(f.name.data, colors[order[c]]...)
		}
		f.name.end()
		f.maker.draw(&f.makers)
		maker := f.maker.v[len(f.maker.v)-1]
		f.brand.v = append(f.brand.v, maker*5+uint8(f.brands.between(0, 4)))
		f.kind.draw(&f.kinds)
		f.size.v = append(f.size.v, int32(f.sizes.between(1, 50)))
		f.container.draw(&f.containers)
		f.price.add(retailPrice(key))
		f.comments.add(&f.comment)
		next(f.streams)
	}
}

// retailPrice is a part's price in cents.
func retailPrice(part int64) int64 { return 90_000 + part/10%20_001 + part%1000*100 }

// supplierOf is one of the four suppliers of a part, n from 0.
func supplierOf(part, n, suppliers int64) int64 {
	return (part+n*(suppliers/suppliersPerPart+(part-1)/suppliers))%suppliers + 1
}

type partSupplierFiller struct {
	part, supplier, available bigints
	cost                      amounts
	comment                   texts

	quantities, costs stream
	comments          commenter
	streams           []*stream
	suppliers         int64
}

func newPartSuppliers(s scale, t *text) *partSupplierFiller {
	f := &partSupplierFiller{
		quantities: newStream(1671059989, suppliersPerPart), costs: newStream(1051288424, suppliersPerPart),
		comments: newCommenter(t, 1961692154, 124, suppliersPerPart), suppliers: s.rows(supplierBase),
	}
	f.streams = []*stream{&f.quantities, &f.costs, &f.comments.stream}
	return f
}

func (f *partSupplierFiller) columns() []column {
	return []column{&f.part, &f.supplier, &f.available, &f.cost, &f.comment}
}

func (f *partSupplierFiller) fill(from, to int64) {
	seek(from, f.streams)
	for i := from; i < to; i++ {
		for n := range int64(suppliersPerPart) {
			f.part.v = append(f.part.v, i+1)
			f.supplier.v = append(f.supplier.v, supplierOf(i+1, n, f.suppliers))
			f.available.v = append(f.available.v, f.quantities.between(1, 9999))
			f.cost.add(f.costs.between(100, 100_000))
			f.comments.add(&f.comment)
		}
		next(f.streams)
	}
}

// orderKey spreads the keys: of every 32, the first 8 are used.
func orderKey(i int64) int64 { return i>>3<<5 | i&7 }

// lines draws what orders and lineitem must agree on.
type lines struct {
	days, counts, quantities, discounts, taxes, parts, ships stream
	partCount                                                int64
}

func newLines(s scale) lines {
	return lines{
		days: newStream(1066728069, 1), counts: newStream(1434868289, 1), quantities: newStream(209208115, maxLines),
		discounts: newStream(554590007, maxLines), taxes: newStream(721958466, maxLines), parts: newStream(1808217256, maxLines),
		ships: newStream(1769349045, maxLines), partCount: s.rows(partBase),
	}
}

func (l *lines) streams() []*stream {
	return []*stream{&l.days, &l.counts, &l.quantities, &l.discounts, &l.taxes, &l.parts, &l.ships}
}

func (l *lines) order() (day, count int64) {
	return l.days.between(firstOrderDay, lastOrderDay), l.counts.between(1, maxLines)
}

// A line's discount and tax are in hundredths, its price in cents.
type line struct{ quantity, discount, tax, part, price, shipDay int64 }

func (l *lines) line(day int64) line {
	var n line
	n.quantity = l.quantities.between(1, 50)
	n.discount = l.discounts.between(0, 10)
	n.tax = l.taxes.between(0, 8)
	n.part = l.parts.between(1, l.partCount)
	n.price = retailPrice(n.part) * n.quantity
	n.shipDay = day + l.ships.between(1, 121)
	return n
}

type orderFiller struct {
	key, customer bigints
	status        codes
	total         amounts
	day           dates
	priority      codes
	clerk         texts
	shipPriority  integers
	comment       texts

	lines
	customers, priorities, clerks stream
	comments                      commenter
	all                           []*stream
	customerCount, clerkCount     int64
}

const (
	statusFinished = iota
	statusOpen
	statusPartial
)

func newOrders(s scale, t *text) *orderFiller {
	f := &orderFiller{
		status: newCodes([]string{statusFinished: "F", statusOpen: "O", statusPartial: "P"}), priority: newCodes(priorities),
		lines: newLines(s), customers: newStream(851767375, 1), priorities: newStream(591449447, 1),
		clerks: newStream(1171034773, 1), comments: newCommenter(t, 276090261, 49, 1),
		customerCount: s.rows(customerBase), clerkCount: max(clerkBase, s.rows(clerkBase)),
	}
	f.all = append(f.lines.streams(), &f.customers, &f.priorities, &f.clerks, &f.comments.stream)
	return f
}

func (f *orderFiller) columns() []column {
	return []column{
		&f.key, &f.customer, &f.status, &f.total, &f.day, &f.priority, &f.clerk, &f.shipPriority, &f.comment,
	}
}

func (f *orderFiller) fill(from, to int64) {
	seek(from, f.all)
	for i := from; i < to; i++ {
		day, count := f.order()
		f.key.v = append(f.key.v, orderKey(i+1))
		f.customer.v = append(f.customer.v, f.payer())
		var total, shipped int64
		for range count {
			n := f.line(day)
			total += n.price * (100 - n.discount) / 100 * (100 + n.tax) / 100
			if n.shipDay <= currentDay {
				shipped++
			}
		}
		status := uint8(statusPartial)
		switch shipped {
		case count:
			status = statusFinished
		case 0:
			status = statusOpen
		}
		f.status.v = append(f.status.v, status)
		f.total.add(total)
		f.day.v = append(f.day.v, int32(day))
		f.priority.draw(&f.priorities)
		f.clerk.data = appendPadded(append(f.clerk.data, "Clerk#"...), f.clerks.between(1, f.clerkCount))
		f.clerk.end()
		f.shipPriority.v = append(f.shipPriority.v, 0)
		f.comments.add(&f.comment)
		next(f.all)
	}
}

// payer draws a customer; every third one never orders, and stands for a neighbour.
func (f *orderFiller) payer() int64 {
	key := f.customers.between(1, f.customerCount)
	for by := int64(1); key%3 == 0; by = -by {
		key = min(key+by, f.customerCount)
	}
	return key
}

type lineItemFiller struct {
	order, part, supplier, number         bigints
	quantity, price, discount, tax        amounts
	returned, status                      codes
	shipDay, commitDay, receiptDay        dates
	instruction, mode                     codes
	comment                               texts
	lines                                 lines
	suppliers, commits, receipts, returns stream
	instructions, modes                   stream
	comments                              commenter
	all                                   []*stream
	supplierCount                         int64
}

const (
	returnReturned = iota
	returnAccepted
	returnNone
)

func newLineItems(s scale, t *text) *lineItemFiller {
	f := &lineItemFiller{
		returned:    newCodes([]string{returnReturned: "R", returnAccepted: "A", returnNone: "N"}),
		status:      newCodes([]string{statusFinished: "F", statusOpen: "O"}),
		instruction: newCodes(instructions), mode: newCodes(modes),
		lines: newLines(s), suppliers: newStream(2095021727, maxLines), commits: newStream(904914315, maxLines),
		receipts: newStream(373135028, maxLines), returns: newStream(717419739, maxLines),
		instructions: newStream(1371272478, maxLines), modes: newStream(675466456, maxLines),
		comments: newCommenter(t, 1095462486, 27, maxLines), supplierCount: s.rows(supplierBase),
	}
	f.all = append(f.lines.streams(), &f.suppliers, &f.commits, &f.receipts, &f.returns, &f.instructions, &f.modes,
		&f.comments.stream)
	return f
}

func (f *lineItemFiller) columns() []column {
	return []column{
		&f.order, &f.part, &f.supplier, &f.number, &f.quantity, &f.price, &f.discount, &f.tax, &f.returned, &f.status,
		&f.shipDay, &f.commitDay, &f.receiptDay, &f.instruction, &f.mode, &f.comment,
	}
}

func (f *lineItemFiller) fill(from, to int64) {
	seek(from, f.all)
	for i := from; i < to; i++ {
		day, count := f.lines.order()
		for number := range count {
			n := f.lines.line(day)
			f.order.v = append(f.order.v, orderKey(i+1))
			f.part.v = append(f.part.v, n.part)
			f.supplier.v = append(f.supplier.v, supplierOf(n.part, f.suppliers.between(0, suppliersPerPart-1), f.supplierCount))
			f.number.v = append(f.number.v, number+1)
			f.quantity.add(n.quantity * 100)
			f.price.add(n.price)
			f.discount.add(n.discount)
			f.tax.add(n.tax)
			receipt := n.shipDay + f.receipts.between(1, 30)
			if receipt <= currentDay {
				f.returned.v = append(f.returned.v, uint8(f.returns.between(returnReturned, returnAccepted)))
			} else {
				f.returned.v = append(f.returned.v, returnNone)
			}
			status := uint8(statusOpen)
			if n.shipDay <= currentDay {
				status = statusFinished
			}
			f.status.v = append(f.status.v, status)
			f.shipDay.v = append(f.shipDay.v, int32(n.shipDay))
			f.commitDay.v = append(f.commitDay.v, int32(day+f.commits.between(30, 90)))
			f.receiptDay.v = append(f.receiptDay.v, int32(receipt))
			f.instruction.draw(&f.instructions)
			f.mode.draw(&f.modes)
			f.comments.add(&f.comment)
		}
		next(f.all)
	}
}
