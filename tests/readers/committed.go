// Prints what a consumer with read_committed gets of segments, by their transaction indexes: a line of
// offsets for each.
package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	"kafkaspec"
)

func must[T any](value T, err error) T {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	return value
}

func main() {
	for _, path := range os.Args[1:] {
		index := must(os.ReadFile(strings.TrimSuffix(path, ".log") + ".txnindex"))
		entries := must(kafkaspec.ReadTransactionIndex(index))
		transactions := kafkaspec.NewTransactions(math.MaxInt64, entries...)
		reader := kafkaspec.NewReader(must(os.ReadFile(path)), kafkaspec.Options{})
		var offsets []string
		for {
			batch, err := reader.Next()
			if err == io.EOF {
				break
			}
			if batch = must(batch, err); transactions.Hides(&batch.Header) {
				continue
			}
			for _, offset := range batch.Records.Offset {
				offsets = append(offsets, fmt.Sprint(offset))
			}
		}
		fmt.Println(strings.Join(offsets, " "))
	}
}
