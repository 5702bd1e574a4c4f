package calendar

import (
	"testing"
	"time"
)

func TestAgainstTime(t *testing.T) {
	for day := int64(-800_000); day < 800_000; day += 37 {
		want := time.Unix(day*86400, 0).UTC()
		y, m, d := Civil(day)
		if int(y) != want.Year() || m != int(want.Month()) || d != want.Day() {
			t.Fatalf("Civil(%d) = %d-%d-%d, want %v", day, y, m, d, want)
		}
		if got := Days(y, m, d); got != day {
			t.Fatalf("Days(%d, %d, %d) = %d, want %d", y, m, d, got, day)
		}
		wantYear, wantWeek := want.ISOWeek()
		if year, week := ISOWeek(day); int(year) != wantYear || week != wantWeek {
			t.Fatalf("ISOWeek(%d) = %d, %d, want %d, %d", day, year, week, wantYear, wantWeek)
		}
		if Weekday(day) != int(want.Weekday()) || YearDay(day) != want.YearDay() {
			t.Fatalf("day %d: weekday %d, day of year %d, want %v", day, Weekday(day), YearDay(day), want)
		}
	}
}

func TestEnds(t *testing.T) {
	for _, day := range []int64{MinDay, MaxDay, -719468, -719469, 1<<31 - 719468, 1<<31 - 719469} {
		if y, m, d := Civil(day); Days(y, m, d) != day {
			t.Errorf("day %d becomes %d-%d-%d and then %d", day, y, m, d, Days(y, m, d))
		}
	}
	if y, m, d := Civil(MaxDay); y != 5874897 || m != 12 || d != 31 {
		t.Errorf("last day is %d-%d-%d", y, m, d)
	}
	if y, m, d := Civil(MinDay); y != -4713 || m != 11 || d != 24 {
		t.Errorf("first day is %d-%d-%d", y, m, d)
	}
}

func TestAddMonths(t *testing.T) {
	for _, tc := range []struct{ from, months, want int64 }{
		{Days(2024, 1, 31), 1, Days(2024, 2, 29)},
		{Days(2023, 1, 31), 1, Days(2023, 2, 28)},
		{Days(2024, 2, 29), -12, Days(2023, 2, 28)},
		{Days(1994, 1, 1), 12, Days(1995, 1, 1)},
		{Days(1994, 12, 15), 1, Days(1995, 1, 15)},
		{Days(1, 1, 15), -1, Days(0, 12, 15)},
	} {
		if got := AddMonths(tc.from, tc.months); got != tc.want {
			t.Errorf("AddMonths(%d, %d) = %d, want %d", tc.from, tc.months, got, tc.want)
		}
	}
}
