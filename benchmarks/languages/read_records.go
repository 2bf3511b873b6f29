// Reads a segment once for each line of standard input. The answer is the number of records, and a sum of
// what was touched, as in ReadRecords.java.
package main

import (
	"bufio"
	"fmt"
	"io"
	"log"
	"os"

	"kafkaspec"
	"kafkaspec/format"
)

func touched(span format.Span, data []byte) int64 {
	part := span.Of(data)
	if len(part) == 0 {
		return 0
	}
	return int64(len(part)) + int64(int8(part[0]))
}

func main() {
	data, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	wanted := format.WantOffset | format.WantTimestamp | format.WantKey | format.WantValue
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		reader := kafkaspec.NewReader(data, kafkaspec.Options{Columns: wanted})
		records, sum := 0, int64(0)
		for {
			batch, err := reader.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				log.Fatal(err)
			}
			columns := &batch.Records
			for row, offset := range columns.Offset {
				sum += offset + columns.Timestamp[row]
				sum += touched(columns.Key[row], columns.Bytes) + touched(columns.Value[row], columns.Bytes)
			}
			records += columns.Rows
		}
		fmt.Println(records, sum)
	}
}
