package kafkaspec

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"strings"
	"testing"

	"kafkaspec/format"
)

func sample(count int) []Record {
	records := make([]Record, count)
	for i := range records {
		records[i] = Record{Offset: int64(100 + 2*i), Timestamp: int64(1_700_000_000_000 + i%7)}
		if i%3 != 0 {
			records[i].Key = []byte(fmt.Sprint("key ", i))
		}
		if i%5 != 0 {
			records[i].Value = []byte(strings.Repeat("value ", i%50))
		}
		if i%4 == 0 {
			records[i].Headers = []RecordHeader{{Key: []byte("h"), Value: nil}, {Key: []byte{}, Value: []byte{}}}
		}
	}
	return records
}

func read(data []byte, options Options) ([]Record, error) {
	var found []Record
	reader := NewReader(data, options)
	for {
		batch, err := reader.Next()
		if err == io.EOF {
			return found, nil
		}
		if err != nil {
			return found, err
		}
		columns := &batch.Records
		for i := range columns.Offset {
			made := Record{Offset: columns.Offset[i], Timestamp: columns.Timestamp[i]}
			made.Key, made.Value = copied(columns.Key[i].Of(columns.Bytes)), copied(columns.Value[i].Of(columns.Bytes))
			for item := columns.Headers[i]; item < columns.Headers[i+1]; item++ {
				key, value := columns.HeadersKey[item].Of(columns.Bytes), columns.HeadersValue[item].Of(columns.Bytes)
				made.Headers = append(made.Headers, RecordHeader{copied(key), copied(value)})
			}
			found = append(found, made)
		}
	}
}

func copied(data []byte) []byte {
	if data == nil {
		return nil
	}
	return append([]byte{}, data...)
}

func text(records []Record) string {
	var made strings.Builder
	for _, record := range records {
		fmt.Fprintf(&made, "%d %d %#v %#v %#v\n", record.Offset, record.Timestamp, record.Key, record.Value, record.Headers)
	}
	return made.String()
}

var every = []int64{
	format.RecordbatchCompressionTypeNone,
	format.RecordbatchCompressionTypeGzip,
	format.RecordbatchCompressionTypeSnappy,
	format.RecordbatchCompressionTypeLz4,
	format.RecordbatchCompressionTypeZstd,
}

