// kafka-go as a testee. Its door: protocol.RecordSet.ReadFrom, which kafka.Client.Fetch calls with
// the bytes of a fetch response.
package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"time"

	_ "github.com/segmentio/kafka-go/compress"
	"github.com/segmentio/kafka-go/protocol"
	"kafkaspec/testees/serve"
)

func main() {
	serve.Run("kafka-go", "github.com/segmentio/kafka-go", serve.Decoders{Log: log, Control: control})
}

func read(data []byte) ([]protocol.RecordReader, error) {
	var readers []protocol.RecordReader
	for _, entry := range serve.Entries(data) {
		sized := append(binary.BigEndian.AppendUint32(nil, uint32(len(entry))), entry...)
		var set protocol.RecordSet
		if _, err := set.ReadFrom(bufio.NewReader(bytes.NewReader(sized))); err != nil {
			return nil, err
		}
		if set.Records != nil {
			readers = append(readers, set.Records.(*protocol.RecordStream).Records...)
		}
	}
	return readers, nil
}

func each(reader protocol.RecordReader, take func(*protocol.Record) error) error {
	for {
		record, err := reader.ReadRecord()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = take(record)
		}
		if err != nil {
			return err
		}
	}
}

func all(data protocol.Bytes) []byte {
	if data == nil {
		return nil
	}
	found, err := protocol.ReadAll(data)
	if err != nil {
		panic(err)
	}
	return append([]byte{}, found...)
}

func log(data []byte) ([]serve.Record, error) {
	var found []serve.Record
	readers, err := read(data)
	for _, reader := range readers {
		if _, control := reader.(*protocol.ControlBatch); control {
			continue
		}
		err = errors.Join(err, each(reader, func(item *protocol.Record) error {
			record := serve.Record{Offset: item.Offset, Timestamp: milliseconds(item.Time),
				Key: serve.Bytes(all(item.Key)), Value: serve.Bytes(all(item.Value)), Headers: [][]*string{}}
			for _, header := range item.Headers {
				record.Headers = append(record.Headers, serve.Header(header.Key, header.Value))
			}
			found = append(found, record)
			return nil
		}))
	}
	return found, err
}

// The library has the zero time where there is no timestamp.
func milliseconds(at time.Time) int64 {
	if at.IsZero() {
		return -1
	}
	return at.UnixMilli()
}

func control(data []byte) ([]serve.Marker, error) {
	var found []serve.Marker
	readers, err := read(data)
	for _, reader := range readers {
		if batch, control := reader.(*protocol.ControlBatch); control {
			err = errors.Join(err, each(batch, func(item *protocol.Record) error {
				marker, err := protocol.ReadControlRecord(item)
				if err != nil {
					return err
				}
				// Of the value, the library gives the bytes.
				epoch := int32(-1)
				if marker.Type <= 1 && len(marker.Data) >= 6 {
					epoch = int32(binary.BigEndian.Uint32(marker.Data[2:]))
				}
				found = append(found, serve.Marker{Offset: marker.Offset, Type: marker.Type, Epoch: epoch})
				return nil
			}))
		}
	}
	return found, err
}
