package kafkaspec

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/OneOfOne/xxhash"
	"github.com/golang/snappy"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"kafkaspec/format"
)

// Record to be written.
type Record struct {
	// Offset in the partition.
	Offset int64

	// Timestamp in ms since the Unix epoch, -1 for none.
	Timestamp int64

	// Key; nil is null.
	Key []byte

	// Value; nil is null.
	Value []byte

	// Headers in order; a key may occur more than once.
	Headers []RecordHeader
}

// RecordHeader is a header of a record.
type RecordHeader struct {
	// Key may not be null.
	Key []byte

	// Value; nil is null.
	Value []byte
}

// None is the id of a producer, an epoch and a sequence number that are not there.
const None = -1

// BatchOptions says how a batch is written. Begin with NewBatchOptions, which has None where it belongs.
type BatchOptions struct {
	// Compression is one of format.RecordbatchCompressionTypeNone and its like.
	Compression int64

	// LeaderEpoch of the leader that appends the batch.
	LeaderEpoch int64

	// ProducerId of an idempotent or transactional producer.
	ProducerId int64

	// ProducerEpoch of the producer.
	ProducerEpoch int64

	// BaseSequence is the sequence number of the first record.
	BaseSequence int64

	// IsTransactional says that the records belong to a transaction.
	IsTransactional bool

	// IsControl says that they are control records.
	IsControl bool
}

// NewBatchOptions returns the options of a batch without a producer, not compressed.
func NewBatchOptions() BatchOptions {
	return BatchOptions{LeaderEpoch: None, ProducerId: None, ProducerEpoch: None, BaseSequence: None}
}

// fits stores a number in a field, whatever its size, and says whether it has room for it.
func fits[T int8 | int16 | int32 | int64 | uint8 | uint16 | uint32](field *T, number int64) bool {
	*field = T(number)
	return int64(*field) == number
}

// AppendBatch appends records as one batch of magic 2, as Kafka's producer and broker write it. Offsets
// ascend, and the first is the base of the batch.
func AppendBatch(b []byte, records []Record, options BatchOptions) ([]byte, error) {
	if len(records) == 0 {
		return nil, errors.New("a batch needs a record")
	}
	first, last := records[0], records[len(records)-1]
	batch := format.RecordbatchRecordBatch{BaseOffset: first.Offset, BaseTimestamp: first.Timestamp, MaxTimestamp: first.Timestamp}
	batch.Attributes.IsControl, batch.Attributes.IsTransactional = options.IsControl, options.IsTransactional
	if first.Offset < 0 || !fits(&batch.LastOffsetDelta, last.Offset-first.Offset) {
		return nil, fmt.Errorf("offsets %d to %d do not fit one batch", first.Offset, last.Offset)
	}
	if !fits(&batch.Attributes.Compression, options.Compression) || !fits(&batch.PartitionLeaderEpoch, options.LeaderEpoch) ||
		!fits(&batch.ProducerId, options.ProducerId) || !fits(&batch.ProducerEpoch, options.ProducerEpoch) ||
		!fits(&batch.BaseSequence, options.BaseSequence) || !fits(&batch.NumRecords, int64(len(records))) {
		return nil, fmt.Errorf("%d records with the options %+v do not fit one batch", len(records), options)
	}
	set := format.RecordbatchRecordSet{Batch: &batch, Records: make([]format.RecordbatchRecord, len(records))}
	for i, record := range records {
		if i > 0 && record.Offset <= records[i-1].Offset {
			return nil, fmt.Errorf("offset %d does not ascend from %d", record.Offset, records[i-1].Offset)
		}
		batch.MaxTimestamp = max(batch.MaxTimestamp, record.Timestamp)
		made := &set.Records[i]
		if !fits(&made.TimestampDelta, record.Timestamp-first.Timestamp) || !fits(&made.OffsetDelta, record.Offset-first.Offset) {
			return nil, fmt.Errorf("record %d does not fit the batch", i)
		}
		made.Key, made.Value = record.Key, record.Value
		for _, header := range record.Headers {
			made.Headers = append(made.Headers, format.RecordbatchHeader{Key: header.Key, Value: header.Value})
		}
	}
	payload, err := compressed(set.SpecAppend(nil), options.Compression, true)
	if err != nil {
		return nil, err
	}
	batch.Records = payload
	entry := format.RecordbatchEntry{BaseOffset: first.Offset, Message: &batch}
	return entry.SpecAppend(b), nil
}

