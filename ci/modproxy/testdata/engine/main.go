// Command embed runs a statement in this process and prints its rows.
package main

import (
	"context"
	"fmt"
	"io"
	"log"

	"github.com/fletchdb/fletch/engine"
)

func main() {
	e, err := engine.Open(engine.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	rows, err := e.Query(context.Background(), "SELECT n * 7 FROM (VALUES (6)) AS v(n)")
	if err != nil {
		log.Fatal(err)
	}
	defer rows.Close()
	for batch, err := rows.Next(); err != io.EOF; batch, err = rows.Next() {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(batch.Column(0).ValueStr(0))
	}
}
