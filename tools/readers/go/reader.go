// Package kafkaspec reads the files that brokers of Apache Kafka keep: log segments of magic 0, 1 and 2
// with all compressions, as columns.
//
//	reader := kafkaspec.NewReader(data, kafkaspec.Options{})
//	for {
//		batch, err := reader.Next()
//		if err == io.EOF {
//			break
//		}
//		...
//	}
//
// All layouts are in the package format, which is generated from the specification.
package kafkaspec

import (
	"fmt"
	"io"
	"math"

	"kafkaspec/format"
)

// MostOutput is the largest size of a payload after decompression, unless the options say another one.
const MostOutput = 256 << 20

// Options of a reader; the zero value reads records, with checksums.
type Options struct {
	// Columns that are wanted; none stands for format.WantRecords.
	Columns format.Wanted

	// Unchecked leaves checksums alone.
	Unchecked bool

	// MostOutput is the largest size of a payload after decompression; 0 stands for MostOutput.
	MostOutput int

	// Codecs decompress what this package does not, or instead of it, by the name in the specification.
	Codecs map[string]Decompressor

	// Start is where the bytes begin in their file; positions in errors count from there.
	Start int
}

// Batch is an entry of a log: a batch, one message, or the wrapper of compressed messages.
type Batch struct {
	// Position of the entry in the file.
	Position int

	// Header has the numbers of the entry; positions in it count from the start of the entry.
	Header format.Header

	// Records has the records, those of control batches included; they are the reader's up to the next call.
	Records format.Columns
}

// Size is the number of bytes of the entry.
func (b *Batch) Size() int { return b.Header.Size }

// IsControl says whether the records are control records, which no consumer sees.
func (b *Batch) IsControl() bool { return b.Header.IsControl() == 1 }

// IsTransactional says whether the records belong to a transaction.
func (b *Batch) IsTransactional() bool { return b.Header.IsTransactional() == 1 }

// Reader goes from entry to entry.
type Reader struct {
	data    []byte
	options Options
	pos     int
	batch   Batch
	inner   inner
	codecs  codecs
}

// NewReader returns a reader of the entries in the bytes of a segment.
func NewReader(data []byte, options Options) *Reader {
	if options.Columns == 0 {
		options.Columns = format.WantRecords
	}
	if options.MostOutput <= 0 {
		options.MostOutput = MostOutput
	}
	options.MostOutput = min(options.MostOutput, math.MaxInt32)
	return &Reader{data: data, options: options}
}

// Position is where the next entry begins in the file.
func (r *Reader) Position() int { return r.options.Start + r.pos }

// Next returns the next entry with its records, io.EOF after the last. Any other error is a *format.Error.
// After one about an entry whose size is sound, the next call goes on after it; where no entry begins,
// the same error comes again. Reason truncated: the log ends within an entry.
func (r *Reader) Next() (*Batch, error) {
	entry, err := r.header()
	if err != nil {
		return nil, err
	}
	if err := r.read(entry); err != nil {
		err.Position += r.batch.Position
		return nil, err
	}
	return &r.batch, nil
}

// NextHeader is Next without the records, and without a look at the checksum.
func (r *Reader) NextHeader() (*Batch, error) {
	if _, err := r.header(); err != nil {
		return nil, err
	}
	r.batch.Records.Reset(0)
	return &r.batch, nil
}

// header reads the header of the next entry, and returns its bytes.
func (r *Reader) header() ([]byte, error) {
	if r.pos >= len(r.data) {
		return nil, io.EOF
	}
	rest := r.data[r.pos:]
	if !format.ReadHeader(rest, 0, &r.batch.Header) {
		err := format.ExplainEntry(rest, 0, false)
		if err == nil {
			err = unexplained(0)
		}
		err.Position += r.Position()
		if size := format.EntrySize(rest, 0); size >= 0 && size <= int64(len(rest)) {
			r.pos += int(size)
		}
		return nil, err
	}
	r.batch.Position = r.Position()
	r.pos += r.batch.Header.Size
	return rest[:r.batch.Header.Size], nil
}

func (r *Reader) read(entry []byte) *format.Error {
	b, h := &r.batch, &r.batch.Header
	b.Records.Reset(r.options.Columns)
	if !r.options.Unchecked {
		if err := h.VerifyChecksum(entry); err != nil {
			return err
		}
	}
	if h.IsBatch() && h.NumRecords() == 0 { // Kafka does not look at the payload either (quirk Q9)
		return nil
	}
	if h.Compression() == format.RecordbatchCompressionTypeNone {
		b.Records.Bytes = entry
		if !h.IsBatch() {
			b.Records.AppendMessage(h)
			return nil
		}
		position, size := h.Payload()
		return b.decode(entry, entry, position, position+size)
	}
	position, size := h.Payload()
	if size < 0 {
		return failure(format.ReasonNullWrapperValue, position, h, "a compressed message without a value")
	}
	payload, err := r.decompress(h, entry[position:position+size])
	if err != nil {
		err.Position = position
		return err
	}
	b.Records.Bytes = payload
	if !h.IsBatch() {
		return r.unwrap(payload)
	}
	return b.decode(entry, payload, 0, len(payload))
}

func (b *Batch) decode(entry, payload []byte, pos, end int) *format.Error {
	if b.Header.Decode(payload, pos, end, &b.Records) {
		return nil
	}
	b.Records.Rows = 0
	err := b.Header.ExplainRecords(entry, payload, pos, end)
	if err == nil {
		return unexplained(pos)
	}
	err.Path = b.Header.PayloadPath() + err.Path
	if b.Header.Compression() != format.RecordbatchCompressionTypeNone {
		err.Detail = fmt.Sprintf("%s, at byte %d of what is decompressed", err.Detail, err.Position)
		err.Position, _ = b.Header.Payload()
	}
	return err
}

// unexplained is for bytes on which the two readers of the package format differ, which is a fault of it.
func unexplained(position int) *format.Error {
	return &format.Error{Reason: format.ReasonInvalidValue, Position: position, Detail: "the bytes do not follow the specification"}
}

// failure returns an error about the payload of an entry.
func failure(reason format.Reason, position int, h *format.Header, detail string) *format.Error {
	return &format.Error{Reason: reason, Position: position, Path: h.PayloadPath(), Detail: detail}
}
