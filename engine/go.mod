module github.com/fletchdb/fletch/engine

go 1.26.0

require golang.org/x/sys v0.47.0

require (
	github.com/apache/arrow-go/v18 v18.8.0 // indirect
	github.com/klauspost/compress v1.19.2 // indirect
)