func TestBatchesComeBack(t *testing.T) {
	for _, compression := range every {
		records, options := sample(1000), NewBatchOptions()
		options.Compression = compression
		data, err := AppendBatch(nil, records, options)
		if err != nil {
			t.Fatal(err)
		}
		found, err := read(data, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if text(found) != text(records) {
			t.Errorf("compression %d: %d other records", compression, len(found))
		}
	}
}

func TestOffsetsThatDoNotAscendAreRefused(t *testing.T) {
	for _, offsets := range [][]int64{{5, 5}, {5, 7, 6, 8}, {8, 5}, {-1, 0}, {0, 1 << 31}} {
		var records []Record
		for _, offset := range offsets {
			records = append(records, Record{Offset: offset, Value: []byte("v")})
		}
		if data, err := AppendBatch(nil, records, NewBatchOptions()); err == nil {
			t.Errorf("offsets %d became %d bytes", offsets, len(data))
		}
	}
}

func TestHeadersOfGzipAreTakenAsByJava(t *testing.T) {
	for _, length := range []int{0, 600, 70_000} {
		var made bytes.Buffer
		writer := gzip.NewWriter(&made)
		writer.Name, writer.Comment, writer.Extra = strings.Repeat("n", length), strings.Repeat("c", length), make([]byte, length%65_536)
		if _, err := writer.Write([]byte("output")); err != nil {
			t.Fatal(err)
		}
		if err := writer.Close(); err != nil {
			t.Fatal(err)
		}
		for _, reserved := range []byte{0, 0xe0} {
			var reader codecs
			payload := append(made.Bytes(), made.Bytes()...)
			payload[3] |= reserved
			found, err := reader.unGzip(nil, payload, 0, 100)
			if err != nil || string(found) != "outputoutput" {
				t.Errorf("%q, %v of names of %d bytes, flags %#x", found, err, length, reserved)
			}
			for size := range payload { // what is not whole is refused, or is only the first member
				if found, err := reader.unGzip(nil, payload[:size], 0, 100); err == nil && string(found) != "output" {
					t.Fatalf("%q of %d bytes", found, size)
				}
				if length > 0 && size > 2000 {
					break
				}
			}
		}
	}
}

func TestMessagesComeBack(t *testing.T) {
	for magic := int8(0); magic < 2; magic++ {
		for _, compression := range every[:4] {
			records := sample(100)
			for i := range records {
				records[i].Headers = nil
				if magic == 0 {
					records[i].Timestamp = None
				}
			}
			data, err := AppendMessages(nil, records, magic, compression)
			if err != nil {
				t.Fatal(err)
			}
			found, err := read(data, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if text(found) != text(records) {
				t.Errorf("magic %d, compression %d: %d other records", magic, compression, len(found))
			}
		}
	}
}

func TestEveryCutAndEveryChangedByteIsRefused(t *testing.T) {
	data, err := AppendBatch(nil, sample(5), NewBatchOptions())
	if err != nil {
		t.Fatal(err)
	}
	for size := 1; size < len(data); size++ {
		if _, err := read(data[:size], Options{}); err == nil {
			t.Errorf("%d of %d bytes are taken for a log", size, len(data))
		}
	}
	var h format.Header
	if !format.ReadHeader(data, 0, &h) {
		t.Fatal("the header is refused")
	}
	last := append([]byte{}, data...)
	last[len(last)-1] ^= 1
	covered := h.VerifyChecksum(last).Position // the checksum, and what follows it
	for i := covered; i < len(data); i++ {
		changed := append([]byte{}, data...)
		changed[i] ^= 0x40
		if _, err := read(changed, Options{}); err == nil {
			t.Errorf("a change of byte %d is not found", i)
		}
	}
}

func TestRangesAreAsBytes(t *testing.T) {
	var data []byte
	records := sample(3000)
	indexes := NewIndexes(records[0].Offset, IndexInterval)
	for i := 0; i < len(records); i += 100 {
		begin := len(data)
		var err error
		if data, err = AppendBatch(data, records[i:i+100], NewBatchOptions()); err != nil {
			t.Fatal(err)
		}
		if err = indexes.Append(data[begin:]); err != nil {
			t.Fatal(err)
		}
	}
	plain := Segment{Log: bytes.NewReader(data), Size: int64(len(data)), BaseOffset: records[0].Offset}
	indexed := plain
	var err error
	if indexed.Index, indexed.TimeIndex, err = indexes.Files(); err != nil || len(indexed.Index) == 0 {
		t.Fatal("no indexes", err)
	}
	for _, segment := range []Segment{plain, indexed} {
		for _, i := range []int{0, 1, 99, 100, 1234, 2999} {
			found, err := segment.FindOffset(records[i].Offset - 1)
			if err != nil || found == nil {
				t.Fatal(found, err)
			}
			if got := found.Batch.Records.Offset[found.Row]; got != records[i].Offset {
				t.Errorf("offset %d instead of %d", got, records[i].Offset)
			}
		}
		if found, err := segment.FindOffset(records[2999].Offset + 1); found != nil || err != nil {
			t.Error("a record after the last one")
		}
	}
	count, reader := 0, NewRangeReader(bytes.NewReader(data), 0, int64(len(data)), Options{})
	for {
		batch, err := reader.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		count += batch.Records.Rows
	}
	if count != len(records) {
		t.Errorf("%d records instead of %d", count, len(records))
	}
}

func TestIndexesRefuseWhatTheyCannotSay(t *testing.T) {
	for _, base := range []int64{101, 100 - 1<<31} {
		data, err := AppendBatch(nil, sample(1), NewBatchOptions())
		if err != nil {
			t.Fatal(err)
		}
		indexes := NewIndexes(base, 0)
		if err = indexes.Append(data); err != nil {
			t.Fatal(err) // the first entry is in no index
		}
		if err = indexes.Append(data); err == nil {
			t.Errorf("offset 100 of a segment from %d on", base)
		}
	}
	data, err := AppendBatch(nil, sample(1), NewBatchOptions())
	indexes := NewIndexes(0, 0)
	for i := 0; i < 2 && err == nil; i++ {
		err = indexes.Append(data)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err = indexes.Append(data); err == nil {
		t.Error("an offset that does not ascend")
	}
	if err = indexes.Append(data[:len(data)-1]); err == nil {
		t.Error("a batch that is cut")
	}
}

// FuzzReader reads any bytes, and what it accepts is what the parser of structures accepts.
func FuzzReader(f *testing.F) {
	for _, compression := range every {
		options := NewBatchOptions()
		options.Compression = compression
		data, err := AppendBatch(nil, sample(9), options)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
		if compression != format.RecordbatchCompressionTypeZstd {
			records := sample(3)
			records[0].Headers = nil
			if data, err = AppendMessages(nil, records, 1, compression); err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		options := Options{Unchecked: true, MostOutput: 1 << 20}
		reader := NewReader(data, options)
		for before := -1; before < reader.Position(); {
			before = reader.Position()
			_, err := reader.Next()
			if err != nil && strings.Contains(err.Error(), unexplained(0).Detail) {
				t.Fatalf("no parser says why %x is refused", data)
			}
		}
		for key := range map[string]bool{"control_record.control_record": true, "index.index": true,
			"producer_snapshot.producer_snapshot": true, "transaction_index.transaction_index": true,
			"recordbatch.recordbatch": true} {
			if value, size, err := format.Parse(key, data, true); err == nil && (value == nil || size > len(data)) {
				t.Fatalf("%s of %x: %v, %d", key, data, value, size)
			}
		}
	})
}
