// franz-go as a testee. Its door: kgo.ProcessFetchPartition, which its own client calls with the
// bytes of a fetch response.
package main

import (
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"kafkaspec/testees/serve"
)

func main() {
	serve.Run("franz-go", "github.com/twmb/franz-go", serve.Decoders{Log: log, Control: control})
}

var decompressor = kgo.DefaultDecompressor()

func read(data []byte, control bool) ([]*kgo.Record, error) {
	options := kgo.ProcessFetchPartitionOpts{
		KeepControlRecords: control, Offset: math.MinInt64, Topic: "t"}
	var records []*kgo.Record
	for _, entry := range serve.Entries(data) {
		partition := kmsg.NewFetchResponseTopicPartition()
		partition.RecordBatches = entry
		found, _ := kgo.ProcessFetchPartition(options, &partition, decompressor, nil)
		if found.Err != nil {
			return nil, found.Err
		}
		records = append(records, found.Records...)
	}
	return records, nil
}

func log(data []byte) ([]serve.Record, error) {
	var found []serve.Record
	records, err := read(data, false)
	for _, item := range records {
		record := serve.Record{Offset: item.Offset, Timestamp: milliseconds(item.Timestamp),
			Key: serve.Bytes(item.Key), Value: serve.Bytes(item.Value), Headers: [][]*string{}}
		for _, header := range item.Headers {
			record.Headers = append(record.Headers, serve.Header(header.Key, header.Value))
		}
		found = append(found, record)
	}
	return found, err
}

func milliseconds(at time.Time) int64 {
	if at.IsZero() {
		return -1
	}
	return at.UnixMilli()
}

func control(data []byte) ([]serve.Marker, error) {
	var found []serve.Marker
	records, err := read(data, true)
	for _, item := range records {
		if !item.Attrs.IsControl() {
			continue
		}
		var key kmsg.ControlRecordKey
		if err := key.ReadFrom(item.Key); err != nil {
			return nil, err
		}
		marker := serve.Marker{Offset: item.Offset, Type: int16(key.Type)}
		if key.Type == kmsg.ControlRecordKeyTypeAbort || key.Type == kmsg.ControlRecordKeyTypeCommit {
			var end kmsg.EndTxnMarker
			if err := end.ReadFrom(item.Value); err != nil {
				return nil, err
			}
			marker.Epoch = end.CoordinatorEpoch
		}
		found = append(found, marker)
	}
	return found, err
}