// AppendMessages appends records as messages of magic 0 or 1, or as one wrapper where they are
// compressed. They have no headers, and those of magic 0 no timestamps.
func AppendMessages(b []byte, records []Record, magic int8, compression int64) ([]byte, error) {
	if len(records) == 0 {
		return nil, errors.New("there is no record")
	}
	timed := format.HasTimestamps(int64(magic))
	last, largest := records[len(records)-1].Offset, int64(None)
	wrapped := compression != format.RecordbatchCompressionTypeNone
	var into []byte
	for _, record := range records {
		if len(record.Headers) > 0 {
			return nil, fmt.Errorf("magic %d has no headers", magic)
		}
		offset := record.Offset
		if wrapped && timed { // relative in formats with timestamps
			offset = record.Offset - records[0].Offset
		}
		largest = max(largest, record.Timestamp)
		into = appendMessage(into, offset, magic, record.Timestamp, 0, record.Key, record.Value)
	}
	if !wrapped {
		return append(b, into...), nil
	}
	payload, err := compressed(into, compression, timed)
	if err != nil {
		return nil, err
	}
	return appendMessage(b, last, magic, largest, compression, nil, payload), nil
}

func appendMessage(b []byte, offset int64, magic int8, timestamp, compression int64, key, value []byte) []byte {
	message := format.RecordbatchLegacyMessage{
		Magic:      magic,
		Attributes: format.RecordbatchLegacyAttributes{Compression: uint8(compression)},
		Timestamp:  format.Optional[int64]{Value: timestamp, Present: format.HasTimestamps(int64(magic))},
		Key:        key,
		Value:      value,
	}
	entry := format.RecordbatchEntry{BaseOffset: offset, Message: &message}
	return entry.SpecAppend(b)
}

// Sizes of blocks as Kafka writes them.
const (
	snappyChunk = 32 << 10
	lz4Chunk    = 64 << 10
)

// compressed compresses a payload as Kafka's writers do, those of a format with or without timestamps.
func compressed(data []byte, compression int64, timed bool) ([]byte, error) {
	var made bytes.Buffer
	switch compression {
	case format.RecordbatchCompressionTypeNone:
		return data, nil
	case format.RecordbatchCompressionTypeGzip:
		writer := gzip.NewWriter(&made)
		if _, err := writer.Write(data); err != nil {
			return nil, err
		}
		err := writer.Close()
		return made.Bytes(), err
	case format.RecordbatchCompressionTypeSnappy:
		return snappyStream(data), nil
	case format.RecordbatchCompressionTypeLz4:
		return lz4Frame(data, timed)
	case format.RecordbatchCompressionTypeZstd:
		writer, err := zstd.NewWriter(&made, zstd.WithEncoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		if _, err := writer.Write(data); err != nil {
			return nil, err
		}
		err = writer.Close()
		return made.Bytes(), err
	}
	return nil, fmt.Errorf("compression %d is not known", compression)
}

func snappyStream(data []byte) []byte {
	made := []byte(snappyMagic)
	made = binary.BigEndian.AppendUint32(made, snappyVersion)
	made = binary.BigEndian.AppendUint32(made, snappyVersion)
	for len(data) > 0 {
		size := min(len(data), snappyChunk)
		block := snappy.Encode(nil, data[:size])
		made = append(binary.BigEndian.AppendUint32(made, uint32(len(block))), block...)
		data = data[size:]
	}
	return made
}

// lz4Frame writes the frame of Kafka's Lz4BlockOutputStream. Of magic 0 the checksum of the header covers
// the magic of the frame too (KAFKA-3160).
func lz4Frame(data []byte, right bool) ([]byte, error) {
	made := append([]byte(lz4Magic), lz4Version|lz4Independent, lz4LeastBlock<<4)
	covered := made
	if right {
		covered = made[len(lz4Magic):]
	}
	made = append(made, byte(xxhash.Checksum32(covered)>>8))
	var compressor lz4.Compressor
	for len(data) > 0 {
		size := min(len(data), lz4Chunk)
		block := make([]byte, lz4.CompressBlockBound(size))
		n, err := compressor.CompressBlock(data[:size], block)
		if err != nil {
			return nil, err
		}
		if n == 0 || n >= size {
			made = binary.LittleEndian.AppendUint32(made, uint32(size)|lz4Stored)
			made = append(made, data[:size]...)
		} else {
			made = append(binary.LittleEndian.AppendUint32(made, uint32(n)), block[:n]...)
		}
		data = data[size:]
	}
	return binary.LittleEndian.AppendUint32(made, 0), nil
}
