// Sarama as a testee. Its decoder has no public door but the network: a broker on the loopback
// interface answers a fetch request of sarama.Broker with the bytes of the case.
package main

import (
	"encoding/binary"
	"io"
	"net"
	"time"

	"github.com/IBM/sarama"
	"kafkaspec/testees/serve"
)

const topic = "t"

var (
	payload = make(chan []byte, 1)
	client  *sarama.Broker
	version int16 = 4
)

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	go func() {
		for {
			connection, err := listener.Accept()
			check(err)
			go answer(connection)
		}
	}()
	config := sarama.NewConfig()
	config.Version = sarama.V0_11_0_0
	config.ApiVersionsRequest = false
	client = sarama.NewBroker(listener.Addr().String())
	check(client.Open(config))
	serve.Run("Sarama", "github.com/IBM/sarama", serve.Decoders{Log: log, Control: control})
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// answer sends responses of version 4, which have one partition and no aborted transaction.
func answer(connection net.Conn) {
	for {
		head := make([]byte, 12)
		if _, err := io.ReadFull(connection, head); err != nil {
			return
		}
		_, err := io.CopyN(io.Discard, connection, int64(binary.BigEndian.Uint32(head))-8)
		check(err)
		data := <-payload
		body := append([]byte{}, head[8:12]...)           // correlation id
		body = append(body, 0, 0, 0, 0)                   // throttle time
		body = append(body, 0, 0, 0, 1, 0, 1, topic[0])   // one topic
		body = append(body, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0) // one partition: 0, no error
		body = append(body, make([]byte, 16)...)          // high watermark, last stable offset
		body = append(body, 0, 0, 0, 0)                   // aborted transactions
		body = binary.BigEndian.AppendUint32(body, uint32(len(data)))
		body = append(body, data...)
		_, err = connection.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...))
		check(err)
	}
}

func read(data []byte) ([]*sarama.Records, error) {
	var sets []*sarama.Records
	for _, entry := range serve.Entries(data) {
		payload <- entry
		request := &sarama.FetchRequest{Version: version, MaxWaitTime: 1, MinBytes: 1, MaxBytes: 1 << 30}
		request.AddBlock(topic, 0, 0, 1<<30, -1)
		response, err := client.Fetch(request)
		if err != nil {
			return nil, err
		}
		block := response.GetBlock(topic, 0)
		for _, set := range block.RecordsSet {
			// Its consumer asks for more bytes then, and gives up in the end.
			if set.RecordBatch != nil && set.RecordBatch.PartialTrailingRecord {
				return nil, sarama.ErrInsufficientData
			}
			if set.MsgSet != nil && set.MsgSet.PartialTrailingMessage {
				return nil, sarama.ErrInsufficientData
			}
		}
		if block.Partial {
			return nil, sarama.ErrInsufficientData
		}
		sets = append(sets, block.RecordsSet...)
	}
	return sets, nil
}

// log does what the consumer does with these (parseMessages, parseRecords).
func log(data []byte) ([]serve.Record, error) {
	var found []serve.Record
	sets, err := read(data)
	for _, set := range sets {
		if set.MsgSet != nil {
			for _, block := range set.MsgSet.Messages {
				messages := block.Messages()
				for _, item := range messages {
					offset, at := item.Offset, item.Msg.Timestamp
					if item.Msg.Version >= 1 {
						offset += block.Offset - messages[len(messages)-1].Offset
						if item.Msg.LogAppendTime {
							at = block.Msg.Timestamp
						}
					}
					found = append(found, serve.Record{Offset: offset, Timestamp: milliseconds(at),
						Key: serve.Bytes(item.Msg.Key), Value: serve.Bytes(item.Msg.Value), Headers: [][]*string{}})
				}
			}
			continue
		}
		batch := set.RecordBatch
		if batch.Control {
			continue
		}
		for _, item := range batch.Records {
			at := batch.FirstTimestamp.Add(item.TimestampDelta)
			if batch.LogAppendTime {
				at = batch.MaxTimestamp
			}
			record := serve.Record{Offset: batch.FirstOffset + item.OffsetDelta, Timestamp: milliseconds(at),
				Key: serve.Bytes(item.Key), Value: serve.Bytes(item.Value), Headers: [][]*string{}}
			for _, header := range item.Headers {
				record.Headers = append(record.Headers, serve.Header(string(header.Key), header.Value))
			}
			found = append(found, record)
		}
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
	sets, err := read(data)
	for _, set := range sets {
		if set.RecordBatch == nil || !set.RecordBatch.Control {
			continue
		}
		for _, item := range set.RecordBatch.Records {
			// ControlRecord.decode is not public: the consumer reads the type from the key.
			marker := serve.Marker{Offset: set.RecordBatch.FirstOffset + item.OffsetDelta,
				Type: int16(binary.BigEndian.Uint16(item.Key[2:]))}
			if len(item.Value) >= 6 {
				marker.Epoch = int32(binary.BigEndian.Uint32(item.Value[2:]))
			}
			found = append(found, marker)
		}
	}
	return found, err
}
