module github.com/fletchdb/fletch/ci

go 1.26.0
