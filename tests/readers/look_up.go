// Prints what a segment answers to offsets and times: look_up SEGMENT (offset|time) NUMBER...
package main

import (
	"fmt"
	"os"
	"strconv"
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
	path := os.Args[1]
	log := must(os.Open(path))
	stem := strings.TrimSuffix(path, ".log")
	segment := &kafkaspec.Segment{
		Log:        log,
		Size:       must(log.Stat()).Size(),
		BaseOffset: must(strconv.ParseInt(stem[len(stem)-20:], 10, 64)),
		Index:      must(os.ReadFile(stem + ".index")),
		TimeIndex:  must(os.ReadFile(stem + ".timeindex")),
	}
	ask := segment.FindOffset
	if os.Args[2] == "time" {
		ask = segment.FindTime
	}
	for _, text := range os.Args[3:] {
		found, err := ask(must(strconv.ParseInt(text, 10, 64)))
		switch {
		case err != nil:
			fmt.Println(err)
		case found == nil:
			fmt.Println("-")
		default:
			fmt.Println(found.Batch.Records.Offset[found.Row])
		}
	}
}
