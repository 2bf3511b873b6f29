// Writes a partition, or the indexes of segments that are there:
// write_log partition DIRECTORY SEED, or write_log indexes INTERVAL (SEGMENT STEM)...
package main

import (
	"fmt"
	"io"
	"math/rand"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"kafkaspec"
	"kafkaspec/format"
)

func check(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func number(text string) int64 {
	found, err := strconv.ParseInt(text, 10, 64)
	check(err)
	return found
}

func store(stem string, indexes *kafkaspec.Indexes) {
	index, timeIndex, err := indexes.Files()
	check(err)
	check(os.WriteFile(stem+".index", index, 0o644))
	check(os.WriteFile(stem+".timeindex", timeIndex, 0o644))
}

func partition(folder string, chance *rand.Rand) {
	codecs := []int64{format.RecordbatchCompressionTypeNone, format.RecordbatchCompressionTypeGzip,
		format.RecordbatchCompressionTypeSnappy, format.RecordbatchCompressionTypeLz4, format.RecordbatchCompressionTypeZstd}
	offset, stamp := int64(0), int64(1_700_000_000_000)
	for segment := 0; segment < 3; segment++ {
		stem := filepath.Join(folder, fmt.Sprintf("%020d", offset))
		indexes := kafkaspec.NewIndexes(offset, kafkaspec.IndexInterval)
		var log []byte
		for i := 0; i < 300; i++ {
			var records []kafkaspec.Record
			for count := 1 + chance.Intn(9); count > 0; count-- {
				value := make([]byte, chance.Intn(900))
				chance.Read(value)
				records = append(records, kafkaspec.Record{Offset: offset, Timestamp: stamp - chance.Int63n(300), Value: value})
				offset++
				stamp += chance.Int63n(20)
			}
			options, begin := kafkaspec.NewBatchOptions(), len(log)
			options.Compression = codecs[chance.Intn(len(codecs))]
			var err error
			log, err = kafkaspec.AppendBatch(log, records, options)
			check(err)
			check(indexes.Append(log[begin:]))
		}
		check(os.WriteFile(stem+".log", log, 0o644))
		store(stem, indexes)
	}
}

func indexesOf(path, stem string, interval int) {
	log, err := os.Open(path)
	check(err)
	defer log.Close()
	stat, err := log.Stat()
	check(err)
	indexes := kafkaspec.NewIndexes(number(strings.TrimSuffix(filepath.Base(path), ".log")), interval)
	reader := kafkaspec.NewRangeReader(log, 0, stat.Size(), kafkaspec.Options{})
	for {
		batch, err := reader.NextHeader()
		if err == io.EOF {
			break
		}
		check(err)
		check(indexes.Add(&batch.Header))
	}
	store(stem, indexes)
}

func main() {
	if os.Args[1] == "partition" {
		partition(os.Args[2], rand.New(rand.NewSource(number(os.Args[3]))))
		return
	}
	for interval, rest := int(number(os.Args[2])), os.Args[3:]; len(rest) > 1; rest = rest[2:] {
		indexesOf(rest[0], rest[1], interval)
	}
}
